"""Keeping jobs of different projects apart on one machine (docs/design/010-isolation.md)."""

from millpond.agent.isolation.accounts import DEFAULT, Accounts
from millpond.agent.isolation.isolation import Isolation, detect, groups_of, safely
from millpond.agent.isolation.ranges import claim

__all__ = ["DEFAULT", "Accounts", "Isolation", "claim", "detect", "groups_of", "safely"]
