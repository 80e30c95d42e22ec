"""The contract of every driver as a test suite: subclass `DriverContract` and give it a `driver` fixture."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import Driver, EngineAway, Exited, Lost, NotStarted, Reason, Running, Status
from millpond.agent.keeper.clock import boot_time
from millpond.agent.keeper.files import read_json
from millpond.agent.keeper.processes import all_processes, marked
from millpond.agent.prepare import CHECKPOINT, WRITABLE
from millpond.agent.spec import Mount, read_spec, renew
from millpond.agent.threads import in_thread
from millpond.testing.agents import a_spec
from millpond.testing.hanging_mount import hanging_mount, why_no_mount
from millpond.testing.job_streams import Beside
from millpond.testing.waiting import wait_until

Place = Callable[..., Path]

# Forks twice, starts a session of its own and ignores SIGTERM: the hardest to find and to end.
DAEMON = "import os,signal,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n\
signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('daemon','w').write('here')\ntime.sleep(600)"

# Lives on below a shell, in a session of its own, with no variable that tells whose it is, and ignores SIGTERM. While
# it is alive it holds the lock of the file it is given.
LOCKER = "import fcntl,os,signal,sys,time\nif os.fork(): time.sleep(600)\nos.setsid()\n\
signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfcntl.flock(file := open(sys.argv[1]), fcntl.LOCK_EX)\ntime.sleep(600)"


def is_locked(path: Path) -> bool:
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


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


class PlacesJobs:
    """What tests of drivers share: placements, made and ended, in a container of `image` where there is one."""

    image: str | None = None

    @pytest.fixture
    def place(self, tmp_path: Path, driver: Driver) -> Iterator[Place]:
        """Makes prepared placements; what still runs at the end of a test is stopped, and nothing may be left."""
        made: list[Path] = []

        def make(*words: str, **fields: Any) -> Path:
            command = fields.pop("command", words)
            root: Path = fields.pop("root", tmp_path)
            placement = root / f"p-{secrets.token_hex(6)}"  # engines remember names
            work = placement / "work"
            for name in WRITABLE:
                (placement / name).mkdir(parents=True)
            told = {"MILL_PLACEMENT": placement.name, "MILL_CHECKPOINT": str(placement / CHECKPOINT)}
            env = told | ({} if self.image else {"PATH": os.environ["PATH"]})
            defaults: dict[str, Any] = {
                "valid_seconds": 600,
                "grace_seconds": 5,
                "env": env,
                "image": self.image,
                "account": 1,
            }
            a_spec(command, placement=placement.name, directory=str(work), **defaults | fields).write(placement)
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


class DriverContract(PlacesJobs):
    """What `Driver` promises, tried on real commands."""

    # The engine sees placements wherever they lie.
    sees_any_path = True

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
        assert status.problem == "Command not found: 'no-such-command-anywhere'."
        assert b"Command not found" in (placement / "log").read_bytes()

    def test_a_file_that_may_not_be_executed(self, driver: Driver, place: Place) -> None:
        placement = place("./plain")
        (placement / "work" / "plain").write_text("text")
        status = self.run(driver, placement)
        assert status.exit_code == 126 and "is not executable" in (status.problem or "")

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

    def test_it_goes_on_from_its_checkpoint_and_saves_the_next_one_when_it_is_stopped(
        self, driver: Driver, place: Place
    ) -> None:
        script = (
            'cat "$MILL_CHECKPOINT/state"; trap \'echo 2 > "$MILL_CHECKPOINT/state"; exit 7\' TERM; touch here; '
            "while :; do sleep 0.05; done"
        )
        placement = place("sh", "-c", script)
        state = placement / CHECKPOINT / "state"
        state.write_text("1\n")
        driver.start(placement)
        self.wait_for_file(placement, "here")
        driver.stop(placement)
        assert isinstance(finished(driver, placement), Exited)
        assert (placement / "log").read_bytes().startswith(b"1\n") and state.read_text() == "2\n"

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

    def lock(self, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
        """A file that is elsewhere than the placement, and what a job needs to lock it."""
        (tmp_path / "elsewhere").mkdir(mode=0o755)
        file = tmp_path / "elsewhere" / "lock"
        file.touch()
        seen_at = "/data/elsewhere" if self.image else str(file.parent)
        command = ("sh", "-c", f'env -i PATH="$PATH" python3 -c "{LOCKER}" {seen_at}/lock; echo')
        return file, {"command": command, "inputs": (Mount(str(file.parent), seen_at),)}

    def test_what_a_killed_keeper_leaves_ends_without_an_agent(
        self, driver: Driver, place: Place, tmp_path: Path
    ) -> None:
        if not self.sees_any_path:
            pytest.skip("jobs see the placement alone")
        lock, fields = self.lock(tmp_path)
        placement = place(**fields)
        driver.start(placement)
        wait_until(lambda: is_locked(lock), within=60, what="the job")
        os.kill(self.keeper(placement), signal.SIGKILL)
        wait_until(lambda: not is_locked(lock), within=60, what="the end of all that the command had started")

    def test_it_ends_in_time_though_its_files_hang(self, driver: Driver, place: Place, tmp_path: Path) -> None:
        problem = why_no_mount() if self.sees_any_path else "jobs see the placement alone"
        if problem:
            pytest.skip(problem)
        lock, fields = self.lock(tmp_path)
        with hanging_mount(tmp_path / "hanging") as mount:
            placement = place(root=mount.path, valid_seconds=8, grace_seconds=0.5, **fields)
            driver.start(placement)

            def renewed_until_it_runs() -> bool:
                renew(placement, boot_time())
                return is_locked(lock)

            wait_until(renewed_until_it_runs, within=60, what="the job")
            mount.hang()
            try:
                wait_until(lambda: not is_locked(lock), within=60, what="the end of the job")
            finally:
                mount.resume()
            status = finished(driver, placement)
            assert isinstance(status, Exited) and status.reason is Reason.EXPIRED
            driver.forget(placement)

    def test_usage_is_sampled(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", "while :; do :; done")
        driver.start(placement)
        samples = placement / "usage.jsonl"
        wait_until(lambda: samples.exists() and samples.read_text().count("\n"))
        assert '"cpu_percent": ' in samples.read_text()

    def test_people_reach_it_while_it_runs(self, driver: Driver, place: Place) -> None:
        """A command beside it with input and outputs apart, a terminal, a port of it, and none of another's."""
        wait_until(lambda: driver.capabilities().exec, within=60, what="the driver to know that jobs can be reached")
        env = {"MARK": "of the job", **({} if self.image else {"PATH": os.environ["PATH"]})}
        placement = place("python3", "-c", ECHO_SERVER)
        spec = read_spec(placement)
        assert spec is not None
        replace(spec, env={**spec.env, **env}).write(placement)
        driver.start(placement)
        self.wait_for_file(placement, "port")
        port = int((placement / "work" / "port").read_text())
        asyncio.run(_reach(driver, placement, port))


# Sends back what it gets, until that ends; says where, all at once.
ECHO_SERVER = """
import os, socket, threading
server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename("port.new", "port")
def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)
    connection.sendall(b"<end>")
    connection.close()
while True:
    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
"""

# Some engines tell the size of a terminal only after its command has begun.
NINETY_WIDE = """
import os, time
while tuple(os.get_terminal_size(0)) != (90, 30):
    time.sleep(0.05)
print("a terminal")
"""


async def _reach(driver: Driver, placement: Path, port: int) -> None:
    beside = Beside(driver, placement)
    command = ["sh", "-c", 'cat; pwd; echo "$MARK" >&2; exit 7']
    said = await beside.run(kind="exec", command=command, sent=[b"\x00typed\n", b"\x00"])
    assert said.texts == [{"opened": True}, {"exit": 7}]
    assert said.of(1) == f"typed\n{placement}/work\n".encode()
    assert said.of(2) == b"of the job\n"
    said = await beside.run(kind="exec", command=["python3", "-c", NINETY_WIDE], tty=True, columns=90, rows=30)
    assert (said.texts[-1], said.of(1).strip()) == ({"exit": 0}, b"a terminal")
    payload = os.urandom(300_000)
    said = await beside.run(kind="port", port=port, sent=[payload, b""])
    assert b"".join(said.pieces) == payload + b"<end>"
    with socket.create_server(("127.0.0.1", 0)) as another:
        said = await beside.run(kind="port", port=another.getsockname()[1])
    assert "No process of the job listens on port" in said.texts[0]["problem"]["detail"]
    await _ends_with_its_stream(beside, placement)


async def _ends_with_its_stream(beside: Beside, placement: Path) -> None:
    """What runs beside a job is gone when the person is."""
    seconds = str(600 + int(placement.name[-5:], 16))  # like no other test's
    with beside.opened(kind="exec", command=["sh", "-c", f"touch beside; exec sleep {seconds}"]) as stream:
        file = placement / "work" / "beside"
        await in_thread(lambda: wait_until(file.exists, within=60, what="the command beside it"))
        stream.leave()
        await asyncio.wait_for(stream.over.wait(), 60)
    gone = [b"sleep", seconds.encode(), b""]
    await in_thread(lambda: wait_until(lambda: not _running(gone), within=60, what="the end of the command beside it"))


def _running(command: list[bytes]) -> bool:
    def words(pid: int) -> list[bytes]:
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return []

    return any(words(process.pid) == command for process in all_processes())
