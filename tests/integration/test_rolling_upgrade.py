"""The version before and this one on one database at a time: both serve, jobs run, and none is lost."""

from __future__ import annotations

import subprocess
import tarfile
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

import pytest

from millpond.client import jobs
from millpond.client.http import Api
from millpond.model.job_spec import JobSpec
from millpond.testing.postgres import Postgres
from millpond.testing.waiting import wait_until
from millpond.wire.jobs import JobCreate
from millpond.wire.people import Project, ProjectCreate
from tests.integration.several_servers import Installation, installation
from tests.integration.test_kill_one_of_several import agents, states

ROOT = Path(__file__).resolve().parents[2]
# What this release knows is what later servers must leave working.
RELEASE = "0.2.0"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The sources of the release."""
    commit = git("rev-list", "-1", f"--grep=^Release {RELEASE}$", "HEAD").decode().strip()
    if not commit:
        pytest.skip(f"the history here lacks release {RELEASE}")
    with tarfile.open(fileobj=BytesIO(git("archive", commit, "src"))) as archive:
        archive.extractall(tmp_path / RELEASE, filter="data")
    return tmp_path / RELEASE / "src"


def git(*arguments: str) -> bytes:
    """What git prints; nothing where the project is no clone."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False).stdout


@pytest.mark.long
def test_0_2_0_and_this_version_beside_each_other(
    postgres: Postgres, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.database() as url, installation(url, (tmp_path / "lake").as_uri(), tmp_path, started=False) as made:
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", str(sources))
            made.start(0, options=())
        submit(made, "before", 4)
        made.start(1)  # migrates while the other one runs
        with agents(made, 3) as counted:  # made by this version's code, on its schema
            submit(made, "beside", 8)
            with ExitStack() as stack:
                apis = [stack.enter_context(made.api_of(place)) for place in (0, 1)]
                assert [version(api) for api in apis] == ["0.2.0", "this one"]
                for number, api in enumerate(apis):
                    api.request("POST", "/projects", body=ProjectCreate(name=f"made-by-{number}"))
                for api in apis:
                    names = {project.name for project in api.items("/projects", Project)}
                    assert {"made-by-0", "made-by-1"} <= names
            made.kill(0)
            submit(made, "after", 4)
            made.start(0)
            submit(made, "both-new", 4)
            with made.api() as api:
                wait_until(lambda: states(api) == {"succeeded": 20}, within=120, what="all jobs to succeed")
        assert set(counted.begun.values()) == {1}
        assert len(counted.ended) == 20


def submit(made: Installation, name: str, count: int) -> None:
    with made.api() as api:
        for number in range(count):
            jobs.submit_job(api, "default", JobCreate(name=f"{name}-{number}", spec=JobSpec(command=["true"])))


def version(api: Api) -> str:
    """0.2.0 and this one tell it apart by what they know."""
    known = api.request("GET", "/session").headers
    return "this one" if "X-Mill-Request-Keys" in known else "0.2.0"
