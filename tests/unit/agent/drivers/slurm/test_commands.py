"""Slurm's programs as old and new versions print; stand-ins for them are on the PATH."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.slurm.commands import Commands, SlurmJob
from millpond.errors import SetupError

POLICY = "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, size and/or time limits)"
Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    return make


def test_ids_with_and_without_a_cluster(program: Program) -> None:
    program("sbatch", "echo '123;big'")
    assert Commands().submit("", []) == "123"


def test_a_job_gets_nothing_of_the_agents_environment(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILL_TOKEN", "secret")
    monkeypatch.setenv("SBATCH_PARTITION", "wrong")
    program("sbatch", 'echo "<$MILL_TOKEN$SBATCH_PARTITION>"')
    assert Commands().submit("", []) == "<>"


@pytest.mark.parametrize(
    "said",
    [
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "slurm_load_jobs error: Zero Bytes were transmitted or received",
        "sbatch: error: If munged is up, restart with --num-threads=10",
        f"sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: {POLICY}",
        f"sbatch: error: AssocGrpSubmitJobsLimit\nsbatch: error: {POLICY}",
        f"sbatch: error: {POLICY}",
    ],
)
def test_what_may_pass(program: Program, said: str) -> None:
    program("sbatch", f"echo '{said}' >&2; exit 1")
    with pytest.raises(EngineAway):
        Commands().submit("", [])


def test_what_is_refused_in_slurms_words(program: Program) -> None:
    said = (
        "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition"
    )
    program("sbatch", f"echo '{said}' >&2; exit 1")
    with pytest.raises(OSError, match=r"^invalid partition specified: x; Invalid partition$") as refused:
        Commands().submit("", [])
    assert not isinstance(refused.value, EngineAway)


def test_a_limit_that_the_job_itself_is_beyond(program: Program) -> None:
    program("sbatch", f"printf 'sbatch: error: QOSMaxWallDurationPerJobLimit\\nsbatch: error: {POLICY}' >&2; exit 1")
    with pytest.raises(OSError, match="QOSMaxWallDurationPerJobLimit") as refused:
        Commands().submit("", [])
    assert not isinstance(refused.value, EngineAway)


def test_jobs_of_which_a_name_is_strange(program: Program) -> None:
    program("squeue", "echo '7|mill-p1|PENDING|Priority|'; echo '8|a|b|RUNNING|None|n1'")
    assert Commands().jobs() == [SlurmJob("7", "mill-p1", "PENDING", "Priority", "")]


def test_with_and_without_accounting(program: Program) -> None:
    program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert Commands().recorded(["7"]) == {}
    program("sacct", "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1")
    assert Commands().recorded(["7"]) == {}
    program("sacct", "echo '7|mill-p1|CANCELLED by 4242424|None assigned|0:0'; echo '8|mill-p2|RUNNING|n1|0:0'")
    assert Commands().recorded(["7", "8"]) == {
        "mill-p1": SlurmJob("7", "mill-p1", "CANCELLED", "", "", 0, "user 4242424")
    }


def test_an_id_that_several_jobs_have_had(program: Program) -> None:
    program("sacct", "echo '7|mill-p1|FAILED|n1|1:0'; echo '7|other|COMPLETED|n2|0:0'")
    assert Commands().recorded(["7"])["mill-p1"] == SlurmJob("7", "mill-p1", "FAILED", "", "n1", 1)


def test_cancelling_what_is_gone_is_success(program: Program) -> None:
    program("scancel", "echo 'scancel: error: Kill job error on job id 7: Invalid job id specified' >&2; exit 1")
    Commands().cancel("7")
    program("scancel", "exit 229")  # it is just ending: no word, only the last byte of ESLURM_ALREADY_DONE
    Commands().signal("7", "TERM")
    program("scancel", "exit 1")
    with pytest.raises(OSError, match="exited with 1"):
        Commands().cancel("7")


def test_a_machine_without_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="not installed on this machine: sbatch"):
        Commands().check_installed()
