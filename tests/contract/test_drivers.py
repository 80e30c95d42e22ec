"""Every driver passes the same suite."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from millpond.agent.drivers import Driver, Exited, Lost, Running
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.keeper.files import read_json
from millpond.agent.keeper.processes import read_process
from millpond.testing.drivers import Place, finished
from millpond.testing.gangs import GangContract
from millpond.testing.waiting import wait_until

# Keepers are told apart by placement, and these tests use the same names: one worker runs them.
pytestmark = pytest.mark.xdist_group("keepers")


def is_gone(pid: int) -> bool:
    process = read_process(pid)
    return process is None or not process.is_alive


class TestProcessDriver(GangContract):
    @pytest.fixture
    def driver(self) -> Driver:
        return ProcessDriver()

    def nursery(self, placement: Path) -> int:
        guard = read_process(read_json(str(placement / "claim"))["guard"]["pid"])
        assert guard is not None
        return guard.parent

    def test_a_killed_nursery_takes_no_job_along_and_is_made_again(self, driver: Driver, place: Place) -> None:
        before, after = place("sh", "-c", "touch begun; sleep 600"), place("true")
        driver.start(before)
        self.wait_for_file(before, "begun")
        nursery = self.nursery(before)
        os.kill(nursery, signal.SIGKILL)
        wait_until(lambda: is_gone(nursery), what="the end of the nursery")
        assert self.run(driver, after).exit_code == 0
        assert isinstance(driver.status(before), Running)

    def test_jobs_outlive_the_agent_that_started_them_and_its_nursery_does_not(self, place: Place) -> None:
        placement = place("sh", "-c", "touch begun; while [ ! -e go ]; do sleep 0.1; done; exit 3")
        first = ProcessDriver()
        first.start(placement)
        self.wait_for_file(placement, "begun")
        nursery = self.nursery(placement)
        del first  # its end of the nursery's input is closed, as it is however an agent ends
        wait_until(lambda: is_gone(nursery), what="the end of the nursery")
        (placement / "work" / "go").touch()
        status = finished(ProcessDriver(), placement)
        assert isinstance(status, Exited) and status.exit_code == 3

    def test_what_a_killed_keeper_leaves_is_found_without_its_environment(self, driver: Driver, place: Place) -> None:
        """Some programs start others with an environment of their own making."""
        placement = place(
            "sh", "-c", "env -i /bin/sh -c 'echo $$ > pid.new; mv pid.new pid; exec /bin/sleep 600' & wait"
        )
        driver.start(placement)
        self.wait_for_file(placement, "pid")
        left = int((placement / "work" / "pid").read_text())
        os.kill(self.keeper(placement), signal.SIGKILL)
        assert isinstance(finished(driver, placement), Lost)
        assert is_gone(left)
