"""The waiting line, and what would change it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from millpond.wire.base import Gpus, Request, Response, Time

Number = Annotated[float, Field(ge=0, le=1_000_000)]


class PendingJob(Response):
    """A job in line. `id`, `job` and `project` are null for a project that one may not see.

    `rule` is the rule it waits under, as of `mill why`. `expected_start` is the latest start by the time limits of what
    runs; null where one has none.
    """

    position: int
    id: str | None
    job: str | None
    project: str | None
    gpus: Gpus
    priority: int
    submitted_at: Time
    rule: str
    reason: str
    expected_start: Time | None


class ProjectWhatIf(Request):
    """Other settings of a project; what is left out stays as it is."""

    quota: Number | None = None
    weight: Number | None = None
    limit: Number | None = None
    over_quota: bool | None = None
    min_runtime: Annotated[int, Field(ge=0, le=31_536_000)] | None = None


class MoreNodes(Request):
    """Nodes to add. What is left out is taken from the node `like`, or from the largest one there is.

    A `site` that does not exist yet is added: it has no data at first.
    """

    count: Annotated[int, Field(ge=1, le=10_000)] = 1
    like: str | None = None
    site: str | None = None
    gpus: Annotated[int, Field(ge=0, le=1024)] | None = None
    cpus: Annotated[int, Field(ge=0, le=100_000)] | None = None
    memory_bytes: Annotated[int, Field(ge=0, le=1 << 60)] | None = None


class WhatIfSettings(Request):
    """`rebalance`: projects below their share may take over-quota jobs from those above theirs."""

    rebalance: bool | None = None


class WhatIf(Request):
    """What would be different, and what is replayed.

    `replay_seconds`: jobs that were submitted within this time and have ended, as they ran; null: the jobs that run and
    wait now. `duration_seconds` is assumed of a job whose project has no finished jobs to go by.
    """

    projects: dict[str, ProjectWhatIf] = Field(default_factory=dict, max_length=1000)
    nodes: list[MoreNodes] = Field(default_factory=list, max_length=100)
    settings: WhatIfSettings = WhatIfSettings()
    replay_seconds: Annotated[int, Field(ge=60, le=31_536_000)] | None = None
    duration_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 3600


class Replayed(Response):
    """How it went for the jobs of one project, or of all. Waits are in seconds, from submission to the first start."""

    jobs: int
    started: int
    mean_wait: float
    p95_wait: float
    preemptions: int
    gpu_hours: float


class ProjectReplayed(Response):
    project: str
    now: Replayed
    then: Replayed


class ReplayedCluster(Replayed):
    """`goodput` is the GPU-time of work that was kept, `lost_share` that of work that was lost, of all there was until
    the last job ended, `seconds` after the beginning."""

    goodput: float
    lost_share: float
    max_preemptions: int
    seconds: float


class WhatIfAnswer(Response):
    """The same jobs as things are, and as they would be."""

    now: ReplayedCluster
    then: ReplayedCluster
    projects: list[ProjectReplayed]
