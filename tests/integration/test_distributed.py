"""Distributed jobs end to end, on a real `mill up` with its real agent: started together, found, failed, read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.client.http import Api
from millpond.client.streams import STDOUT, open_exec
from millpond.errors import BadRequest, NotFound
from millpond.model.job import JobState
from millpond.testing import all_reduce
from millpond.testing.mpi import PROGRAM, why_no_mpi
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until

# The last rank fails when the others have said something.
FAILING = """
echo I am $RANK; touch spoken.$RANK
test $RANK = 2 || exec sleep 600
until test -e spoken.0 && test -e spoken.1; do sleep 0.05; done
exit 5
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MillUp]:
    with mill_up(tmp_path_factory.mktemp("distributed") / "data", "--gpus", "3") as running:
        yield running


@pytest.fixture
def signed_in(up: MillUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILL_HOME", str(up.home))
    monkeypatch.setenv("MILL_SERVER", up.url)


def ranks_of(up: MillUp, job: str) -> list[dict[str, Any]]:
    with up.client() as client:
        attempts: list[dict[str, Any]] = client.get(f"/projects/default/jobs/{job}/attempts").json()["items"]
    return attempts[-1]["ranks"] if attempts else []


@pytest.mark.usefixtures("signed_in")
def test_ranks_start_together_and_each_has_its_log(up: MillUp, tmp_path: Path) -> None:
    (tmp_path / "all_reduce.py").write_text(Path(all_reduce.__file__).read_text())
    job = millpond.submit(["python", "all_reduce.py"], processes=3, gpu=1, code=tmp_path)
    ended = job.wait("60s")
    assert ended.state is JobState.SUCCEEDED, ended.problem
    logs = [b"".join(job.logs(rank=rank)) for rank in range(3)]
    assert logs == [b"rank %d: sum 6\n" % rank for rank in range(3)]
    assert [rank["exit_code"] for rank in ranks_of(up, job.id)] == [0, 0, 0]


@pytest.mark.usefixtures("signed_in")
def test_the_log_of_the_rank_that_failed_is_the_one_shown(up: MillUp, open_path: Path) -> None:
    job = millpond.submit(["sh", "-c", f"cd {open_path}; {FAILING}"], processes=3, code=None)
    ended = job.wait("60s")
    assert (ended.state, ended.exit_code, ended.failed_rank) == (JobState.FAILED, 5, 2)
    assert b"".join(job.logs()) == b"I am 2\n"
    assert b"".join(job.logs(rank=0)) == b"I am 0\n"
    assert [rank["signal"] for rank in ranks_of(up, job.id)] == [15, 15, None]


@pytest.mark.skipif(why_no_mpi() is not None, reason=str(why_no_mpi()))
@pytest.mark.usefixtures("signed_in")
def test_mpirun_starts_a_program_of_mpi(up: MillUp, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    job = millpond.submit(["python", "program.py"], processes=3, gpu=1, mpi=True, code=tmp_path)
    ended = job.wait("60s")
    said = b"".join(job.logs()).decode().splitlines()
    assert ended.state is JobState.SUCCEEDED, said
    assert sorted(line.partition(": ")[2] for line in said) == [f"rank {rank} of 3: sum 6" for rank in range(3)]
    assert ranks_of(up, job.id) == []
    with pytest.raises(NotFound, match="each line says its rank"):
        list(job.logs(rank=1))


@pytest.mark.skipif(why_no_mpi() is not None, reason=str(why_no_mpi()))
@pytest.mark.usefixtures("signed_in")
def test_each_process_of_mpi_has_its_gpu_and_the_first_to_fail_its_code(up: MillUp) -> None:
    script = "echo gpu $CUDA_VISIBLE_DEVICES; test $RANK = 2 || exec sleep 600; sleep 0.5; exit 9"
    job = millpond.submit(["sh", "-c", script], processes=3, gpu=1, mpi=True, code=None)
    ended = job.wait("60s")
    said = b"".join(job.logs()).decode().splitlines()
    assert (ended.state, ended.exit_code) == (JobState.FAILED, 9), said
    assert sorted(line.partition(": ")[2] for line in said if "gpu" in line) == ["gpu 0", "gpu 1", "gpu 2"]


@pytest.mark.usefixtures("signed_in")
def test_a_command_beside_a_chosen_rank(up: MillUp) -> None:
    job = millpond.submit(["sleep", "600"], processes=2, code=None)
    token = json.loads((up.home / "credentials.json").read_text())["servers"][up.url]["token"]
    try:
        wait_until(lambda: job.state is JobState.RUNNING, within=60, what="the job to run")
        with Api(up.url, token) as api:
            ranks = [_said(api, job.id, ["sh", "-c", "echo $RANK of $WORLD_SIZE"], rank) for rank in (0, 1)]
            with (
                open_exec(api, "default", job.id, ["true"], rank=2) as stream,
                pytest.raises(BadRequest, match="rank 2"),
            ):
                list(stream.messages())
    finally:
        job.stop()
    assert ranks == [b"0 of 2\n", b"1 of 2\n"]


def _said(api: Api, job: str, command: list[str], rank: int) -> bytes:
    with open_exec(api, "default", job, command, rank=rank) as stream:
        return b"".join(one[1:] for one in stream.messages() if isinstance(one, bytes) and one[0] == STDOUT)


@pytest.mark.usefixtures("signed_in")
def test_what_does_not_fit_together_waits_and_says_so(up: MillUp) -> None:
    first = millpond.submit(["sleep", "600"], processes=2, gpu=1, code=None)
    second = millpond.submit(["true"], processes=2, gpu=1, code=None)
    try:
        with up.client() as client:
            path = f"/projects/default/jobs/{second.id}/why"
            wait_until(lambda: "room for 1 of 2 processes" in client.get(path).json()["reasons"][-1], within=60)
    finally:
        first.stop()
    assert first.wait("60s").state is JobState.CANCELLED
    assert second.wait("60s").state is JobState.SUCCEEDED
