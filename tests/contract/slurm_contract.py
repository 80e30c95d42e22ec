"""What the Slurm driver promises beyond the contract of all drivers, on whatever Slurm the module has as `slurm`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from millpond.agent.drivers import EngineAway, Exited, NotStarted, Pending, Reason, Running
from millpond.agent.drivers.slurm import SlurmDriver, SlurmOptions
from millpond.agent.drivers.slurm.driver import RECORD
from millpond.agent.isolation import Accounts, Isolation
from millpond.agent.spec import read_spec
from millpond.testing.agents import changed_spec
from millpond.testing.drivers import Place, finished, looking
from millpond.testing.gangs import PROGRAM, RANKS, SIZE, GangContract
from millpond.testing.mpi import MpiContract
from millpond.testing.slurm import Slurm
from millpond.testing.waiting import wait_until

Opened = Callable[..., SlurmDriver]


def ask_for(placement: Path, **wanted: Any) -> Path:
    spec = read_spec(placement)
    assert spec is not None
    changed_spec(spec, **wanted).write(placement)
    return placement


def job_of(slurm: Slurm, placement: Path) -> str:
    return slurm.run("squeue", "-h", "-t", "all", "--name", f"mill-{placement.name}", "-o", "%i").split()[-1]


class SlurmContract(GangContract):
    @pytest.fixture
    def opened(self, slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
        monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
        quick = SlurmOptions(look_seconds=0.1, settle_seconds=0.2)

        def open_with(isolation: Isolation | None = None, **options: Any) -> SlurmDriver:
            return SlurmDriver(tmp_path, quick.model_copy(update=options), isolation=isolation)

        return open_with

    @pytest.fixture
    def driver(self, opened: Opened) -> Iterator[SlurmDriver]:
        made = opened()
        with looking(made):
            yield made

    def test_ranks_have_the_gpus_that_slurm_gave_each_of_them(self, driver: SlurmDriver, place: Place) -> None:
        script = 'echo "$CUDA_VISIBLE_DEVICES $LOCAL_RANK $SLURM_PROCID"'
        placement = ask_for(place("sh", "-c", script, ranks=RANKS[:2]), gpu_hundredths=100, cpu=1)
        assert self.run(driver, placement).exit_code == 0
        said = [self.log_of(placement, rank).split() for rank in range(2)]
        assert sorted(gpu for gpu, _, _ in said) == ["0", "1"] or [gpu for gpu, _, _ in said] == ["0", "0"]
        assert [line[1:] for line in said] == [["0", "0"], ["1", "1"]]

    def test_more_ranks_than_one_node_has_room_for(self, driver: SlurmDriver, place: Place) -> None:
        placement = place("python3", "-c", PROGRAM, ranks=RANKS, cpu=2)
        assert self.run(driver, placement).exit_code == 0
        environments = [self.environment_of(placement, rank) for rank in range(SIZE)]
        assert {env["GROUP_WORLD_SIZE"] for env in environments} == {"2"}
        assert [env["LOCAL_RANK"] for env in environments] in (["0", "1", "0"], ["0", "0", "1"])

    def test_nodes_are_told_with_what_they_have(self, slurm: Slurm, driver: SlurmDriver) -> None:
        gpu, plain = wait_until(driver.nodes)
        assert (gpu.name, gpu.cpus, gpu.memory_bytes, gpu.gpus, gpu.gpu_model) == (
            slurm.gpu_node, 4, 4000 << 20, 2, "a100",
        )  # fmt: skip
        assert gpu.labels == {"slurm.partition": "main", "slurm.features": "fast"}
        assert (plain.gpus, plain.labels["slurm.partition"]) == (0, "main,short")
        assert driver.capabilities().limits_enforced == slurm.cgroups

    def test_a_job_has_the_gpus_that_slurm_gave_it(self, driver: SlurmDriver, place: Place) -> None:
        script = 'echo "$CUDA_VISIBLE_DEVICES $SLURM_CPUS_PER_TASK $MILL_PLACEMENT"'
        placement = ask_for(place("sh", "-c", script), gpu_hundredths=200, cpu=2, memory_bytes=100 << 20)
        assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text() == f"0,1 2 {placement.name}\n"
        without = place("sh", "-c", 'echo "<$CUDA_VISIBLE_DEVICES>"')
        assert self.run(driver, without).exit_code == 0
        assert (without / "log").read_text() == "<>\n"

    def test_a_job_chooses_its_partition(self, slurm: Slurm, driver: SlurmDriver, place: Place) -> None:
        placement = place("sh", "-c", 'echo "$SLURM_JOB_PARTITION"', options={"partition": "short"})
        assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text() == "short\n"
        other = place("true", options={"partition": "night"})
        with pytest.raises(OSError, match="partition"):
            driver.start(other)

    def test_what_waits_says_why_and_is_taken_back(self, driver: SlurmDriver, place: Place) -> None:
        first, second = (ask_for(place("sleep", "600"), gpu_hundredths=200) for _ in range(2))
        driver.start(first)
        wait_until(lambda: isinstance(driver.status(first), Running), within=60)
        driver.start(second)

        def reason() -> str:
            status = driver.status(second)
            return status.why if isinstance(status, Pending) and "(Resources)" in status.why else ""

        assert "waits for free resources" in wait_until(reason, within=60, what="the reason")
        driver.stop(second)
        status = finished(driver, second)
        assert isinstance(status, Exited) and (status.reason, status.problem) == (Reason.NOT_STARTED, None)

    def test_a_service_is_reached_at_the_address_of_its_node(self, driver: SlurmDriver, place: Place) -> None:
        able = driver.capabilities()
        assert able.services and not able.routers and able.serving_problem
        placement = place("sleep", "600")
        assert driver.serving_host(placement) is None
        driver.start(placement)
        assert wait_until(lambda: driver.serving_host(placement), within=60) == "127.0.0.1", "NodeAddr of slurm.conf"
        driver.stop(placement)
        finished(driver, placement)

    def test_what_slurm_cannot_give_is_refused_in_its_words(self, driver: SlurmDriver, place: Place) -> None:
        with pytest.raises(OSError, match="Requested node configuration is not available") as refused:
            driver.start(ask_for(place("true"), gpu_hundredths=900))
        assert not isinstance(refused.value, EngineAway)
        with pytest.raises(OSError, match="whole GPUs"):
            driver.start(ask_for(place("true"), gpu_hundredths=50))

    def test_init_lines_run_before_the_command(self, opened: Opened, place: Place, tmp_path: Path) -> None:
        (tmp_path / "site").write_text('export SITE="of the site"\nPATH="/opt/site:$PATH"')
        driver = opened(init_file=tmp_path / "site", init=("export TWICE=$SITE$SITE",))
        placement = place("sh", "-c", 'echo "$TWICE ${PATH%%:*}"')
        with looking(driver):
            assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text() == "of the siteof the site /opt/site\n"

    def test_an_init_line_that_fails_is_named(self, opened: Opened, place: Place) -> None:
        driver = opened(init=("echo no such module >&2; false",))
        with looking(driver):
            status = self.run(driver, place("true"))
        assert status.reason == Reason.NOT_STARTED
        assert "An init line of the site failed" in (status.problem or "")

    def test_it_runs_under_the_account_of_its_project(self, opened: Opened, place: Place) -> None:
        driver = opened(Isolation(accounts=Accounts(70000, 79999), views=True))
        placement = ask_for(place("sh", "-c", "id -u; touch mine; echo $HOME"), account=3, accounts=(3,))
        with looking(driver):
            assert self.run(driver, placement).exit_code == 0
        assert (placement / "log").read_text() == f"70003\n{placement}/home\n"
        assert (placement / "work" / "mine").stat().st_uid == 70003
        assert not driver.capabilities().shared_trust

    def test_a_crash_between_giving_it_and_remembering_that(self, opened: Opened, place: Place) -> None:
        placement = place("sh", "-c", "echo started >> times; exec sleep 600")
        with looking(first := opened()):
            first.start(placement)
            self.wait_for_file(placement, "times")
        (placement / RECORD).unlink()
        second = opened()
        assert second.status(placement) == NotStarted()
        second.start(placement)
        with looking(second):
            wait_until(lambda: isinstance(second.status(placement), Running), within=60)
        assert (placement / "work" / "times").read_text() == "started\n"

    def test_memory_beyond_what_was_given(self, slurm: Slurm, driver: SlurmDriver, place: Place) -> None:
        if not slurm.cgroups:
            pytest.skip("this Slurm does not limit memory: there are no cgroups of the first version here")
        placement = ask_for(place("python3", "-c", "bytearray(300 << 20)"), memory_bytes=100 << 20)
        status = self.run(driver, placement)
        assert (status.signal, status.reason) == (signal.SIGKILL, Reason.OUT_OF_MEMORY)
        assert "memory limit" in (status.problem or "")

    def test_memory_of_a_rank_beyond_what_was_given(self, slurm: Slurm, driver: SlurmDriver, place: Place) -> None:
        if not slurm.cgroups:
            pytest.skip("this Slurm does not limit memory: there are no cgroups of the first version here")
        program = "import os; bytearray(300 << 20 if os.environ['RANK'] == '1' else 1)"
        placement = ask_for(place("python3", "-c", program, ranks=RANKS[:2]), memory_bytes=100 << 20)
        status = self.run(driver, placement)
        assert (status.signal, status.rank, status.reason) == (signal.SIGKILL, 1, Reason.OUT_OF_MEMORY)
        assert "memory limit" in (status.problem or "")

    def test_cancelled_by_somebody_else(self, slurm: Slurm, driver: SlurmDriver, place: Place) -> None:
        placement = place("sh", "-c", "touch here; exec sleep 600")
        driver.start(placement)
        self.wait_for_file(placement, "here")
        slurm.run("scancel", job_of(slurm, placement))
        status = finished(driver, placement)
        assert isinstance(status, Exited)
        assert status.reason == Reason.CANCELLED and "cancelled in Slurm" in (status.problem or "")

    @pytest.mark.long
    def test_while_slurm_is_away_nothing_is_concluded(self, slurm: Slurm, driver: SlurmDriver, place: Place) -> None:
        runs, ends, waits = (
            place("sh", "-c", "touch here; exec sleep 600"),
            place("sh", "-c", "touch here; until test -e go; do sleep 0.05; done; exit 5"),
            place("true"),
        )
        for placement in (runs, ends):
            driver.start(placement)
            self.wait_for_file(placement, "here")
        slurm.stop_controller()
        try:
            with pytest.raises(EngineAway):
                driver.look()
            with pytest.raises(EngineAway):
                driver.start(waits)
            (ends / "work" / "go").touch()
            ended = finished(driver, ends)
            assert isinstance(ended, Exited) and ended.exit_code == 5
            assert isinstance(driver.status(runs), Running) and driver.status(waits) == NotStarted()
        finally:
            slurm.start_controller()
        assert self.run(driver, waits).exit_code == 0
        assert isinstance(driver.status(runs), Running)

    @pytest.mark.long
    def test_beyond_slurms_own_limit(self, opened: Opened, place: Place) -> None:
        """A minute is the shortest that Slurm knows."""
        driver = opened(time="0:01")
        with looking(driver):
            driver.start(placement := place("sleep", "600"))
            status = finished(driver, placement, within=240)
        assert isinstance(status, Exited)
        assert status.reason == Reason.TERMINATED and "exceeded its time limit" in (status.problem or "")

    def test_a_node_that_is_drained_stays_listed_and_says_why(self, slurm: Slurm, opened: Opened) -> None:
        driver = opened()
        driver.look()
        name = driver.nodes()[0].name
        assert driver.nodes()[0].closed is None
        slurm.run("scontrol", "update", f"nodename={name}", "state=drain", "reason=new disks")
        try:
            driver.look()
            node = next(one for one in driver.nodes() if one.name == name)
            assert node.closed is not None and "in Slurm by root (new disks)" in node.closed
        finally:
            slurm.run("scontrol", "update", f"nodename={name}", "state=resume")


class SlurmMpiContract(MpiContract):
    """MPI programs in an allocation, started by mpirun."""

    how: Literal["auto", "mpirun"] = "mpirun"

    @pytest.fixture
    def driver(self, slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmDriver]:
        monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
        made = SlurmDriver(tmp_path, SlurmOptions(look_seconds=0.1, settle_seconds=0.2, mpi=self.how))
        with looking(made):
            yield made
