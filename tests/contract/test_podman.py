"""The Podman driver on a real Podman: the contract of all drivers, and what is a container's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import Driver, Exited, NotStarted, Reason, records
from millpond.agent.drivers.choose import AgentMachine
from millpond.agent.drivers.podman import PodmanDriver, PodmanOptions
from millpond.agent.drivers.podman.commands import Podman
from millpond.agent.isolation import Accounts, Isolation
from millpond.agent.spec import Mount, read_spec
from millpond.model.job import RankPlace
from millpond.testing.agents import changed_spec
from millpond.testing.drivers import DriverContract, Place, looking
from millpond.testing.mpi import MpiContract
from millpond.testing.podman import WITH_PYTHON, WITHOUT_PYTHON, TestPodman, a_podman, why_no_podman
from millpond.testing.slow_engines import keeper_in_the_long_run
from millpond.testing.waiting import wait_until
from millpond.wire.observed import NodeFacts

pytestmark = pytest.mark.xdist_group("podman")

NODE = NodeFacts(name="here", cpus=2, memory_bytes=4 * 10**9, gpus=2, declared=True)
Opened = Callable[..., PodmanDriver]


@pytest.fixture(scope="module")
def podman() -> Iterator[TestPodman]:
    problem = why_no_podman()
    if problem:
        pytest.skip(problem)
    with a_podman() as made:
        yield made


@pytest.fixture
def opened(podman: TestPodman, tmp_path: Path) -> Opened:
    def open_with(isolation: Isolation | None = None, **options: Any) -> PodmanDriver:
        chosen = PodmanOptions(podman=podman.arguments, **options)
        return PodmanDriver(AgentMachine(NODE, tmp_path, isolation or Isolation()), chosen, Podman(chosen))

    return open_with


@pytest.fixture
def driver(opened: Opened) -> Iterator[PodmanDriver]:
    made = opened()
    with looking(made):
        yield made


def ask_for(placement: Path, **wanted: Any) -> Path:
    spec = read_spec(placement)
    assert spec is not None
    changed_spec(spec, **wanted).write(placement)
    return placement


@keeper_in_the_long_run
class TestPodmanDriver(DriverContract):
    image = WITH_PYTHON

    def test_a_command_that_does_not_exist(self, driver: Driver, place: Place) -> None:
        status = self.run(driver, place("no-such-command-anywhere"))
        assert (status.exit_code, status.reason) == (127, Reason.NOT_STARTED)
        assert status.problem == "Command not found in the image: 'no-such-command-anywhere'."

    # What is a container's own.

    def test_ranks_are_refused_and_never_run_outside_of_the_image(self, driver: Driver, place: Place) -> None:
        assert not driver.capabilities().gangs
        placement = place("sh", "-c", "touch escaped", ranks=(RankPlace("here"), RankPlace("here")))
        with pytest.raises(OSError, match="distributed"):
            driver.start(placement)
        assert isinstance(driver.status(placement), NotStarted)
        assert not (placement / "work" / "escaped").exists()

    def test_an_image_without_python(self, driver: Driver, place: Place) -> None:
        placement = ask_for(place("sh", "-c", "echo $MILL_PLACEMENT; exit 4"), image=WITHOUT_PYTHON)
        assert self.run(driver, placement).exit_code == 4
        assert (placement / "log").read_text() == f"{placement.name}\n"
        assert (records.image_digest(placement) or "").startswith("sha256:")

    def test_a_command_beside_it_runs_in_its_container(self, driver: PodmanDriver, place: Place) -> None:
        placement = ask_for(place("sh", "-c", "echo here > /tmp/mark; exec sleep 600"), image=WITHOUT_PYTHON)
        driver.start(placement)
        beside = [*driver.enter(placement, ["sh", "-c", "cat /tmp/mark; echo $MILL_PLACEMENT; exit 3"], tty=False)]

        def seen() -> tuple[int, str]:
            done = subprocess.run(beside, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

        wait_until(lambda: seen() == (3, f"here\n{placement.name}\n"), what="the command beside the job")
        driver.stop(placement)
        wait_until(lambda: isinstance(driver.status(placement), Exited), what="its end")

    def test_a_job_without_an_image_is_a_process(self, driver: Driver, place: Place) -> None:
        placement = place("readlink", "/proc/self/ns/mnt")
        spec = read_spec(placement)
        assert spec is not None
        ask_for(placement, image=None, env={**spec.env, "PATH": os.environ["PATH"]})
        assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text().strip() == str(Path("/proc/self/ns/mnt").readlink())

    def test_a_network_of_its_own_cannot_serve_and_says_what_to_do(self, opened: Opened) -> None:
        assert opened().capabilities().services and opened().capabilities().routers
        apart = opened(network="none").capabilities()
        assert not apart.services and not apart.routers and "network=host" in apart.serving_problem

    def test_inputs_are_shown_and_cannot_be_changed(self, driver: Driver, place: Place, tmp_path: Path) -> None:
        (tmp_path / "commit").mkdir()
        (tmp_path / "commit" / "a.txt").write_text("content")
        placement = ask_for(
            place("sh", "-c", "cat /data/digits/a.txt; touch /data/digits/b && echo written; touch mine"),
            inputs=(Mount(str(tmp_path / "commit"), "/data/digits"),),
        )
        assert self.run(driver, placement).exit_code == 0
        log = (placement / "log").read_text()
        assert log.startswith("content") and "written" not in log
        assert (placement / "work" / "mine").exists() and not (tmp_path / "commit" / "b").exists()

    def test_it_sees_nothing_else_of_the_machine(self, driver: Driver, place: Place, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("of another project")
        assert self.run(driver, place("cat", str(tmp_path / "secret"))).exit_code == 1

    def test_it_runs_under_the_account_of_its_project(self, opened: Opened, place: Place, tmp_path: Path) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can give jobs accounts of their own")
        driver = opened(Isolation(accounts=Accounts(70000, 79999), views=True))
        placement = place("sh", "-c", "id -u; id -G; touch mine; echo $HOME; id -un; echo $USER; echo ~mill-p")
        ask_for(placement, account=3, accounts=(3, 5))
        with looking(driver):
            assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text() == (
            f"70003\n70003 70005\n{placement}/home\nmill-p\nmill-p\n{placement}/home\n"
        )
        assert (placement / "work" / "mine").stat().st_uid == 70003

    def test_memory_beyond_what_was_given(self, driver: Driver, place: Place) -> None:
        placement = ask_for(place("python3", "-c", "bytearray(300 << 20)"), memory_bytes=10**8)
        status = self.run(driver, placement)
        assert (status.signal, status.reason) == (signal.SIGKILL, Reason.OUT_OF_MEMORY)
        assert "memory limit of 100.0 MB" in (status.problem or "")

    def test_killed_by_itself_is_not_out_of_memory(self, driver: Driver, place: Place) -> None:
        placement = ask_for(place("sh", "-c", "kill -KILL $$"), memory_bytes=100 << 20)
        status = self.run(driver, placement)
        assert (status.signal, status.reason) == (signal.SIGKILL, None)

    def test_variables_of_several_lines(self, driver: Driver, place: Place) -> None:
        placement = place("sh", "-c", 'echo "$SAID|$ONE"')
        spec = read_spec(placement)
        assert spec is not None
        ask_for(placement, env={**spec.env, "SAID": "two\nlines", "ONE": " spaces = kept "})
        assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text() == "two\nlines| spaces = kept \n"

    def test_an_image_that_is_not_there(self, opened: Opened, place: Place) -> None:
        placement = ask_for(place("true"), image="localhost/nowhere:1")
        with pytest.raises(OSError, match="the agent does not pull images"):
            opened(pull="never").start(placement)

    @pytest.mark.long
    def test_an_image_that_no_registry_gives(self, opened: Opened, place: Place) -> None:
        """Podman tries several times."""
        placement = ask_for(place("true"), image="localhost/nowhere:1")
        with pytest.raises(OSError, match=r"cannot pull the image localhost/nowhere:1: .*refused"):
            opened().start(placement)

    def test_forgotten_nothing_is_left_of_it(self, podman: TestPodman, driver: Driver, place: Place) -> None:
        placement = ask_for(place("true"), memory_bytes=100 << 20)
        self.run(driver, placement)
        assert f"mill-{placement.name}" in podman.run("ps", "-a", "--format", "{{.Names}}")
        driver.forget(placement)
        assert f"mill-{placement.name}" not in podman.run("ps", "-a", "--format", "{{.Names}}")
        assert not list(Path("/sys/fs/cgroup").glob(f"*/millpond-podman/{placement.name}"))

    def test_a_container_that_nobody_knows_is_removed(self, podman: TestPodman, opened: Opened, place: Place) -> None:
        placement = place("sleep", "600")
        first = opened()
        with looking(first):
            first.start(placement)
            wait_until(lambda: "Up" in podman.run("ps", "--filter", f"name={placement.name}"), within=60)
        os.kill(self.keeper(placement), signal.SIGKILL)
        shutil.rmtree(placement)
        opened().look()
        assert placement.name not in podman.run("ps", "-a", "--format", "{{.Names}}")


class TestMpiInAContainer(MpiContract):
    image = WITH_PYTHON
