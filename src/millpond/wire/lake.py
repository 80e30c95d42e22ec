"""Looking after the lake: what a collection removes and why the rest stays, and how much there is."""

from __future__ import annotations

from millpond.wire.base import Request, Response


class Collect(Request):
    """`dry_run` changes nothing; `now` waits neither for uploads that may go on nor for second thoughts."""

    dry_run: bool = False
    now: bool = False


class Staying(Response):
    """Why some packs stay."""

    reason: str
    packs: int
    bytes: int


class GoingCommit(Response):
    dataset: str
    commit_id: str
    reason: str


class ProjectCollected(Response):
    """What goes from one project (or would), and why the rest stays."""

    project: str
    packs: int = 0
    bytes: int = 0
    pages: int = 0
    commits: int = 0
    # The first of them, with the reason.
    going_commits: list[GoingCommit] = []
    # Commits that nothing names, which go in some days.
    set_aside: int = 0
    stays: list[Staying] = []
    # Why nothing could be removed here.
    problem: str | None = None


class Collected(Response):
    dry_run: bool
    projects: list[ProjectCollected]
    # Objects of the lake that were removed.
    objects: int


class Reconcile(Request):
    """One project by name; null: all that differ from the lake."""

    project: str | None = None


class Reconciled(Response):
    """What was read from the lake, and what is wrong with it."""

    projects: int
    datasets: int
    commits: int
    problems: list[str]


class ProjectStats(Response):
    """Bytes of one project. `logical`: every commit as if it lay alone; `raw`: each blob once, not compressed."""

    project: str
    datasets: int
    commits: int
    logical_bytes: int
    raw_bytes: int
    stored_bytes: int
    packs: int
    saved_by_deduplication: int
    saved_by_compression: int
    # In packs that nothing needs, or that are damaged.
    condemned_bytes: int


class LakeStats(Response):
    total: ProjectStats
    projects: list[ProjectStats]
