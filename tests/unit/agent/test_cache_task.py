"""How fast a fill is lately: an outage before does not count."""

from __future__ import annotations

from millpond.agent.cache_task import RECENT_SECONDS, Recent, RecentProgress


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
