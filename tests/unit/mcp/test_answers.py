from __future__ import annotations

import json
from typing import Any

import pytest

from millpond.mcp.answers import MOST_CHARACTERS, json_text, listed, written


def numbered(count: int, length: int = 1) -> list[dict[str, Any]]:
    return [{"n": number, "text": "x" * length} for number in range(count)]


@pytest.mark.parametrize(
    ("there", "limit", "skip", "first", "last", "next_skip"),
    [
        (3, 3, 0, 0, 2, None),
        (4, 3, 0, 0, 2, 3),
        (4, 3, 3, 3, 3, None),
        (10, 3, 6, 6, 8, 9),
    ],
)
def test_a_list_says_where_its_rest_begins(
    there: int, limit: int, skip: int, first: int, last: int, next_skip: int | None
) -> None:
    answer = listed(numbered(there), limit=limit, skip=skip)
    assert [answer["items"][0]["n"], answer["items"][-1]["n"]] == [first, last]
    assert answer.get("next_skip") == next_skip and ("more" in answer) == (next_skip is not None)


def test_nothing_behind_the_end_of_a_list() -> None:
    assert listed(numbered(2), limit=5, skip=9) == {"items": []}


def test_pages_of_long_items_are_shorter_and_lose_none() -> None:
    seen: list[int] = []
    skip: int | None = 0
    while skip is not None:
        answer = listed(numbered(20, length=9_000), limit=10, skip=skip)
        assert len(json_text(answer)) < MOST_CHARACTERS + 1_000
        seen += [one["n"] for one in answer["items"]]
        skip = answer.get("next_skip")
    assert seen == list(range(20))


def test_one_item_that_is_too_long_is_cut_and_not_skipped() -> None:
    answer = listed(numbered(2, length=3 * MOST_CHARACTERS), limit=10)
    assert [one["n"] for one in answer["items"]] == [0] and answer["next_skip"] == 1
    text = written(answer)
    assert len(text) <= MOST_CHARACTERS
    assert "items[].text" in json.loads(text)["shortened"]


def test_a_short_answer_stays_as_it_is() -> None:
    assert json.loads(written({"a": [1, 2], "b": "x" * 20_000})) == {"a": [1, 2], "b": "x" * 20_000}


def test_a_deep_and_wide_answer_ends_somewhere() -> None:
    wide: dict[str, Any] = {f"key{n}": {"list": numbered(300, 300)} for n in range(300)}
    text = written(wide)
    assert len(text) <= MOST_CHARACTERS and json.loads(text)["shortened"]


def test_characters_that_are_not_seen_are_escaped_and_mean_the_same() -> None:
    hostile = "\x1b[2Jred\u202egnp.exe\u200b\x00ü漢"
    text = json_text({"name": hostile})
    assert text.isprintable() and "ü漢" in text
    assert json.loads(text) == {"name": hostile}
