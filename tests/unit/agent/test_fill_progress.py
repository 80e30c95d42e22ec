"""How far a fill is and how fast lately: bytes as they come, no outage before, and why none come."""

from __future__ import annotations

import threading

import pytest

from millpond.agent.fill_progress import RECENT_SECONDS, FillProgress, Recent, RecentProgress
from millpond.lake.transfer import Moved
from millpond.model.fill_source import SourceKey, SourceKind
from millpond.volumes.fill import FillCancelled
from millpond.volumes.source_tally import SourceTally


def test_the_first_seconds_count_from_the_beginning() -> None:
    recent = RecentProgress(100.0)
    assert recent.add(101.0, 500, 5) == Recent(500, 5, 1.0)
    assert recent.add(102.0, 1500, 6) == Recent(1500, 6, 2.0)


def test_an_outage_falls_out_of_it() -> None:
    recent = RecentProgress(0.0)
    recent.add(1.0, 1000, 0)
    recent.add(181.0, 1100, 0)
    assert recent.add(182.0, 2100, 0).seconds >= RECENT_SECONDS, "one step still reaches back over it"
    for second in range(10):
        last = recent.add(183.0 + second, 3100 + 1000 * second, 0)
    assert last.bytes / last.seconds == 1000


PEER = SourceKey(SourceKind.PEER, "volume")


def done(progress: FillProgress) -> int:
    found = progress.look()
    return 0 if found is None else int(found["done_bytes"])


def test_bytes_of_a_file_count_before_it_is_whole() -> None:
    tally = SourceTally()
    progress = FillProgress(threading.Event(), tally)
    progress(Moved(files=1, bytes=100, sent=90))
    with tally.file() as came:
        came(700)
        assert done(progress) == 800
        came(300)
        tally.add(PEER, 1000)
    assert done(progress) == 1100
    progress(Moved(files=2, bytes=1100, sent=90, local=1000))
    assert done(progress) == 1100, "what is counted with its page does not count twice"


def test_bytes_of_a_file_that_was_wrong_do_not_count() -> None:
    tally = SourceTally()
    progress = FillProgress(threading.Event(), tally)
    with tally.file() as came:
        came(700)
        assert done(progress) == 700
    assert done(progress) == 0


def test_a_lake_that_does_not_answer_is_told_until_something_comes() -> None:
    progress = FillProgress(threading.Event())
    assert progress.look() is None, "nothing is known yet: what the attempt before has told stays"
    progress.waits("The lake does not answer.")
    assert (progress.look() or {})["problem"] == "The lake does not answer."
    assert (progress.look() or {})["problem"] == "The lake does not answer."
    progress(Moved(bytes=10, sent=10))
    assert (progress.look() or {})["problem"] is None


def test_a_cancelled_fill_ends_with_the_next_bytes() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(FillCancelled):
        FillProgress(cancelled)(Moved())
