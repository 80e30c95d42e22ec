from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.mcp.docs_index import from_markdown, from_site, page, search

PAGE = """\
# Computes

What runs jobs.

## Join tokens

A join token lets one agent join.

```
# no heading
mill compute token
```
"""


def test_markdown_is_cut_at_its_headings(tmp_path: Path) -> None:
    (tmp_path / "computes.md").write_text(PAGE)
    sections = from_markdown(tmp_path)
    assert [(one.location, one.title) for one in sections] == [
        ("computes.md#computes", "Computes"),
        ("computes.md#join-tokens", "Join tokens"),
    ]
    assert "# no heading" in sections[1].text
    assert page(sections, "computes.md#join-tokens") == f"## Join tokens\n{sections[1].text}"
    assert "What runs jobs." in (page(sections, "computes.md") or "")
    assert page(sections, "nowhere.md") is None


def test_the_index_of_a_site_is_read_without_its_markup() -> None:
    document = {"docs": [{"location": "a/#b", "title": "A &amp; b", "text": "<p>One <code>mill</code></p>"}]}
    (section,) = from_site(json.dumps(document).encode())
    assert (section.title, section.text) == ("A & b", "One mill")


@pytest.mark.parametrize("asked", ["a/", "/a/#elsewhere", "a", "a.md", "a/index.html"])
def test_a_page_is_found_by_its_address_and_by_its_file(asked: str) -> None:
    sections = from_site(json.dumps({"docs": [{"location": "a/#b", "title": "B", "text": "One"}]}).encode())
    assert page(sections, asked) == "## B\nOne"
    assert page(sections, "b.md") is None


@pytest.mark.parametrize("index", [b"<html>", b"[]", b'{"docs": [{"title": 1}]}', b'{"docs": null}'])
def test_what_is_no_index_is_said_to_be_none(index: bytes) -> None:
    with pytest.raises(ValueError):
        from_site(index)


def test_most_words_win_and_then_words_in_titles(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tokens\nText.\n# Joining\nA token to join.\n# Join token\nHere.\n# Other\nElse.")
    found = [section.title for section, _ in search(from_markdown(tmp_path), "join token", 2)]
    assert found == ["Join token", "Joining"]
    assert search(from_markdown(tmp_path), "zebra", 5) == []
