"""The contract of drivers that start distributed jobs: `DriverContract` and this, with the same `driver` fixture."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import Driver, Exited, Lost, NotStarted, Reason
from millpond.agent.keeper.clock import boot_time
from millpond.agent.keeper.files import read_json
from millpond.agent.keeper.processes import marked
from millpond.agent.spec import renew
from millpond.model.job import RankPlace
from millpond.testing import all_reduce
from millpond.testing.drivers import DriverContract, Place, finished
from millpond.testing.waiting import wait_until

SIZE = 3
RANKS = (RankPlace(""),) * SIZE
PROGRAM = Path(all_reduce.__file__).read_text()
# Rank 1 ends as it is told to, once all have begun; the others would run for ever.
WAITING = (
    "touch here-$RANK; until test -e here-0 && test -e here-1 && test -e here-2; do sleep 0.05; done; "
    "test $RANK = 1 || exec sleep 600"
)


class GangContract(DriverContract):
    def wait_for_all(self, placement: Path) -> None:
        for rank in range(SIZE):
            self.wait_for_file(placement, f"here-{rank}")

    def log_of(self, placement: Path, rank: int) -> str:
        return (placement / "ranks" / str(rank) / "log").read_text()

    def environment_of(self, placement: Path, rank: int) -> dict[str, str]:
        found: dict[str, str] = json.loads((placement / "work" / f"environment-{rank}.json").read_text())
        return found

    def test_a_driver_that_starts_gangs_says_so(self, driver: Driver) -> None:
        assert driver.capabilities().gangs

    def test_ranks_reach_each_other_by_their_environment(self, driver: Driver, place: Place) -> None:
        placement = place("python3", "-c", PROGRAM, ranks=RANKS)
        status = self.run(driver, placement)
        logs = [self.log_of(placement, rank) for rank in range(SIZE)]
        assert (status.exit_code, status.reason, status.rank) == (0, None, None), logs
        assert logs == [f"rank {rank}: sum 6\n" for rank in range(SIZE)]
        assert status.started_at and status.exited_at and status.started_at <= status.exited_at
        for rank in range(SIZE):
            self.check_environment(rank, self.environment_of(placement, rank))

    def check_environment(self, rank: int, env: dict[str, str]) -> None:
        """The words of torchrun, Horovod, MPI launchers and TensorFlow agree."""
        for name in ("RANK", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
            assert env[name] == str(rank), name
        for name in ("WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
            assert env[name] == str(SIZE), name
        assert env["LOCAL_RANK"] == env["HOROVOD_LOCAL_RANK"] == env["OMPI_COMM_WORLD_LOCAL_RANK"]
        assert int(env["LOCAL_RANK"]) < int(env["LOCAL_WORLD_SIZE"]) <= SIZE
        assert int(env["GROUP_RANK"]) < int(env["GROUP_WORLD_SIZE"])
        told: dict[str, Any] = json.loads(env["TF_CONFIG"])
        assert told["task"] == {"type": "worker", "index": rank}
        assert len(set(told["cluster"]["worker"])) == SIZE
        assert told["cluster"]["worker"][0] == f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}"

    def test_one_rank_that_fails_ends_all(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", f"{WAITING}; echo gone wrong; exit 3", ranks=RANKS)
        status = self.run(driver, placement)
        assert (status.exit_code, status.rank, status.reason) == (3, 1, None)
        assert self.log_of(placement, 1) == "gone wrong\n"
        assert marked(placement.name) == []

    def test_a_rank_that_cannot_be_started_ends_all(self, driver: Driver, place: Place) -> None:
        status = self.run(driver, place("no-such-command-anywhere", ranks=RANKS))
        assert status.exit_code == 127 and status.rank in range(SIZE)
        assert "Command not found" in (status.problem or "")

    def test_stop_ends_all_ranks(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "touch here-$RANK; exec sleep 600", ranks=RANKS)
        driver.start(placement)
        self.wait_for_all(placement)
        driver.stop(placement)
        status = finished(driver, placement)
        assert isinstance(status, Exited) and (status.reason, status.rank) == (Reason.STOPPED, None)
        assert marked(placement.name) == []

    def test_stopped_before_the_start_no_rank_begins(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "touch here-$RANK", ranks=RANKS)
        driver.stop(placement)
        assert self.run(driver, placement).reason == Reason.NOT_STARTED
        assert list((placement / "work").iterdir()) == []

    def test_ranks_start_once_however_often_they_are_told(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "echo started >> times-$RANK", ranks=RANKS)
        assert driver.status(placement) == NotStarted()
        for _ in range(3):
            driver.start(placement)
        finished(driver, placement)
        driver.start(placement)
        times = sorted((placement / "work").iterdir())
        assert [path.read_text() for path in times] == ["started\n"] * SIZE

    @pytest.mark.long
    def test_all_ranks_end_when_validity_ends(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "touch here-$RANK; exec sleep 600", ranks=RANKS, valid_seconds=3)
        driver.start(placement)

        def renewed_until_all_run() -> bool:
            renew(placement, boot_time())
            return len(list((placement / "work").iterdir())) == SIZE

        wait_until(renewed_until_all_run, within=60)
        status = finished(driver, placement)
        assert isinstance(status, Exited) and (status.reason, status.rank) == (Reason.EXPIRED, None)

    def test_a_killed_keeper_of_one_rank_is_the_end_of_all(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "touch here-$RANK; exec sleep 600", ranks=RANKS)
        driver.start(placement)
        self.wait_for_all(placement)
        os.kill(self.keeper_of(placement, 2), signal.SIGKILL)
        assert isinstance(finished(driver, placement), Lost)
        assert marked(placement.name) == []

    def keeper_of(self, placement: Path, rank: int) -> int:
        """The pid of the keeper of one rank, as this machine sees it."""
        pid: int = wait_until(lambda: read_json(str(placement / "ranks" / str(rank) / "claim")))["pid"]
        return pid
