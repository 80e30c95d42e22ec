"""The specification of a job: one document, whose defaults and keys are a promise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import Invalid
from millpond.model.job_spec import Dependency, JobInput, JobKind, JobSpec, checked_document

FULL: dict[str, Any] = {
    "version": 1,
    "command": ["python", "train.py"],
    "kind": "interactive",
    "env": {"EPOCHS": "3"},
    "secrets": {"KEY": "WANDB_API_KEY"},
    "inputs": [
        {"dataset": "default/xray", "ref": "main", "commit_id": "c1", "dataset_id": "d1", "env": "MILL_DATA_XRAY"}
    ],
    "image": "python:3.12",
    "preemptible": True,
    "large_shm": True,
    "mounts": [{"mount": "scratch", "target": "/scratch", "read_only": True, "site_id": "s1"}],
    "workspaces": [{"workspace": "notes", "target": "/notes", "home": True, "id": "w1", "volume_id": "v1"}],
    "code_commit": "c2",
    "environment": "c3",
    "processes": 2,
    "launcher": "mpi",
    "snapshots": {"start": True, "every_seconds": 1800},
    "cpu": 4,
    "memory_bytes": 8_000_000_000,
    "gpu_hundredths": 50,
    "gpu_enforced": True,
    "compute": "cluster",
    "options": {"partition": "long"},
    "on": "gpu-real",
    "gpu_type": "A100",
    "min_gpu_memory_bytes": 40_000_000_000,
    "node_selector": {"rack": "7"},
    "priority": 5,
    "timeout_seconds": 60,
    "grace_seconds": 120,
    "retries": 2,
    "retry_on": ["oom"],
    "backoff_seconds": 10,
    "after": [{"job": "j1"}, {"job": "j2", "when": "any"}],
    "ports": [8888],
    "idle_seconds": 3600,
    "experiment": "xray",
    "step": {
        "run": "r1",
        "name": "train",
        "index": 2,
        "params": {"lr": 0.1},
        "outputs": [{"name": "model", "type": "model"}, {"name": "note", "type": "file", "required": False}],
    },
    "cluster": "prep",
    "service": {"role": "replica", "endpoint": "e1", "model": "m@1"},
    "site_id": "s1",
    "tags": {"git.commit": "abc"},
    "params": {"lr": 0.1, "layers": [1, 2]},
    "pinned": True,
}


def test_a_document_of_version_1_reads_and_writes_the_same() -> None:
    spec = JobSpec.from_document(FULL)
    assert spec.kind is JobKind.INTERACTIVE
    assert spec.inputs == (JobInput("default/xray", "main", "c1", "d1", "MILL_DATA_XRAY"),)
    assert (spec.inputs[0].project, spec.inputs[0].name) == ("default", "xray")
    assert spec.after == (Dependency("j1"), Dependency("j2", "any"))
    assert json.loads(json.dumps(spec.to_document())) == FULL
    assert set(FULL) == {"version", *JobSpec.__dataclass_fields__}, "every field is tried here"


def test_the_defaults_are_part_of_version_1() -> None:
    """Documents leave them out: a default that changed would change what old jobs asked for."""
    spec = JobSpec.from_document({"version": 1, "command": ["true"]})
    assert spec == JobSpec(command=("true",))
    assert spec.to_document() == {"version": 1, "command": ["true"]}
    assert (spec.kind, spec.backoff_seconds, spec.retries, spec.timeout_seconds, spec.cpu) == (
        JobKind.TRAINING,
        5,
        0,
        0,
        0,
    )


def test_what_a_newer_version_added_is_passed_over() -> None:
    assert JobSpec.from_document({"version": 1, "command": ["true"], "colour": "red"}) == JobSpec(command=("true",))
    with pytest.raises(Invalid, match="version 9"):
        JobSpec.from_document({"version": 9, "command": ["true"]})


@pytest.mark.parametrize(
    ("written", "says", "hint"),
    [
        ({"comand": ["true"]}, "Unknown key 'comand'", "Did you mean 'command'?"),
        ({"command": ["true"], "time_out": 3}, "Unknown key 'time_out'", "Did you mean 'timeout_seconds'?"),
        ({"inputs": [{"dataset": "x", "reff": "main"}]}, "Unknown key 'inputs.0.reff'", "Did you mean 'ref'?"),
        ({"zzz": 1}, "Unknown key 'zzz'", "Known keys: after,"),
        ({"version": "one"}, "version 'one'", "versions up to 1"),
    ],
)
def test_what_people_write_has_known_keys_only(written: dict[str, Any], says: str, hint: str) -> None:
    with pytest.raises(Invalid, match=says) as raised:
        checked_document(written)
    assert hint in (raised.value.hint or "")


def test_short_forms_are_written_out() -> None:
    found = checked_document({
        "command": ["true"], "inputs": ["xray@v3", "team/ct", {"dataset": "mri"}], "after": ["a", "b:any"],
        "interactive": True,
    })  # fmt: skip
    assert found["inputs"] == [{"dataset": "xray", "ref": "v3"}, {"dataset": "team/ct"}, {"dataset": "mri"}]
    assert found["after"] == [{"job": "a"}, {"job": "b", "when": "any"}]
    assert found["kind"] == "interactive"


def test_jobs_of_one_class_can_run_in_the_same_places() -> None:
    spec = JobSpec(command=("true",), cpu=2)
    same = JobSpec(command=("false",), cpu=2, env={"A": "1"}, priority=3, timeout_seconds=9, tags={"a": "b"})
    assert spec.class_key == same.class_key
    assert (
        len({spec.class_key, JobSpec(command=("true",)).class_key, JobSpec(command=("true",), image="x").class_key})
        == 3
    )


@given(
    st.integers(0, 100), st.lists(st.text(max_size=5), min_size=1, max_size=3), st.dictionaries(st.text(), st.text())
)
def test_what_is_written_is_read_again(cpu: int, command: list[str], env: dict[str, str]) -> None:
    spec = JobSpec(command=tuple(command), cpu=cpu, env=env, inputs=(JobInput("a/b"),))
    assert JobSpec.from_document(json.loads(json.dumps(spec.to_document()))) == spec
