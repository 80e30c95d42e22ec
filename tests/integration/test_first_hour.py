"""What a newcomer meets in the first hour: starting, declaring, being told what is wrong and what to do."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from millpond.app import preparing, reset_password, serve
from millpond.db import migrate
from millpond.db.engine import Database
from millpond.errors import BadRequest, MillError, SetupError
from millpond.services.events import EventHub
from millpond.settings import Settings
from millpond.testing.clock import FakeClock
from millpond.testing.up import MillUp, environment, mill_up, mill_up_command
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

DEAD = "http://127.0.0.1:9"
# A job that needs its server (which is local) and looks at what it was given.
REPORT = """
import os, millpond
millpond.log_metric("seen", 1.0, 0)
print("gpus", os.environ["CUDA_VISIBLE_DEVICES"])
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MillUp]:
    """Behind a proxy that answers nobody, and with two GPUs somebody declared."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(name, DEAD)
        with mill_up(tmp_path_factory.mktemp("first-hour") / "data", "--gpus", "2") as running:
            yield running


@pytest.fixture
def mill(up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(up, capfd, tmp_path)


def test_a_second_server_on_the_same_directory_names_the_first(up: MillUp, tmp_path: Path) -> None:
    command = mill_up_command(up.data_dir, "--port", "0")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(tmp_path), timeout=30)
    assert done.returncode == 1
    assert f"process {up.process.pid}" in done.stderr
    assert "--data-dir" in done.stderr


def test_a_dead_proxy_stops_neither_agent_nor_job_and_gpus_can_be_declared(mill: Mill, tmp_path: Path) -> None:
    """Everything here is at a local address: the agent's server, the lake, the job's server."""
    (tmp_path / "report.py").write_text(REPORT)
    done = mill("submit", "report", "-g", "1", "--follow", "--", "python", "report.py", http_proxy=DEAD)
    assert (done.code, done.out) == (0, "gpus 0\n"), done.err
    run = mill.ok("get", "report", "--json").json["run_id"]
    assert mill.ok("run", "show", run, "--json").json["metrics"] == {"seen": 1.0}
    assert "gpus=2" in mill.server.output


def test_a_dead_proxy_is_named_when_it_stands_in_the_way(mill: Mill) -> None:
    done = mill("whoami", "--server", "http://millpond.example", http_proxy=DEAD)
    assert done.code == 6
    assert "the proxy 127.0.0.1" in done.err


def test_more_gpus_than_there_are(mill: Mill) -> None:
    wait_until(lambda: any(compute["nodes"] for compute in mill.ok("compute", "list", "--json").json["items"]))
    done = mill("submit", "--no-code", "-g", "3", "--", "true")
    assert done.code == 5
    assert "2 GPUs" in done.err


def test_times_are_shown_with_their_offset(mill: Mill) -> None:
    moment = mill.ok("project", "list", "--json").json["items"][0]["created_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00", moment)


@pytest.mark.long
def test_doctor_names_what_the_server_lacks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with mill_up(tmp_path / "data", "--no-agent") as up:
        mill = Mill(up, capfd, tmp_path)
        lake = tmp_path / "data/lake"
        lake.rename(tmp_path / "elsewhere")
        lake.write_text("in the way")
        done = mill("doctor")
        assert done.code == 1
        wrong = {line.split("\t")[1]: line.split("\t")[3] for line in done.out.splitlines() if line.startswith("wrong")}
        assert wrong.keys() == {"lake", "agent", "volume"}
        assert all(wrong.values()), "each with what to do"
        lake.unlink()
        (tmp_path / "elsewhere").rename(lake)
        assert "wrong\tlake" not in mill("doctor").out


def test_older_data_directory_is_copied_aside_and_migrated(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with closing(Database(settings.database)) as db, db.write() as tx:
        migrate.upgrade(tx, migrate.REVISIONS[0])
    with preparing(settings, EventHub(), FakeClock()) as prepared:
        copy = prepared.database_copy
    assert copy is not None
    with closing(Database(f"sqlite:///{copy}")) as db:
        assert migrate.revision_of(db) == migrate.REVISIONS[0]
    with closing(Database(settings.database)) as db:
        assert migrate.revision_of(db) == migrate.HEAD


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"database_url": "postgresql://maria:secret@127.0.0.1:1/mill"}, SetupError, "postgresql.*cannot be used"),
        ({"database_url": "mysql://root@localhost/mill"}, BadRequest, "not the address of a database"),
        ({"database_url": "nonsense"}, BadRequest, "not the address of a database"),
        ({"lake_url": "ftp://somewhere"}, BadRequest, "is not a location for a lake"),
        ({"lake_url": "/proc/lake"}, SetupError, "Cannot use /proc/lake for the lake"),
        ({"host": "203.0.113.9"}, SetupError, "Cannot listen on 203.0.113.9"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, change: dict[str, str], error: type[MillError], words: str) -> None:
    with pytest.raises(error, match=words) as refused:
        serve(Settings(data_dir=tmp_path, port=0, **change), port_is_fixed=True, on_ready=pytest.fail)  # type: ignore[arg-type]
    assert refused.value.hint
    assert "secret" not in refused.value.message


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "millpond.db").write_text("a shopping list, and not a short one either")
    with pytest.raises(SetupError, match="file is not a database"):
        serve(Settings(data_dir=tmp_path, port=0), port_is_fixed=True, on_ready=pytest.fail)


def test_a_password_cannot_be_reset_where_there_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        reset_password(Settings(data_dir=tmp_path), "admin", "a new password")
    assert "--data-dir" in (refused.value.hint or "")
    assert list(tmp_path.iterdir()) == [], "asking makes no database"


@pytest.mark.long
def test_a_first_start_needs_no_home_that_can_be_written(tmp_path: Path) -> None:
    """Under systemd or in a container there may be none; the server is more important than a signed-in shell."""
    (tmp_path / "home").write_text("in the way")
    log = tmp_path / "log"
    with log.open("wb") as output:
        command = mill_up_command(tmp_path / "data", "--port", "0", "--no-agent")
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment(tmp_path / "home/none"))
    try:
        wait_until(lambda: "ready at" in log.read_text() or process.poll() is not None, within=60)
        assert "ready at" in log.read_text(), log.read_text()
    finally:
        process.terminate()
        process.wait(30)
