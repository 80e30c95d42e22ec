"""`mill flow trigger` and `mill flow backfill`, and the same from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond import Flow
from millpond.errors import MillError
from millpond.model.ids import new_id
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill, server_here

TRIGGERS = """\
triggers:
  - {type: cron, cron: "0 3 * * 1", timezone: Europe/Berlin}
  - {type: webhook, name: retrain}
"""


def write(folder: Path, name: str, more: str = "") -> str:
    path = folder / f"{name}.yaml"
    path.write_text(f"""\
schema: millpond.flow/1
name: {name}
params: {{day: {{type: str, default: today}}, size: {{type: int, default: 1}}}}
steps:
  one: {{command: ["true"], params: {{day: "${{params.day}}", size: "${{params.size}}"}}}}
{more}""")
    return str(path)


@pytest.fixture
def mill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    with server_here(tmp_path / "server") as server:
        yield Mill(server, capsys, tmp_path)  # type: ignore[misc]


@pytest.fixture
def live(shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    return Mill(shared_up, capsys, tmp_path)


def test_triggers_on_the_command_line(mill: Mill, tmp_path: Path) -> None:
    mill.ok("flow", "save", write(tmp_path, "words", TRIGGERS))
    found = mill.ok("flow", "trigger", "list", "words", "--json").json["items"]
    assert [(one["position"], one["type"], one["enabled"]) for one in found] == [
        (1, "cron", True),
        (2, "webhook", True),
    ]
    assert "Schedule 0 3 * * 1 (Europe/Berlin)" in mill.ok("flow", "trigger", "list").out
    assert mill.ok("flow", "trigger", "disable", "words", "1", "--json").json["enabled"] is False
    assert mill.ok("flow", "trigger", "enable", "words", "1", "--json").json["enabled"] is True
    made = mill.ok("flow", "trigger", "rotate-secret", "words", "--json").json
    assert made["secret"] not in mill.ok("flow", "trigger", "list", "--json").out
    fired = mill.ok("flow", "trigger", "fire", "words", "retrain", "--set", "size=3", "--json").json
    assert (fired["written"], fired["state"]) == ("words#1", "fired")
    told = mill.ok("flow", "trigger", "history", "words", "2", "--json").json["items"]
    assert [(one["written"], one["manual"]) for one in told] == [("words#1", True)]
    assert mill("flow", "trigger", "fire", "words").code == 2  # which of the two?
    assert "no trigger 'nothing'" in mill("flow", "trigger", "fire", "words", "nothing").err
    assert "No flow 'nothing'" in mill("flow", "trigger", "list", "nothing").err
    assert "Only webhooks" in mill("flow", "trigger", "rotate-secret", "words", "1").err


def test_a_bad_schedule_is_shown_at_its_line(mill: Mill, tmp_path: Path) -> None:
    path = write(tmp_path, "words", 'triggers: [{type: cron, cron: "0 3 * * 9", timezone: Mars/Base}]\n')
    shown = mill("flow", "validate", path, "--local", "--json").json
    assert [(one["line"], one["message"]) for one in shown] == [(6, "'Mars/Base' is not a known time zone.")]


def test_backfill_shows_its_plan_and_asks(mill: Mill, tmp_path: Path) -> None:
    mill.ok("flow", "save", write(tmp_path, "words"))
    days = ("flow", "backfill", "words", "--param", "day=2026-01-30..2026-02-02")
    plan = mill.ok(*days, "--dry-run", "--json").json
    assert [one["params"]["day"] for one in plan["parts"]] == ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"]
    assert mill.ok("flow", "backfills", "list", "--json").json == {"items": []}
    refused = mill(*days)
    assert "Start 4 runs of words@1?" in refused.err
    made = mill.ok(*days, "--param", "size=1..2", "--yes", "--json").json
    assert (made["state"], len(made["parts"])) == ("running", 8)
    assert mill.ok("flow", "backfills", "show", made["id"], "--json").json["id"] == made["id"]
    assert mill.ok("flow", "backfills", "cancel", made["id"], "--json").json["counts"] == {"skipped": 8}
    assert mill("flow", "backfill", "words").code == 2
    assert "no parameter 'date'" in mill("flow", "backfill", "words", "--param", "date=1..2").err


def test_a_backfill_runs_and_is_not_run_twice(live: Mill, tmp_path: Path) -> None:
    name = f"fill-{new_id(5)}"
    live.ok("flow", "save", write(tmp_path, name))
    asked = ("flow", "backfill", name, "--param", "size=1..3", "--skip-done", "--yes", "--wait", "--json")
    first = live.ok(*asked).json
    assert (first["state"], first["counts"]) == ("succeeded", {"succeeded": 3})
    assert live.ok(*asked).json["counts"] == {"skipped": 3}
    runs = live.ok("flow", "runs", name, "--json").json["items"]
    assert {run["trigger"]["backfill"] for run in runs} == {first["id"]}
    assert len(runs) == 3


def test_commits_and_ends_of_flows_start_runs_by_themselves(live: Mill, tmp_path: Path) -> None:
    mark = new_id(5)
    first, second, data = f"first-{mark}", f"second-{mark}", f"data-{mark}"
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.txt").write_text("1")
    live.ok("data", "init", data, cwd=folder)
    live.ok("data", "sync", cwd=folder)
    live.ok("flow", "save", write(tmp_path, first, f"triggers: [{{type: commit, ref: {data}@main}}]\n"))
    live.ok("flow", "save", write(tmp_path, second, f"triggers: [{{type: flow, flow: {first}}}]\n"))
    (folder / "a.txt").write_text("2")
    live.ok("data", "sync", cwd=folder)
    wait_until(lambda: _states(live, second) == ["succeeded"])
    run = live.ok("flow", "show", f"{second}#1", "--json").json
    assert (run["trigger"]["type"], run["trigger"]["by"]) == ("flow", f"{first}#1")
    head = live.ok("data", "commits", data, "--json").json["items"][0]
    assert live.ok("flow", "show", f"{first}#1", "--json").json["trigger"]["commit"] == head["id"]


def _states(mill: Mill, flow: str) -> list[str]:
    return [run["state"] for run in mill.ok("flow", "runs", flow, "--json").json["items"]]


def test_the_same_from_python(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(mill.server.home).items():
        monkeypatch.setenv(name, value)
    flow = Flow.save(write(tmp_path, "words", TRIGGERS))
    assert [one.type for one in flow.triggers()] == ["cron", "webhook"]
    assert flow.disable_trigger(1).enabled is False
    assert flow.enable_trigger(1).enabled is True
    assert len(flow.rotate_secret("retrain")) > 30
    assert flow.fire_trigger(2, {"size": 2}).written == "words#1"
    assert [one.state for one in flow.firings("retrain")] == ["fired"]
    plan = flow.plan_backfill({"size": [1, 2], "day": "a,b"})
    assert plan.counts == {"planned": 4}
    made = flow.backfill({"size": "1..2"})
    assert [one.id for one in flow.backfills()] == [made.id]
    with pytest.raises(MillError, match="no parameter 'sizes'"):
        flow.backfill({"sizes": "1..2"})
