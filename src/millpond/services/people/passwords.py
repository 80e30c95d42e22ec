"""Passwords: argon2id hashes, and what is too short to be one."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from millpond.errors import Invalid

LEAST_LENGTH = 8
GREATEST_LENGTH = 1_000

# OWASP's second choice (19 MiB, two passes): about 30 ms here, and ten logins at once stay below 200 MB.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# Somebody who is not there costs as much time as a wrong password.
_NOBODY = _HASHER.hash("nobody has this password")


def hash_password(password: str) -> str:
    """Invalid for a password that is too short or too long."""
    if not LEAST_LENGTH <= len(password) <= GREATEST_LENGTH:
        raise Invalid(f"A password must have {LEAST_LENGTH} to {GREATEST_LENGTH} characters.", fields=["password"])
    return _HASHER.hash(password)


def is_right(password: str, stored: str | None) -> bool:
    """Whether the password fits the stored hash; takes the same time when there is none."""
    try:
        fits = _HASHER.verify(stored or _NOBODY, password[:GREATEST_LENGTH])
    except (VerificationError, InvalidHashError):
        return False
    return fits and bool(stored)
