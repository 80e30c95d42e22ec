"""How a workspace is cloned: a table of sources and volumes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.decide.workspaces.clone import OVERLAY_FILES, CloneSource, CloneTarget, choose_how
from millpond.model.workspace import Begins, How

FEW, MANY = 1_000, 600_000
COMMIT = CloneSource(Begins.COMMIT, files=FEW, bytes=10 * 10**9, is_near=True)
SNAPSHOT = replace(COMMIT, kind=Begins.SNAPSHOT)
LIVE = replace(COMMIT, kind=Begins.WORKSPACE)
PLAIN = CloneTarget()
XFS = CloneTarget(reflink=True, overlay=True)
CLASS = CloneTarget(storage_class="fast")
BTRFS = CloneTarget(reflink=True, subvolumes=True, overlay=True)


@pytest.mark.parametrize(
    ("source", "target", "how"),
    [
        (CloneSource(Begins.EMPTY), BTRFS, How.EMPTY),
        (replace(SNAPSHOT, is_subvolume=True), BTRFS, How.SUBVOLUME),
        (replace(LIVE, is_subvolume=True, files=MANY), BTRFS, How.SUBVOLUME),
        (COMMIT, BTRFS, How.REFLINK),
        (replace(COMMIT, files=MANY), BTRFS, How.OVERLAY),
        (replace(SNAPSHOT, is_claim=True), CLASS, How.CSI),
        (COMMIT, XFS, How.REFLINK),
        (replace(SNAPSHOT, files=MANY), XFS, How.OVERLAY),
        (replace(LIVE, files=MANY), XFS, How.REFLINK),
        (replace(SNAPSHOT, files=MANY), replace(XFS, machines=2), How.REFLINK),
        (replace(SNAPSHOT, files=MANY), replace(XFS, overlay=False), How.REFLINK),
        (COMMIT, CloneTarget(overlay=True), How.OVERLAY),
        (COMMIT, PLAIN, How.COPY),
        (COMMIT, replace(PLAIN, lake_bytes_per_second=2e9), How.FILL),
        (SNAPSHOT, replace(PLAIN, lake_bytes_per_second=2e9), How.COPY),
        (replace(COMMIT, is_near=False), BTRFS, How.FILL),
        (replace(LIVE, is_layer=True), XFS, How.OVERLAY),
        (replace(SNAPSHOT, is_layer=True), BTRFS, How.OVERLAY),
        (replace(SNAPSHOT, is_layer=True), replace(XFS, machines=2), How.COPY),
    ],
)
def test_the_best_possible_way_is_taken(source: CloneSource, target: CloneTarget, how: How) -> None:
    assert choose_how(source, target).how is how


def test_each_way_before_the_chosen_one_says_why_not() -> None:
    decision = choose_how(COMMIT, CloneTarget(overlay_problem="the agent may not mount"))
    assert decision.reasons == (
        "copied: 1,000 files, 10.0 GB",
        "not by a snapshot of the file system: the file system has no snapshots of directories",
        "not by a writable layer: the agent may not mount",
        "not by sharing blocks: the file system cannot share blocks between files",
        "not by filling from the lake: its files are on the volume, and nobody knows how fast the lake is",
    )


@pytest.mark.parametrize(
    ("source", "target", "how", "reason"),
    [
        (CloneSource(Begins.EMPTY), CLASS, How.EMPTY, "made empty, as a claim of fast"),
        (replace(LIVE, is_claim=True), CLASS, How.CSI, "a clone of the claim by storage class fast"),
        (LIVE, CLASS, How.COPY, "not by a clone of the claim: it is no claim of the same class"),
        (
            replace(LIVE, is_claim=True),
            replace(CLASS, clone_problem="only CSI drivers clone, and a.b/c is none"),
            How.COPY,
            "not by a clone of the claim: only CSI drivers clone, and a.b/c is none",
        ),
        (COMMIT, CLASS, How.COPY, "copied in a pod: 1,000 files, 10.0 GB"),
        (replace(COMMIT, is_near=False), CLASS, How.FILL, "filled from the lake: 1,000 files, 10.0 GB"),
    ],
)
def test_claims_are_cloned_by_their_class_or_in_a_pod(
    source: CloneSource, target: CloneTarget, how: How, reason: str
) -> None:
    decision = choose_how(source, target)
    assert decision.how is how
    assert reason in decision.reasons


def test_few_files_are_cloned_one_by_one_and_many_lie_below_a_layer() -> None:
    assert choose_how(replace(SNAPSHOT, files=OVERLAY_FILES - 1), XFS).how is How.REFLINK
    assert choose_how(replace(SNAPSHOT, files=OVERLAY_FILES), XFS).how is How.OVERLAY


def test_the_time_from_the_lake_is_unknown_until_it_was_measured() -> None:
    away = replace(COMMIT, is_near=False)
    assert choose_how(away, PLAIN).seconds is None
    known = choose_how(away, replace(PLAIN, lake_bytes_per_second=100e6)).seconds
    assert known is not None and 100 <= known <= 101
