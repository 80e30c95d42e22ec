"""The waiting line and what-if by the command line, against a server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from millpond.db.engine import Database
from millpond.settings import Settings
from millpond.testing.builders_work import add_agent
from tests.integration.cli import Mill, ServerHere, server_here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("scheduling")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


@pytest.fixture
def _two_gpus(server: ServerHere) -> Iterator[None]:
    db = Database(Settings(data_dir=server.data_dir).database)
    add_agent(db, "dgx", now=datetime.now(UTC), gpus=2, cpus=16)
    yield
    db.close()


@pytest.mark.usefixtures("_two_gpus")
def test_the_waiting_line_and_what_would_shorten_it(mill: Mill, tmp_path: Path) -> None:
    assert "No jobs wait" in mill.ok("pending").err
    for name in ("first", "second", "third", "fourth"):
        mill.ok("submit", name, "--gpu", "2", "--timeout", "10m", "--", "true")
    line = mill.ok("pending", "-A", "--json").json["items"]
    assert [(one["position"], one["job"], one["gpus"], one["rule"]) for one in line] == [
        (1, "second", 2, "order"), (2, "third", 2, "order"), (3, "fourth", 2, "order"),
    ]  # fmt: skip
    assert mill.ok("pending", "--limit", "1").out.startswith("1\tdefault\tsecond\t")
    assert "1 of 3 jobs" in mill.ok("pending", "--limit", "1").err

    file = tmp_path / "more.yaml"
    file.write_text("nodes: [{count: 3, like: dgx}]\nduration: 10m\n")
    answer = mill.ok("plan", "--what-if", str(file), "--json").json
    assert (answer["now"]["jobs"], answer["then"]["jobs"]) == (4, 4)
    assert answer["now"]["mean_wait"] > 600 > answer["then"]["mean_wait"]
    assert answer["now"]["seconds"] == pytest.approx(2400, abs=5)
    assert "all\tmean wait\t" in mill.ok("plan", "--what-if", str(file)).out
    assert mill("plan", "--what-if", str(tmp_path / "none.yaml")).code == 2
