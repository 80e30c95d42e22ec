"""A wheel without its page, or with half of it, is not a release."""

from __future__ import annotations

import gzip
import importlib.util
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "dev" / "check_dist.py"
PAGE = b'<link href="./icon.svg"><script type="module" src="./assets/index-C9eLvyHW.js"></script>'
CODE = b'import{a}from"./vendor-mU63dwHC.js";const x=["assets/Home-DylP6So_.js"]'
WHOLE = {
    "index.html": PAGE,
    "icon.svg": b"",
    "assets/index-C9eLvyHW.js": CODE,
    "assets/vendor-mU63dwHC.js": b"",
    "assets/Home-DylP6So_.js": b"",
}


@pytest.fixture(scope="module")
def check_dist() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_dist", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_whole_page(check_dist: ModuleType) -> None:
    assert check_dist.problems_of(WHOLE) == []


@pytest.mark.parametrize("missing", sorted(WHOLE))
def test_every_file_the_page_names_is_needed(check_dist: ModuleType, missing: str) -> None:
    rest = {name: data for name, data in WHOLE.items() if name != missing}
    (problem,) = (
        check_dist.problems_of(rest) if missing != "assets/index-C9eLvyHW.js" else [check_dist.problems_of(rest)[0]]
    )
    assert missing in problem


def test_two_archives_are_expected(check_dist: ModuleType, tmp_path: Path) -> None:
    assert check_dist.main(tmp_path) == 1


SITE = {
    "index.html.gz": gzip.compress(
        b'<a href="jobs/">Jobs</a><a href="https://elsewhere.example/x">x</a><a href="#top">^</a>'
    ),
    "jobs/index.html": b'<a href="..">Home</a><script src="../assets/site.js?1"></script><img src="run.png">',
    "assets/site.js.gz": gzip.compress(b""),
    "jobs/run.png": b"",
}


def test_a_whole_documentation(check_dist: ModuleType) -> None:
    assert check_dist.documentation_problems(SITE) == []


@pytest.mark.parametrize("missing", sorted(SITE))
def test_every_file_the_documentation_names_is_needed(check_dist: ModuleType, missing: str) -> None:
    problems = check_dist.documentation_problems({name: data for name, data in SITE.items() if name != missing})
    assert len(problems) == 1


def test_an_archive_without_documentation_is_no_release(check_dist: ModuleType, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "millpond-1-py3-none-any.whl", "w") as wheel:
        for name, data in WHOLE.items():
            wheel.writestr(f"millpond/api/static/{name}", data)
    packed = check_dist.packed_files(tmp_path / "millpond-1-py3-none-any.whl")
    assert check_dist.problems_of(check_dist.below(packed, check_dist.STATIC)) == []
    (problem,) = check_dist.documentation_problems(check_dist.below(packed, check_dist.DOCUMENTATION))
    assert "make docs-site" in problem
