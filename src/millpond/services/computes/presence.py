"""Who is there: the one rule by which an agent, and a volume its agent looks at, counts as connected."""

from __future__ import annotations

from datetime import datetime, timedelta

# An agent asks again at least every 20 s; whoever missed two rounds is away.
CONNECTED = timedelta(seconds=45)
# What an agent was told holds for so long from when it asked. Less than the above: whoever begins something on a volume
# within this time does so before another is appointed, who then finds it there.
WORD = timedelta(seconds=30)


def is_connected(seen_at: datetime | None, now: datetime) -> bool:
    """Heard of lately. What was heard long from now was heard before somebody set the clock back: it tells nothing."""
    return seen_at is not None and connected_since(now) <= seen_at <= now + CONNECTED


def connected_since(now: datetime) -> datetime:
    """Whoever was seen at this moment or later is connected."""
    return now - CONNECTED
