"""Jobs that are tried again, wait for others and have limits; what belongs to running them at many sites."""

from __future__ import annotations

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    pass
