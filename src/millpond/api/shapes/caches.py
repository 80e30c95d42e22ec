"""Cached commits and policies as the wire shows them."""

from __future__ import annotations

from millpond.db.policies import PolicyView
from millpond.services.caches.policies import problem_of
from millpond.wire.cache_plans import CachePolicy


def policy(view: PolicyView) -> CachePolicy:
    return CachePolicy(
        id=view.policy.id,
        project=view.project,
        dataset=view.dataset,
        branch=view.policy.branch,
        volume=view.volume,
        created_by=view.policy.created_by,
        created_at=view.policy.created_at,
        commit_id=view.head,
        state=view.state,
        problem=problem_of(view),
    )
