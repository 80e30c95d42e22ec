"""The contract of every driver as a test suite: subclass `DriverContract` and give it a `driver` fixture."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import Driver, EngineAway, Exited, Lost, NotStarted, Reason, Running, Status
from millpond.agent.keeper import boot_time, marked, read_json
from millpond.agent.spec import Spec, renew
from millpond.testing.waiting import wait_until

Place = Callable[..., Path]

# Forks twice, starts a session of its own and ignores SIGTERM: the hardest to find and to end.
DAEMON = "import os,signal,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n\
signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('daemon','w').write('here')\ntime.sleep(600)"


@contextmanager
def looking(driver: Driver) -> Iterator[None]:
    """Let the driver look at its engine again and again, as the agent does. An engine that is away is asked again."""
    ending = threading.Event()

    def look() -> None:
        while not ending.wait(driver.look_seconds):
            with suppress(EngineAway):
                driver.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def finished(driver: Driver, placement: Path, within: float = 60.0) -> Exited | Lost:
    def final() -> Status | None:
        status = driver.status(placement)
        return status if isinstance(status, Exited | Lost) else None

    status = wait_until(final, within=within, what=f"the end of {placement.name}")
    assert isinstance(status, Exited | Lost)
    return status


class DriverContract:
    """What `Driver` promises, tried on real commands, in a container of `image` where there is one."""

    image: str | None = None

    @pytest.fixture
    def place(self, tmp_path: Path, driver: Driver) -> Iterator[Place]:
        """Makes prepared placements; what still runs at the end of a test is stopped, and nothing may be left."""
        made: list[Path] = []

        def make(*command: str, **fields: Any) -> Path:
            placement = tmp_path / f"p-{secrets.token_hex(6)}"  # engines remember names
            work = placement / "work"
            for name in ("work", "output", "tmp"):
                (placement / name).mkdir(parents=True)
            env = {"MILL_PLACEMENT": placement.name} | ({} if self.image else {"PATH": os.environ["PATH"]})
            defaults: dict[str, Any] = {
                "valid_seconds": 600,
                "grace_seconds": 5,
                "env": env,
                "image": self.image,
                "account": 1,
            }
            Spec(placement=placement.name, job="job", project="p", command=command, directory=str(work),
                 **defaults | fields).write(placement)  # fmt: skip
            renew(placement, boot_time())
            made.append(placement)
            return placement

        yield make
        for placement in made:
            if not isinstance(driver.status(placement), NotStarted):
                driver.stop(placement)
                finished(driver, placement)
            driver.forget(placement)
            driver.forget(placement)
            assert marked(placement.name) == []

    def run(self, driver: Driver, placement: Path) -> Exited:
        driver.start(placement)
        status = finished(driver, placement)
        assert isinstance(status, Exited)
        return status

    def keeper(self, placement: Path) -> int:
        """The pid of its keeper, as this machine sees it."""
        pid: int = wait_until(lambda: read_json(str(placement / "claim")))["pid"]
        return pid

    def wait_for_file(self, placement: Path, name: str) -> None:
        wait_until(lambda: (placement / "work" / name).exists(), within=60, what=name)

    def test_exit_status_times_and_log_are_told(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "echo out; echo err >&2; printf 'no newline'; exit 3")
        status = self.run(driver, placement)
        assert (status.exit_code, status.signal, status.reason, status.problem) == (3, None, None, None)
        assert status.started_at and status.exited_at and status.started_at <= status.exited_at
        assert (placement / "log").read_bytes() == b"out\nerr\nno newline"

    def test_success(self, driver: Driver, place: Place) -> None:
        assert self.run(driver, place("true")).exit_code == 0

    def test_a_signal_is_not_an_exit_code(self, driver: Driver, place: Place) -> None:
        status = self.run(driver, place("sh", "-c", "kill -SEGV $$"))
        assert (status.exit_code, status.signal) == (None, signal.SIGSEGV)

    def test_a_command_that_does_not_exist(self, driver: Driver, place: Place) -> None:
        placement = place("no-such-command-anywhere")
        status = self.run(driver, placement)
        assert (status.exit_code, status.reason) == (127, Reason.NOT_STARTED)
        assert status.problem == "The command 'no-such-command-anywhere' was not found."
        assert b"was not found" in (placement / "log").read_bytes()

    def test_a_file_that_may_not_be_executed(self, driver: Driver, place: Place) -> None:
        placement = place("./plain")
        (placement / "work" / "plain").write_text("text")
        status = self.run(driver, placement)
        assert status.exit_code == 126 and "may not be executed" in (status.problem or "")

    def test_it_starts_once_however_often_it_is_told(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "echo started >> times; exit 0")
        for _ in range(3):
            driver.start(placement)
        finished(driver, placement)
        driver.start(placement)
        assert (placement / "work" / "times").read_text() == "started\n"

    def test_before_the_start_it_is_not_started(self, driver: Driver, place: Place) -> None:
        assert driver.status(place("true")) == NotStarted()

    def test_while_it_runs_it_is_running(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "touch here; exec sleep 600")
        driver.start(placement)
        self.wait_for_file(placement, "here")
        running = wait_until(
            lambda: isinstance(status := driver.status(placement), Running) and status.started_at, what="the start time"
        )
        assert running

    def test_stop_ends_the_whole_tree(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", f'python3 -c "{DAEMON}"; exec sleep 600', grace_seconds=0.5)
        driver.start(placement)
        self.wait_for_file(placement, "daemon")
        driver.stop(placement)
        driver.stop(placement)
        status = finished(driver, placement)
        assert isinstance(status, Exited)
        assert (status.signal, status.reason) == (signal.SIGTERM, Reason.STOPPED)
        assert marked(placement.name) == []

    def test_stop_lets_the_command_end_in_its_own_way(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "trap 'echo saved; exit 7' TERM; touch here; while :; do sleep 0.05; done")
        driver.start(placement)
        self.wait_for_file(placement, "here")
        driver.stop(placement)
        status = finished(driver, placement)
        assert isinstance(status, Exited)
        assert (status.exit_code, status.reason) == (7, Reason.STOPPED)
        assert b"saved" in (placement / "log").read_bytes()

    def test_what_outlives_the_command_is_ended_too(self, driver: Driver, place: Place) -> None:
        placement = place(
            "sh", "-c", f'python3 -c "{DAEMON}"; while ! test -e daemon; do sleep 0.01; done', grace_seconds=0.2
        )
        assert self.run(driver, placement).exit_code == 0
        assert marked(placement.name) == []

    def test_stopped_before_the_start_it_never_starts(self, driver: Driver, place: Place) -> None:
        placement = place("touch", "here")
        driver.stop(placement)
        status = self.run(driver, placement)
        assert status.reason == Reason.NOT_STARTED
        assert not (placement / "work" / "here").exists()

    def test_stopping_the_unknown_is_success(self, driver: Driver, tmp_path: Path) -> None:
        driver.stop(tmp_path / "never-heard-of")

    def test_it_ends_when_its_validity_ends(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "touch here; exec sleep 600", valid_seconds=3)
        driver.start(placement)

        def renewed_until_it_runs() -> bool:
            renew(placement, boot_time())
            return (placement / "work" / "here").exists()

        wait_until(renewed_until_it_runs, within=60)
        status = finished(driver, placement)
        assert isinstance(status, Exited)
        assert (status.signal, status.reason) == (signal.SIGTERM, Reason.EXPIRED)

    def test_a_renewal_that_came_too_late_starts_nothing(self, driver: Driver, place: Place) -> None:
        placement = place("touch", "here", valid_seconds=1)
        renew(placement, boot_time() - 5)
        assert self.run(driver, placement).reason == Reason.NOT_STARTED
        assert not (placement / "work" / "here").exists()

    def test_renewed_it_runs_on(self, driver: Driver, place: Place) -> None:
        placement = place("sleep", "600", valid_seconds=2)
        driver.start(placement)
        begin = boot_time()

        def renewed_for_three_seconds() -> bool:
            renew(placement, boot_time())
            return isinstance(driver.status(placement), Running) and boot_time() > begin + 3

        wait_until(renewed_for_three_seconds, within=60)

    def test_a_killed_keeper_leaves_nothing_behind(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", f'python3 -c "{DAEMON}"; exec sleep 600')
        driver.start(placement)
        self.wait_for_file(placement, "daemon")
        os.kill(self.keeper(placement), signal.SIGKILL)
        status = finished(driver, placement)
        assert isinstance(status, Lost) and "keeper" in status.problem
        assert marked(placement.name) == []

    def test_usage_is_sampled(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "while :; do :; done")
        driver.start(placement)
        samples = placement / "usage.jsonl"
        wait_until(lambda: samples.exists() and samples.read_text().count("\n"))
        assert '"cpu_percent": ' in samples.read_text()
