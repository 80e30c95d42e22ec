"""Which records count when several servers have owned a lake, as a table."""

from __future__ import annotations

import pytest

from millpond.decide.epochs import Numbered, in_force


@pytest.mark.parametrize(
    ("found", "kept", "ignored"),
    [
        ([], [], []),
        (["0", "1", "2"], ["0", "1", "2"], []),
        # The new owner goes on where it read; what the former one adds then is not part of the history.
        (["0", "1", "1-1", "2"], ["0", "1-1"], ["1", "2"]),
        (["0", "1-1", "2-1", "2"], ["0", "1-1", "2-1"], ["2"]),
        # Nobody has gone on yet: what is there counts.
        (["0", "1", "2-3"], ["0", "1", "2-3"], []),
        (["0", "1-2", "2-1", "3-2"], ["0", "1-2", "3-2"], ["2-1"]),
        # Three owners at one number.
        (["0-1", "0", "0-2"], ["0-2"], ["0-1", "0"]),
    ],
)
def test_records_in_force(found: list[str], kept: list[str], ignored: list[str]) -> None:
    records = [Numbered(int(key.partition("-")[0]), int(key.partition("-")[2] or 0), key) for key in found]
    result = in_force(records)
    assert [record.key for record in result.kept] == kept
    assert [record.key for record in result.ignored] == ignored
