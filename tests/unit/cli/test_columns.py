"""Tables fit the terminal: columns are left out rather than torn apart."""

from __future__ import annotations

from millpond.cli.columns import drawn_column, fitting
from millpond.cli.values import Bytes, CommitId

LONG = "a-name-as-long-as-names-may-be-which-is-sixty-three-letters-abc"


def titles(columns: list[tuple[str, list[object]]], width: int, drop: tuple[str, ...] = ()) -> list[str]:
    return [one.title for one in fitting([drawn_column(*column) for column in columns], width, drop)]


COLUMNS: list[tuple[str, list[object]]] = [
    ("NAME", [LONG]),
    ("PROBLEM", [None]),
    ("STATE", ["running"]),
    ("SIZE", [Bytes(1_500_000)]),
    ("IMAGE", ["registry.example.com/team/image:with-a-long-tag"]),
    ("ID", [CommitId("c" * 64)]),
]


def test_everything_is_shown_where_there_is_room() -> None:
    assert titles(COLUMNS, 200) == ["NAME", "PROBLEM", "STATE", "SIZE", "IMAGE", "ID"]


def test_empty_columns_go_first_then_the_named_then_from_the_right() -> None:
    assert titles(COLUMNS, 80) == ["NAME", "STATE", "SIZE", "IMAGE", "ID"]
    assert titles(COLUMNS, 70, ("IMAGE",)) == ["NAME", "STATE", "SIZE", "ID"]
    assert titles(COLUMNS, 70) == ["NAME", "STATE", "SIZE", "IMAGE"]


def test_the_first_column_stays_on_any_terminal() -> None:
    assert titles(COLUMNS, 10) == ["NAME"]
