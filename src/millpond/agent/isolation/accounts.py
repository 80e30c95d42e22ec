"""The operating-system accounts that jobs run under: one per project, made of the number that the server gives it."""

from __future__ import annotations

import pwd
from dataclasses import dataclass

from millpond.errors import BadRequest

# Between what distributions give to people and services (up to 65535) and to containers (from 100000).
DEFAULT = "70000-99999"
# Somebody may have given the accounts names; then they begin so.
NAME = "mill"


@dataclass(frozen=True, slots=True)
class Accounts:
    """Numbers of users and groups that belong to Millpond. The first is nobody's: it is for trying things out."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Accounts:
        """`70000-99999`. BadRequest for anything else, and for numbers that belong to a system."""
        first, _, last = text.partition("-")
        if not (first.isdecimal() and last.isdecimal() and 1000 < int(first) < int(last) < 2**32 - 1):
            raise BadRequest(
                f"{text!r} is not a range of user ids.",
                hint=f"Write the first and the last, like {DEFAULT}; or `none`.",
            )
        return cls(int(first), int(last))

    def of(self, number: int) -> int:
        """The user and group of the project with this number. OSError, in words, where there can be none."""
        uid = self.first + number
        if number < 1 or uid > self.last:
            raise OSError(
                f"no user id is left for the project: {self.first}-{self.last} has none with number {number} "
                "(give the agents of the site a larger range with --job-uids)"
            )
        name = _name_of(uid)
        if name is not None and not name.startswith(NAME):
            raise OSError(
                f"it would run as user {uid}, which is {name!r} on this machine "
                "(give the agents of the site another range with --job-uids)"
            )
        return uid


def _name_of(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
