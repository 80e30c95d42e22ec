"""The Slurm driver on a real Slurm with accounting, whose controller forgets within seconds what has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millpond.agent.drivers import EngineAway, Exited, Lost, Pending, Reason, Running
from millpond.agent.drivers.slurm import SlurmDriver
from millpond.testing.drivers import Place, finished, looking
from millpond.testing.slow_engines import contract_in_the_long_run
from millpond.testing.slurm import Slurm, running_slurm, why_no_slurm
from millpond.testing.slurm_accounting import Accounting, why_no_accounting
from millpond.testing.waiting import wait_until
from tests.contract.slurm_contract import Opened, SlurmContract, job_of

pytestmark = pytest.mark.xdist_group("slurm_accounting")

WAITING = ("sh", "-c", "touch here; exec sleep 600")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    problem = why_no_slurm() or why_no_accounting()
    if problem:
        pytest.skip(problem)
    with running_slurm(accounting=True) as running:
        yield running


@pytest.fixture
def accounting(slurm: Slurm) -> Accounting:
    assert slurm.accounting is not None
    return slurm.accounting


@contextmanager
def limited(accounting: Accounting, *what: str) -> Iterator[None]:
    """`user root MaxJobs=1`, taken back afterwards."""
    *whom, limit = what
    accounting.manage("modify", *whom, "set", limit)
    try:
        yield
    finally:
        accounting.manage("modify", *whom, "set", f"{limit.partition('=')[0]}=-1")


def wait_until_forgotten(slurm: Slurm, *placements: Path) -> None:
    names = {f"mill-{placement.name}" for placement in placements}

    def forgotten() -> bool:
        return not names & set(slurm.run("squeue", "-h", "-t", "all", "-o", "%j").split())

    wait_until(forgotten, within=120, what="slurmctld to forget what has ended")


def recorded(slurm: Slurm, job: str) -> str:
    return slurm.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "State").strip()


@contract_in_the_long_run
class TestWithAccounting(SlurmContract):
    def test_the_accounting_tells_what_ended_while_no_agent_looked(
        self, slurm: Slurm, opened: Opened, place: Place
    ) -> None:
        failed, cancelled, killed = place("sh", "-c", "exit 5"), place(*WAITING), place(*WAITING)
        first = opened()
        for placement in (failed, cancelled, killed):
            first.start(placement)
        for placement in (cancelled, killed):
            self.wait_for_file(placement, "here")
        slurm.run("scancel", job_of(slurm, cancelled))
        os.kill(self.keeper(killed), signal.SIGKILL)
        wait_until_forgotten(slurm, failed, cancelled, killed)
        with looking(second := opened()):
            ends = [finished(second, placement) for placement in (failed, cancelled, killed)]
        assert isinstance(ends[0], Exited) and (ends[0].exit_code, ends[0].problem) == (5, None)
        assert isinstance(ends[1], Exited) and ends[1].reason is Reason.CANCELLED
        assert "cancelled in Slurm by " in (ends[1].problem or "")
        assert isinstance(ends[2], Lost) and "keeper" in ends[2].problem

    def test_more_jobs_than_the_account_may_have_wait_and_say_so(
        self, accounting: Accounting, driver: SlurmDriver, place: Place
    ) -> None:
        first, second = place(*WAITING), place("true")
        with limited(accounting, "user", "root", "MaxJobs=1"):
            driver.start(first)
            self.wait_for_file(first, "here")
            driver.start(second)

            def told() -> bool:
                status = driver.status(second)
                return isinstance(status, Pending) and "its account has reached its limit" in status.why

            wait_until(told, what="why it waits")
            driver.stop(first)
            ended = finished(driver, second)
        assert isinstance(ended, Exited) and ended.exit_code == 0

    def test_what_the_account_may_not_have_now_is_told_from_what_it_may_never_have(
        self, accounting: Accounting, opened: Opened, driver: SlurmDriver, place: Place
    ) -> None:
        first, second = place(*WAITING), place("true")
        with limited(accounting, "user", "root", "MaxSubmitJobs=1"):
            driver.start(first)
            with pytest.raises(EngineAway, match="AssocMaxSubmitJobLimit"):
                driver.start(second)
        accounting.manage("modify", "qos", "normal", "set", "Flags=DenyOnLimit")
        with (
            limited(accounting, "qos", "normal", "MaxWall=10"),
            pytest.raises(OSError, match="QOSMaxWallDurationPerJobLimit") as refused,
        ):
            opened(time="30").start(second)
        assert not isinstance(refused.value, EngineAway)
        with pytest.raises(OSError, match="Invalid account") as refused:
            opened(account="nobody").start(second)
        assert not isinstance(refused.value, EngineAway)
        assert self.run(driver, second).exit_code == 0

    @pytest.mark.long
    def test_while_the_accounting_is_away_all_else_goes_on(
        self, slurm: Slurm, accounting: Accounting, opened: Opened, place: Place
    ) -> None:
        """slurmctld forgets a job that the accounting believes to run, since nobody could tell it of the end."""
        forgotten, other = place(*WAITING), place("sh", "-c", "exit 5")
        opened().start(forgotten)
        job = job_of(slurm, forgotten)
        wait_until(lambda: recorded(slurm, job) == "RUNNING", what="the accounting to know the job")
        accounting.stop()
        with looking(driver := opened()):
            try:
                os.kill(self.keeper(forgotten), signal.SIGKILL)
                wait_until_forgotten(slurm, forgotten)
                assert isinstance(driver.status(forgotten), Running)
                assert self.run(driver, other).exit_code == 5
                assert isinstance(driver.status(forgotten), Running)
            finally:
                accounting.start()
            status = finished(driver, forgotten, within=120)
        assert isinstance(status, Lost) and "The keeper of the job was killed" in status.problem

    @pytest.mark.long
    def test_beyond_slurms_own_limit_while_no_agent_looked(self, slurm: Slurm, opened: Opened, place: Place) -> None:
        placement = place("sleep", "600")
        opened(time="0:01").start(placement)
        wait_until(lambda: (placement / "exit.json").exists(), within=240, what="the end of its time")
        wait_until_forgotten(slurm, placement)
        with looking(driver := opened()):
            status = finished(driver, placement)
        assert isinstance(status, Exited) and status.reason is Reason.TERMINATED
        assert "exceeded its time limit" in (status.problem or "")

    @pytest.mark.long
    def test_a_node_that_fails_while_no_agent_looks(self, slurm: Slurm, opened: Opened, place: Place) -> None:
        """It is only said to have failed: it lives to end the job, and comes back by itself."""
        placement = place(*WAITING, options={"partition": "short"})
        opened().start(placement)
        self.wait_for_file(placement, "here")
        job = job_of(slurm, placement)
        slurm.run("scontrol", "update", f"nodename={slurm.plain_node}", "state=down", "reason=test")
        wait_until(lambda: recorded(slurm, job) == "NODE_FAIL", what="the accounting to hear of it")
        wait_until_forgotten(slurm, placement)
        with looking(driver := opened()):
            status = finished(driver, placement)
        assert isinstance(status, Exited) and status.reason is Reason.TERMINATED
        assert "The node failed while the job ran" in (status.problem or "")
