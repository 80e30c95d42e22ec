"""Which dataset a command means: `project/dataset@ref:path` as written, or the working copy it is called in."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from millpond.cli.session import Session
from millpond.client.working_copy import find_working_copy
from millpond.errors import BadRequest
from millpond.model.names import DEFAULT_BRANCH, DatasetRef


class Named(NamedTuple):
    """One dataset at one ref; `path` is empty for its root."""

    project: str
    dataset: str
    ref: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.dataset}@{self.ref}" + (f":{self.path}" if self.path else "")


def named(mill: Session, written: str | None) -> Named:
    """What `written` stands for; without it, the dataset of the working copy around us."""
    if written is None or written.startswith((":", "@")):
        return _here(written or "")
    parsed = DatasetRef.parse(written)
    return Named(
        project=parsed.project or mill.project,
        dataset=parsed.dataset,
        ref=parsed.ref or DEFAULT_BRANCH,
        path=(parsed.path or "").strip("/"),
    )


def two_refs(mill: Session, before: str, after: str) -> tuple[Named, Named]:
    """The two sides of a diff; the second may be a mere ref of the first's dataset, and in a working copy both may."""
    copy = find_working_copy(Path.cwd())
    left = named(mill, before) if "@" in before or copy is None else named(mill, f"@{before}")
    if "@" not in after:
        return left, Named(left.project, left.dataset, after)
    right = named(mill, after)
    if (left.project, left.dataset) != (right.project, right.dataset):
        raise BadRequest(
            "A diff compares two commits of the same dataset.", hint="Write: mill data diff DATASET@REF REF"
        )
    return left, right


def _here(written: str) -> Named:
    copy = find_working_copy(Path.cwd())
    if copy is None:
        raise BadRequest(
            "No dataset given, and this folder is not linked to one.",
            hint="Give it as DATASET, DATASET@REF or DATASET@REF:PATH.",
        )
    parsed = DatasetRef.parse(f"{copy.dataset}{written}")
    return Named(copy.project, copy.dataset, parsed.ref or copy.branch, (parsed.path or "").strip("/"))
