from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.decide.import_plan import plan_import
from millpond.decide.source_times import next_run
from millpond.model.connection import ExternalObject
from millpond.model.source import SourceObject
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.clock import NOON


def an_object(name: str, etag: str = "1") -> ExternalObject:
    return ExternalObject(f"s3://b/{name}", 1, etag)


def an_entry(path: bytes, digest: bytes) -> Entry:
    return Entry(path, Kind.FILE, 1, Content.EXTERNAL, digest.ljust(32))


def test_the_plan_is_the_difference() -> None:
    tree = {
        entry.path: entry for entry in (an_entry(b"same", b"1"), an_entry(b"other", b"old"), an_entry(b"own", b"x"))
    }
    tree |= {b"gone": an_entry(b"gone", b"1"), b"taken": an_entry(b"taken", b"theirs")}
    before = {
        path: SourceObject(path, "1", 1, b"1".ljust(32)) for path in (b"same", b"other", b"gone", b"taken", b"lost")
    }
    found = {b"same": an_object("same"), b"other": an_object("other"), b"new": an_object("new")}
    plan = plan_import(
        found, before, stat=tree.get, is_current=lambda path, there, entry: entry.digest == b"1".ljust(32)
    )
    assert plan.puts == (b"new", b"other")
    assert (plan.added, plan.changed, plan.unchanged) == (1, 1, 1)
    assert plan.removes == (b"gone",)
    assert plan.forgets == (b"lost", b"taken"), "what stands there now is somebody else's"


@pytest.mark.parametrize(
    ("took", "every", "failures", "expected"),
    [
        (10, 3600, 0, 3590),
        (4000, 3600, 0, 0),
        (10, 3600, 1, 60),
        (10, 3600, 3, 240),
        (10, 3600, 9, 3600),
        (10, 60, 5, 60),
        (10, 30 * 86_400, 40, 6 * 3600),
    ],
)
def test_times_of_runs(took: int, every: int, failures: int, expected: int) -> None:
    """Seconds from the end of a run to the next."""
    ended = NOON + timedelta(seconds=took)
    assert next_run(NOON, ended, timedelta(seconds=every), failures) - ended == timedelta(seconds=expected)
