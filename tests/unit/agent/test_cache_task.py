"""How fast a fill is lately: an outage before does not count, and links are not bytes of the network."""

from __future__ import annotations

from millpond.agent.cache_task import RECENT_SECONDS, Recent, RecentProgress
from millpond.lake.transfer import Moved


def test_the_first_seconds_count_from_the_beginning() -> None:
    recent = RecentProgress(100.0, over_network=True)
    assert recent.add(101.0, Moved(files=5, bytes=1000, sent=500)) == Recent(500, 5, 1.0)
    assert recent.add(102.0, Moved(files=6, bytes=2000, sent=1500)) == Recent(1500, 6, 2.0)


def test_an_outage_falls_out_of_it() -> None:
    recent = RecentProgress(0.0, over_network=True)
    recent.add(1.0, Moved(sent=1000))
    recent.add(181.0, Moved(sent=1100))
    assert recent.add(182.0, Moved(sent=2100)).seconds >= RECENT_SECONDS, "one step still reaches back over it"
    for second in range(10):
        last = recent.add(183.0 + second, Moved(sent=3100 + 1000 * second))
    assert last.bytes / last.seconds == 1000


def test_what_comes_from_another_volume_is_what_is_written() -> None:
    recent = RecentProgress(0.0, over_network=False)
    assert recent.add(2.0, Moved(files=1, bytes=800, sent=0)) == Recent(800, 1, 2.0)
