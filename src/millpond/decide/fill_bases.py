"""Ranks cached commits from which a fill can link unchanged files: nearest ancestors first, then the newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BaseCandidate:
    """A complete cached commit of the same project on the same volume."""

    cached_id: str
    commit_id: str
    dataset_id: str
    tree: str
    ready_at: datetime
    volume_id: str = ""


def rank_bases(candidates: Sequence[BaseCandidate], dataset_id: str, ancestors: Sequence[str]) -> list[BaseCandidate]:
    """The best first: ancestors in the order given (nearest first), the dataset's newest, then other datasets'.

    Only those of the same dataset are worth comparing trees with; the others are for linking alone.
    """
    nearness = {commit_id: number for number, commit_id in enumerate(ancestors)}
    return sorted(
        candidates,
        key=lambda one: (
            nearness.get(one.commit_id, len(nearness)),
            one.dataset_id != dataset_id,
            -one.ready_at.timestamp(),
            one.cached_id,
        ),
    )
