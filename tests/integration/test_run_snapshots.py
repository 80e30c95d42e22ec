"""Runs tied to their data, with a real agent: snapshots at start and end, and the same start again from a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.mpi import why_no_mpi
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

WITHIN = 60
# Learns from what is there, and leaves a model beside it.
TRAIN = 'cat "$MILL_WORKSPACE_{0}"/*.txt | sort | sha256sum; echo trained >> "$MILL_WORKSPACE_{0}/model.txt"'


@pytest.fixture
def mill(shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(shared_up, capfd, tmp_path)


def content(path: str) -> dict[str, bytes]:
    root = Path(path)
    return {str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()}


def snapshots(mill: Mill, run: str) -> list[dict[str, Any]]:
    return list(mill.ok("run", "snapshots", run, "--json").json["items"])


def filled(mill: Mill, name: str) -> dict[str, Any]:
    made = mill.ok("workspace", "create", name, "--size", "100MB", "--json").json
    variable = name.replace("-", "_").upper()
    write = f'cd "$MILL_WORKSPACE_{variable}"; for n in 1 2 3; do echo picture $n > $n.txt; done'
    mill.ok("submit", "--no-code", "--wait", "-w", f"{name}:/data", "--", "sh", "-c", write)
    return dict(made)


def test_a_run_is_tied_to_its_data_and_begins_the_same_again(mill: Mill) -> None:
    made = filled(mill, "rs-data")
    before = content(made["path"])
    job = mill.ok(
        "submit", "rs-train", "--no-code", "--wait", "--json", "-w", "rs-data:/mnt", "--snapshot", "start,end",
        "--", "sh", "-c", TRAIN.format("RS_DATA"),
    ).json  # fmt: skip
    assert job["state"] == "succeeded", job
    found = wait_until(
        lambda: taken if len(taken := snapshots(mill, job["run_id"])) == 2 else None, what="both", within=WITHIN
    )
    assert [one["moment"] for one in found] == ["start", "end"]
    assert found[0]["consistency"] == "atomic", "its command had not begun"
    assert all(re.fullmatch(r"snap-rs-data-rs-train-(start|end)(-\d+){6}", one["name"]) for one in found)
    log = mill.ok("logs", job["id"])
    first, told = log.out.splitlines()
    assert first == f"Snapshot {found[0]['name']} of workspace rs-data taken."
    assert f"Snapshot {found[1]['name']} of workspace rs-data" in log.err
    assert content(made["path"]) != before
    again = mill.ok("run", "restore", job["run_id"], "--into", "rs-again", "--json").json
    assert content(again["path"]) == before
    second = mill.ok(
        "submit", "--no-code", "--wait", "--json", "-w", "rs-again:/mnt", "--snapshot", "start",
        "--", "sh", "-c", TRAIN.format("RS_AGAIN"),
    ).json  # fmt: skip
    assert mill.ok("logs", second["id"]).out.splitlines()[1] == told, "it began with the same"


def test_no_rule_removes_what_belongs_to_a_run(mill: Mill) -> None:
    filled(mill, "rs-kept")
    job = mill.ok(
        "submit", "rs-linked", "--no-code", "--wait", "--json", "-w", "rs-kept:/x", "--snapshot", "start", "--", "true"
    ).json
    for _ in range(2):
        mill.ok("workspace", "snapshot", "rs-kept", "daily", "--keep", "1", "--json")
    listed = mill.ok("workspace", "snapshots", "rs-kept", "--json").json["items"]
    assert [one["run"] for one in listed if one["run"]] == [job["run_id"]]


@pytest.mark.skipif(why_no_mpi() is not None, reason=str(why_no_mpi()))
def test_three_processes_of_mpi_begin_once_the_snapshot_is_there(mill: Mill) -> None:
    filled(mill, "rs-mpi")
    job = mill.ok(
        "submit-mpi", "rs-lanes", "--processes", "3", "--no-code", "--wait", "--json", "-w", "rs-mpi:/mnt",
        "--snapshot", "start", "--", "sh", "-c", "echo rank $RANK",
    ).json  # fmt: skip
    first, *lines = mill.ok("logs", job["id"]).out.splitlines()
    assert first.startswith("Snapshot snap-rs-mpi-rs-lanes-start-")
    assert sorted(line.partition(": ")[2] for line in lines) == ["rank 0", "rank 1", "rank 2"]


def test_what_cannot_be_asked_for(mill: Mill) -> None:
    for arguments, words in (
        (("--snapshot", "start"), "the job has none"),
        (("--snapshot", "sometimes"), "does not say when to take snapshots"),
        (("-w", "rs-none:/x", "--snapshot", "every=1s"), "too short"),
    ):
        done = mill("submit", "--no-code", *arguments, "--", "true")
        assert done.code != 0 and words in done.err, done.err
    job = mill.ok("submit", "--no-code", "--wait", "--json", "--", "true").json
    done = mill("run", "restore", job["run_id"], "--into", "rs-nothing")
    assert done.code == 3 and "has no snapshot of its start" in done.err
