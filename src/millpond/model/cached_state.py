"""What a cached commit may be. Apart from the rest, because a command that only asks for one starts with this."""

from __future__ import annotations

from enum import Enum


class CachedState(Enum):
    """Absent cached commits have no row at all."""

    FILLING = "filling"
    READY = "ready"
    EVICTING = "evicting"
    FAILED = "failed"
