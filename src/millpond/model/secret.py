"""Secrets of a project: what its jobs need to know and nobody is to read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from millpond.errors import Invalid

MAX_BYTES = 32_768

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
# Variables that begin so are Millpond's own to set.
RESERVED = "MILL_"


@dataclass(frozen=True, slots=True)
class ProjectSecret:
    """`sealed` is its value under a key that is not in the database."""

    id: str
    project_id: str
    name: str
    sealed: bytes
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str


def parse_secret(text: str) -> tuple[str, str]:
    """`VARIABLE=NAME`, or `NAME` for both: the variable, and the secret's name."""
    variable, _, name = text.rpartition("=")
    return variable or name, name


def check_secret_name(name: str) -> str:
    """The name, which may become that of a variable. Invalid otherwise."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{name[:63]!r} is not a valid name for a secret.",
            hint="Use up to 63 letters, digits and _, not starting with a digit, like WANDB_API_KEY.",
            fields=["name"],
        )
    if name.startswith(RESERVED):
        raise Invalid(f"Names that start with {RESERVED} are reserved.", hint="Choose another.", fields=["name"])
    return name
