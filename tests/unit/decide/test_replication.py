"""In which order a replica gets what it lacks, and how its lag is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millpond.decide.replication import copy_order, describe_lag, records_ready, seconds_behind, why_unwell
from millpond.model.lake_replica import LakeReplicaLag

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


def test_packs_by_size_and_pages_from_the_leaves_up() -> None:
    parts = copy_order({"small": 1, "large": 9, "also": 9}, {"root": 2, "b": 0, "a": 0, "index": 1})
    assert list(parts.packs) == ["also", "large", "small"]
    assert list(parts.leaves) == ["a", "b"]
    assert list(parts.index_pages) == ["index", "root"], "a page never before what lies below it"


@pytest.mark.parametrize(
    ("commits", "held", "ready"),
    [
        ([], set(), 0),
        ([None, None], set(), 2),
        ([None, "a", "b"], {"a", "b"}, 3),
        ([None, "a", "b"], {"b"}, 1),
        (["a", "b", "a"], {"a"}, 1),
    ],
)
def test_a_record_never_before_its_commit(commits: list[str | None], held: set[str], ready: int) -> None:
    assert records_ready(commits, held) == ready


@pytest.mark.parametrize(
    ("lag", "words", "unwell"),
    [
        (LakeReplicaLag(), "up to date", False),
        (LakeReplicaLag(1, 2, 3_000_000, NOON - timedelta(minutes=2)), "1 commit and 3.0 MB behind, for 2 m", False),
        (LakeReplicaLag(5, 0, 0, NOON - timedelta(hours=2)), "5 commits and 0 B behind, for 2 h", True),
        (LakeReplicaLag(0, 1, 1000, None), "1.0 kB behind", False),
        (LakeReplicaLag(1, 0, 0, NOON + timedelta(hours=1)), "for 0.0 s", False),
    ],
)
def test_lag_in_words(lag: LakeReplicaLag, words: str, unwell: bool) -> None:
    assert words in describe_lag(lag, NOON)
    assert (why_unwell(None, lag, NOON) is not None) == unwell
    assert seconds_behind(lag, NOON) >= 0


def test_a_problem_is_told_before_the_lag() -> None:
    assert why_unwell("The bucket is gone.", LakeReplicaLag(), NOON) == "The bucket is gone."
