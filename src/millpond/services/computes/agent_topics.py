"""What long polls of agents wait for: changes that concern all of them, and those of their own compute.

With hundreds of agents, each putting its wishes together whenever any job changes would be most of what a server does.
"""

from __future__ import annotations

AGENTS = "agents"


def agents_of(compute: str) -> str:
    """The topic of the agent that speaks for the compute of this name."""
    return f"{AGENTS}:{compute}"
