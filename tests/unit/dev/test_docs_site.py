"""The built documentation: complete, nothing from elsewhere, nothing that its policy would not run."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "src" / "millpond" / "api" / "documentation"
# Tags that make a browser ask for something; a link is only followed by its reader.
_ASKS = re.compile(r"<(?!a\b)\w[^>]*\s(?:src|href|srcset|data|poster)=[\"']?(https?:|//)[^>]*>", re.IGNORECASE)
_INLINE = re.compile(r"<script(?![^>]*\b(?:src=|type=\"?application/json))[^>]*>|<style|<[^>]*\son\w+=|<[^>]*\sstyle=")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    if not (SITE / "index.html.gz").exists():
        pytest.skip("the documentation is not built: make docs-site")
    return dict(read())


def read() -> Iterator[tuple[str, str]]:
    for path in SITE.rglob("*.html*"):
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        yield path.relative_to(SITE).as_posix(), text.decode()


def test_nothing_comes_from_elsewhere(pages: dict[str, str]) -> None:
    assert {name: found[0] for name, text in pages.items() if (found := _ASKS.search(text))} == {}
    styles = [gzip.decompress(path.read_bytes()).decode() for path in SITE.rglob("*.css.gz")]
    assert styles and not any(re.search(r"url\([\"']?(?:https?:|//)|@import", text) for text in styles)


def test_scripts_and_styles_have_files_of_their_own(pages: dict[str, str]) -> None:
    assert {name: found[0] for name, text in pages.items() if (found := _INLINE.search(text))} == {}


def test_every_page_is_there(pages: dict[str, str]) -> None:
    written = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    wanted = {"index.html.gz" if str(p) == "index.md" else f"{p.with_suffix('')}/index.html.gz" for p in written}
    missing = {name for name in wanted if name not in pages and name.replace("index/index", "index") not in pages}
    assert {name for name in missing if name.removesuffix(".gz") not in pages} == set(), "make docs-site"


def test_files_of_the_project_are_pages_too(pages: dict[str, str]) -> None:
    assert {"source/ARCHITECTURE/index.html.gz", "source/examples/plugin/index.html.gz"} <= pages.keys()


def test_no_maps_and_nothing_of_other_languages(pages: dict[str, str]) -> None:
    assert [path for path in SITE.rglob("*") if ".map" in path.suffixes or "lunr" in path.parts] == []
