"""How projects share GPUs: now, and over time."""

from __future__ import annotations

from millpond.wire.base import Gpus, Response, Time


class Share(Response):
    """One project in one pool, in numbers of GPUs. The pool without a name is that of all nodes without a label.

    `share` is what it may expect now, `over_quota` what of `allocated` its quota does not cover, `idle` what its jobs
    hold and do not use.
    """

    project: str
    pool: str
    quota: Gpus
    weight: Gpus
    limit: Gpus | None
    share: Gpus
    allocated: Gpus
    over_quota: Gpus
    idle: Gpus
    pending_gpus: Gpus
    pending_jobs: int


class ShareList(Response):
    items: list[Share]


class ShareSample(Response):
    at: Time
    project: str
    pool: str
    quota: Gpus
    share: Gpus
    allocated: Gpus
    pending_gpus: Gpus
    pending_jobs: int


class ShareHistory(Response):
    """Samples every `step_seconds`, oldest first."""

    step_seconds: int
    items: list[ShareSample]
