"""What a workspace waits for when nobody is there who works on its volume, for people."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.model.quantity import format_seconds


@dataclass(frozen=True, slots=True)
class Tending:
    """The agent that tends a volume. `silent_seconds`: since it was last heard of; None if it never was."""

    compute: str
    is_connected: bool
    silent_seconds: float | None


def agent_wait(volume: str, tending: Tending | None) -> str | None:
    """None while its agent is there."""
    if tending is None:
        return (
            f"waits for an agent at the site of volume {volume}: none has reported it yet (mill volume show {volume})"
        )
    if tending.is_connected:
        return None
    silent = tending.silent_seconds
    heard = "was never heard of" if silent is None else f"was last heard of {format_seconds(round(silent))} ago"
    return (
        f"waits for the agent of compute {tending.compute}, which works on volume {volume}: it is away and {heard}. "
        f"Start it again; see mill compute show {tending.compute}"
    )
