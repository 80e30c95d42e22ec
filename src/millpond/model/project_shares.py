"""A project's part of the GPUs: what it is guaranteed, what it may use beyond that, where and how long its jobs run.

Amounts of GPUs are whole hundredths; times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millpond.model.documents import from_document, to_document

# The label that puts a node into a pool. Nodes without it are one pool, which has no name.
POOL_LABEL = "pool"


@dataclass(frozen=True, slots=True)
class ProjectShares:
    """Settings of a project, changed by administrators of the site. Without any, it competes for all GPUs."""

    # Guaranteed, of the nodes that are in no pool; 0 for nothing.
    quota: int = 0
    # Guaranteed, of each pool that an administrator has made by a label.
    pool_quotas: Mapping[str, int] = field(default_factory=dict)
    # For capacity beyond the quotas; None: as large as the quota, at least one GPU.
    weight: int | None = None
    # The most that its jobs hold at once; None for no limit.
    limit: int | None = None
    # May use capacity that others leave idle.
    over_quota: bool = True
    # Labels that nodes must have, for training and for interactive jobs.
    train_affinity: Mapping[str, str] = field(default_factory=dict)
    interactive_affinity: Mapping[str, str] = field(default_factory=dict)
    # The longest that an interactive job runs, and runs unused; 0 for no limit.
    interactive_time: int = 0
    interactive_idle: int = 0
    # What a job has run at least before it is preempted.
    min_runtime: int = 0

    @property
    def quotas(self) -> Mapping[str, int]:
        """By pool."""
        return {"": self.quota, **self.pool_quotas}

    @property
    def total_quota(self) -> int:
        return sum(self.quotas.values())

    def changed(self, changes: Mapping[str, Any]) -> ProjectShares:
        return replace(self, **changes)

    def to_document(self) -> dict[str, Any]:
        return to_document(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ProjectShares:
        return from_document(cls, document)


NO_SHARES = ProjectShares()
