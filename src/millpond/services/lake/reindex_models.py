"""Models from the lake: versions are the numbered tags of their datasets, and say the rest in their commits.

Descriptions, tags and stages that were changed after the registration are in the database alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from millpond.db import models
from millpond.decide.models import BIN_PREFIX, facts_of, tags_of, version_number
from millpond.model.dataset import Commit, DatasetKind, Ref
from millpond.model.model import ModelStage, ModelVersion
from millpond.services.lake.reindex_history import History


def index(tx: Connection, history: History, refs: Sequence[Ref], commits: Sequence[Commit]) -> None:
    """Rows of the model that a dataset holds, if it holds one. What the database knows of its versions stays."""
    dataset = history.dataset
    if dataset.kind is not DatasetKind.MODEL:
        return
    # Numbers of versions that were removed for good count, too: the records of their tags are still there.
    numbers = [number for name in history.refs if (number := _number(name)) is not None]
    following = max(numbers, default=0) + 1
    known = models.get(tx, dataset.id)
    if known is None:
        models.insert(tx, dataset.id, tags={}, now=dataset.active_at, next_version=following)
    else:
        models.change(tx, dataset.id, next_version=max(following, known.next_version))
    there = models.known_numbers(tx, dataset.id)
    for version in _versions(dataset.id, refs, {commit.id: commit for commit in commits}):
        if version.number not in there:
            models.insert_version(tx, version)
        models.change_version(
            tx, dataset.id, version.number, commit_id=version.commit_id, deleted_at=version.deleted_at
        )


def _versions(dataset_id: str, refs: Sequence[Ref], commits: dict[str, Commit]) -> Iterator[ModelVersion]:
    """One for each number; the tag of the bin comes before the other."""
    deleted = {number for ref in refs if ref.name.startswith(BIN_PREFIX) and (number := _number(ref.name)) is not None}
    for ref in refs:
        number = _number(ref.name)
        is_deleted = ref.name.startswith(BIN_PREFIX)
        if number is None or (number in deleted and not is_deleted):
            continue
        commit = commits[ref.commit_id]
        yield ModelVersion(
            dataset_id=dataset_id, number=number, commit_id=commit.id, description=commit.message,
            stage=ModelStage.NONE, tags=tags_of(commit), run_id=facts_of(commit).run_id, changed_at=commit.time,
            deleted_at=ref.moved_at if is_deleted else None,
        )  # fmt: skip


def _number(ref_name: str) -> int | None:
    return version_number(ref_name.removeprefix(BIN_PREFIX))
