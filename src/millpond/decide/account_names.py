"""The name of a user who signs in for the first time, from what their provider calls them."""

from __future__ import annotations

import re
from collections.abc import Collection

_LONGEST = 63
_TRIES = 1_000


def account_name(called: str) -> str:
    """`called` as a user name: `Ada.Lovelace@corp.example` becomes `ada.lovelace`. Empty if nothing is left of it."""
    local = called.partition("@")[0] if not called.startswith("@") else called[1:]
    plain = re.sub(r"[^a-z0-9._-]+", "-", local.rpartition("\\")[2].lower())
    return re.sub(r"\.{2,}", ".", plain).strip("._-")[:_LONGEST].rstrip("._-")


def free_name(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or with the first number behind it that makes it free."""
    if wanted not in taken:
        return wanted
    for number in range(2, _TRIES):
        end = f"-{number}"
        if (name := wanted[: _LONGEST - len(end)] + end) not in taken:
            return name
    raise ValueError(wanted)
