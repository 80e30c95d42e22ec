"""Ids: short, random, lower case, without letters that look alike."""

from __future__ import annotations

import re
import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-z]{1,32}")


def new_id(length: int = 10) -> str:
    """A random id (50 bits for 10 characters). Tables have a unique constraint; collisions are retried there."""
    # 32 letters: the low five bits of a random byte choose one, each equally often.
    return "".join(_ALPHABET[byte & 31] for byte in secrets.token_bytes(length))


def new_job_id() -> str:
    """Jobs and runs have shorter ids because people type them."""
    return new_id(8)


def new_pack_id() -> str:
    """Packs are named by the server: 16 random bytes in hex, so no two uploads ever share a pack."""
    return secrets.token_hex(16)


def is_digest(text: str) -> bool:
    """Whether it may be what a commit or a tree is called: the digest of what it says."""
    return _DIGEST.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """True if it may be the id of a project or dataset, which is also the name of a directory."""
    return _ID.fullmatch(text) is not None
