"""What a workspace waits for when the agent of its volume is away."""

from __future__ import annotations

import pytest

from millpond.decide.workspaces.agent_waits import Tending, agent_wait


@pytest.mark.parametrize(
    ("tending", "words"),
    [
        (Tending("gpu", is_connected=True, silent_seconds=3), None),
        (Tending("gpu", is_connected=False, silent_seconds=3 * 3600), "it is away and was last heard of 3 h ago"),
        (Tending("gpu", is_connected=False, silent_seconds=None), "it is away and was never heard of"),
        (None, "waits for an agent at the site of volume nfs"),
    ],
)
def test_an_agent_that_is_away_is_named(tending: Tending | None, words: str | None) -> None:
    said = agent_wait("nfs", tending)
    assert said is None if words is None else words in (said or "")
