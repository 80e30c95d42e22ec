"""The Slurm driver on a real Slurm without accounting: the contract of all drivers, and what is Slurm's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.agent.drivers import Driver
from millpond.agent.drivers.choose import AgentMachine, open_driver
from millpond.agent.drivers.slurm import SlurmDriver
from millpond.errors import SetupError
from millpond.testing.drivers import Place
from millpond.testing.mpi import PROGRAM, SIZE
from millpond.testing.slow_engines import keeper_in_the_long_run
from millpond.testing.slurm import Slurm, running_slurm, why_no_slurm
from millpond.wire.observed import NodeFacts
from tests.contract.slurm_contract import SlurmContract, SlurmMpiContract, ask_for

pytestmark = pytest.mark.xdist_group("slurm")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    problem = why_no_slurm()
    if problem:
        pytest.skip(problem)
    with running_slurm() as running:
        yield running


@keeper_in_the_long_run
class TestSlurmDriver(SlurmContract):
    pass


class TestMpirunOnSlurm(SlurmMpiContract):
    def test_processes_on_two_nodes_are_one_world(self, driver: SlurmDriver, place: Place, packages: Path) -> None:
        placement = self.mpi_job(place, packages, "python3", "-c", PROGRAM)
        ask_for(placement, cpu=2)  # a node has four
        assert self.run(driver, placement).exit_code == 0
        assert len(self.lines(placement)) == SIZE


class TestSrunOnSlurm(SlurmMpiContract):
    """Two processes: more than this machine may have cores, Slurm's PMIx cannot start here."""

    how = "auto"
    size = 2

    @pytest.fixture(autouse=True)
    def needs_pmix(self, slurm: Slurm) -> None:
        problem = slurm.why_no_pmix()
        if problem:
            pytest.skip(problem)

    def test_without_mpirun_it_says_what_to_do(self, driver: Driver, place: Place, packages: Path) -> None:
        """It is not needed."""
        placement = self.with_env(self.mpi_job(place, packages, "true"), {"PATH": "/usr/bin:/bin"})
        assert self.run(driver, placement).exit_code == 0


def test_a_directory_that_nodes_do_not_see_is_told_at_the_start(
    slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    machine = AgentMachine(NodeFacts(name="login", cpus=1, memory_bytes=1), tmp_path / "state")
    # What the node would see: nothing of that name.
    hidden = {"sbatch": ["--wrap=true"]}
    with pytest.raises(SetupError, match="is not visible on the Slurm node"):
        open_driver("slurm", machine, {**hidden, "settle_seconds": ["0"]})
    assert open_driver("slurm", machine, {}).name == "slurm"
