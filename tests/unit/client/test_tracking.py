from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.client import run as run_module
from millpond.client import tracking
from millpond.client.credentials import save_token, spool_dir
from millpond.client.http import Api
from millpond.client.spool import BatchLines, Header, Spool, encode, read_all
from millpond.client.spool_sender import abandoned_spools, send_abandoned
from millpond.testing.waiting import wait_until
from tests.unit.client.fake_server import Answer, FakeServer, Received, problem
from tests.unit.client.run_server import DEADLINE, Runs


@pytest.fixture
def runs(server: FakeServer, home: Path) -> Iterator[Runs]:
    found = Runs()
    found.install(server)
    save_token(home, server.url, "mill_token")
    yield found
    millpond.finish()


@pytest.fixture(autouse=True)
def quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "EXIT_SECONDS", DEADLINE)


class Scalar:
    """Like a number of numpy or torch."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value

    def item(self) -> float:
        return self.value


def test_a_run_reports_and_ends(runs: Runs) -> None:
    run = millpond.init(project="vision", name="resnet", experiment="xray", params={"lr": 0.1}, tags={"team": "a"})
    millpond.log_params({"epochs": 3}, batch=Scalar(32.0))
    millpond.log_metric("loss", 0.5, step=1)
    millpond.log_metrics({"loss": Scalar(0.25), "accuracy": 1}, step=2)
    millpond.set_tags({"gpu": 0})
    millpond.finish()
    assert runs.created[run.id]["name"] == "resnet"
    assert runs.created[run.id]["experiment"] == "xray"
    assert runs.points("loss") == [(1, 0.5), (2, 0.25)]
    assert runs.points("accuracy") == [(2, 1.0)]
    assert runs.params() == {"lr": 0.1, "epochs": 3, "batch": 32.0}
    assert runs.tags() == {"team": "a", "gpu": "0"}
    assert runs.ended() == ["succeeded"]
    assert list(spool_dir().glob("*.jsonl")) == []


def test_a_parameter_changed_at_once_is_reported_with_both_values(runs: Runs) -> None:
    millpond.log_params({"lr": 0.1, "depth": 3})
    millpond.log_params({"lr": 0.1})
    millpond.log_param("lr", 0.2)
    millpond.finish()
    assert [batch["params"]["lr"] for batch in runs.batches.values() if "lr" in batch["params"]] == [0.1, 0.2]


def test_a_metric_whose_key_is_too_long_is_left_out_and_said(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    millpond.log_metrics({"k" * 251: 1, "loss": 2})
    millpond.finish()
    assert runs.points("loss") == [(0, 2.0)]
    assert "its key has more than 250 characters" in capsys.readouterr().err


def test_points_without_a_step_count_up(runs: Runs) -> None:
    for value in (3, 2, 1):
        millpond.log_metric("loss", value)
    millpond.finish()
    assert runs.points("loss") == [(0, 3.0), (1, 2.0), (2, 1.0)]


def test_what_is_no_number_is_left_out_and_what_is_no_finite_one_is_kept(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        millpond.log_metric("loss", "high")  # type: ignore[arg-type]
    millpond.log_metrics({"nan": float("nan"), "inf": float("inf")}, step=1)
    millpond.finish()
    assert runs.points("loss") == []
    assert runs.points("nan") == [(1, "NaN")]
    assert runs.points("inf") == [(1, "Infinity")]
    assert capsys.readouterr().err.count("'loss' was left out") == 1


def test_artifacts_are_at_the_server_when_the_call_returns(runs: Runs, tmp_path: Path) -> None:
    folder = tmp_path / "plots"
    folder.mkdir()
    (folder / "a b.png").write_bytes(b"one")
    report = tmp_path / "report.txt"
    report.write_text("first")
    millpond.log_artifact(report)
    assert runs.artifacts == {"report.txt": b"first"}
    millpond.log_artifact(folder)
    millpond.log_artifact(report, name="texts/report")
    millpond.log_artifacts(folder)
    millpond.log_artifacts(folder, "all")
    millpond.log_artifact(tmp_path / "absent")
    one = b"one"
    assert runs.artifacts == {
        "report.txt": b"first", "texts/report": b"first", "plots/a b.png": one, "a b.png": one, "all/a b.png": one,
    }  # fmt: skip


def test_artifacts_in_the_background_are_kept_as_they_were(runs: Runs, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("first")
    millpond.log_artifact(report, wait=False)
    report.write_text("second, after it was logged")
    millpond.finish()
    assert runs.artifacts == {"report.txt": b"first"}


def test_a_newer_artifact_does_not_overtake_an_older_one(
    runs: Runs, server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    run = millpond.init()
    runs.wait(lambda: run.id in runs.created)
    server.stop()
    model.write_text("while it was away")
    run.log_artifact(model)
    assert "is not reachable" in capsys.readouterr().err
    server.start()
    model.write_text("when it was back")
    run.log_artifact(model)
    runs.wait(lambda: runs.artifacts.get("model") == b"when it was back")
    millpond.finish()
    assert runs.artifacts == {"model": b"when it was back"}


def test_a_run_inside_a_run_leaves_the_outer_one_open(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    with millpond.init(name="outer") as outer:
        millpond.log_metric("outer", 1.0)
        with millpond.init(name="inner") as inner:
            millpond.log_metric("inner", 1.0)
            assert millpond.current_run() is inner
        assert millpond.current_run() is outer
        millpond.log_metric("outer", 2.0)
    said = capsys.readouterr().err
    assert f"inside run {outer.id}" in said and "left out" not in said
    assert runs.points("outer") == [(0, 1.0), (1, 2.0)]
    assert {key[0] for key, batch in runs.batches.items() if batch.get("ended")} == {outer.id, inner.id}
    assert millpond.current_run() is None


def test_running_a_cell_of_a_notebook_again_ends_the_run_before(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "in_notebook", lambda: True)
    monkeypatch.setattr(tracking, "show_link", lambda url, text: None)
    first = millpond.init(name="cell")
    second = millpond.init(name="cell")
    assert first.id != second.id
    assert millpond.current_run() is second
    assert runs.ended() == ["succeeded"]
    with millpond.init(name="block") as block, millpond.init(name="nested"):
        assert not block.is_finished


def test_what_comes_after_the_end_is_left_out_and_said_once(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = millpond.init()
    run.finish()
    for _ in range(3):
        run.log_metric("late", 1.0)
        run.log_artifact(__file__)
    run.finish()
    assert runs.points("late") == []
    assert capsys.readouterr().err.count("has ended") == 1


def test_a_block_that_raises_is_a_failed_run(runs: Runs) -> None:
    with pytest.raises(ZeroDivisionError), millpond.init():
        _ = 1 / 0
    assert runs.ended() == ["failed"]
    assert millpond.current_run() is None


def test_inside_a_job_the_jobs_run_is_meant_and_not_ended(
    runs: Runs, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILL_RUN_ID", "jobrun01")
    monkeypatch.setenv("MILL_SERVER", server.url)
    monkeypatch.setenv("MILL_TOKEN", "mill_placement")
    monkeypatch.setenv("MILL_PROJECT", "vision")
    millpond.log_metric("loss", 1.0)
    assert millpond.init(params={"a": 1}).id == "jobrun01"
    millpond.finish()
    assert runs.created == {}
    assert {key[0] for key in runs.batches} == {"jobrun01"}
    assert runs.params() == {"a": 1}
    assert runs.ended() == []
    sent = server.calls("POST", ".*/batch")
    assert {r.headers["authorization"] for r in sent} == {"Bearer mill_placement"}
    assert all(r.path.startswith("/projects/vision/runs/jobrun01/") for r in sent)


def test_inside_a_job_name_and_experiment_are_applied_and_another_project_is_said_to_be_ignored(
    runs: Runs, server: FakeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {"RUN_ID": "jobrun01", "SERVER": server.url, "TOKEN": "mill_placement", "PROJECT": "vision"}
    for name, value in variables.items():
        monkeypatch.setenv(f"MILL_{name}", value)
    with millpond.init(name="resnet", experiment="xray", project="other") as outer:
        with millpond.init(experiment="x-ray"):
            millpond.log_metric("inner", 1.0)
        outer.log_metric("outer", 1.0)
    said = capsys.readouterr().err
    assert "project='other' is ignored" in said and "left out" not in said
    told = [batch for batch in runs.batches.values() if "name" in batch or "experiment" in batch]
    assert told[0].get("name") == "resnet"
    assert told[-1]["experiment"] == "x-ray"
    assert runs.points("outer") == [(0, 1.0)]
    assert {key[0] for key in runs.batches} == {"jobrun01"}


def test_a_server_that_goes_away_and_comes_back_gets_everything_once_and_in_order(
    runs: Runs, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.client.reporter.RETRY_SECONDS", (0.05,))
    millpond.log_metric("loss", 0.0, step=0)
    runs.wait(lambda: len(runs.points("loss")) == 1)
    server.stop()
    for step in range(1, 2500):
        millpond.log_metric("loss", float(step), step=step)
    server.start()
    millpond.finish()
    assert runs.points("loss") == [(step, float(step)) for step in range(2500)]


def test_a_job_waits_at_its_end_for_a_server_that_restarts(
    runs: Runs, server: FakeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("millpond.client.reporter.RETRY_SECONDS", (0.05,))
    monkeypatch.setenv("MILL_RUN_ID", "jobrun01")
    millpond.log_metric("loss", 1.0, step=1)
    runs.wait(lambda: len(runs.points("loss")) == 1)
    server.stop()
    millpond.log_metric("loss", 0.5, step=2)
    with ThreadPoolExecutor() as pool:
        end = pool.submit(millpond.finish)
        wait_until(lambda: "is not reachable" in capsys.readouterr().err, what="a first try that fails")
        server.start()
        end.result(DEADLINE)
    assert runs.points("loss") == [(1, 1.0), (2, 0.5)]


def test_a_run_without_a_server_is_sent_by_the_next_one(
    runs: Runs, server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_module, "EXIT_SECONDS", 5.0)
    # Otherwise it may send what this test is about to send.
    monkeypatch.setattr(tracking, "_send_earlier", lambda target: None)
    server.stop()
    began = time.monotonic()
    with millpond.init(name="offline") as run:
        for step in range(10):
            run.log_metric("loss", 1.0, step)
        run.log_artifact(home / "credentials.json", "note")
    assert time.monotonic() - began < 5.0, "a refused connection must not use up the whole deadline"
    said = capsys.readouterr().err
    assert said.count("is not reachable") == 1
    assert "mill run upload" in said
    server.start()
    # The spool of a process that lives is its own: pretend that one has ended.
    monkeypatch.setattr("millpond.client.spool.Header.is_alive", lambda self, at: False)
    with Api(server.url, "mill_token") as api:
        assert send_abandoned(api, spool_dir()) == (1, [])
        assert send_abandoned(api, spool_dir()) == (0, [])
    assert run.id in runs.created
    assert len(runs.points("loss")) == 10
    assert runs.ended() == ["succeeded"]
    assert set(runs.artifacts) == {"note"}
    assert list(spool_dir().iterdir()) == []


def test_somebody_elses_server_does_not_get_the_run(runs: Runs, server: FakeServer, home: Path) -> None:
    server.stop()
    millpond.init().finish()
    assert len(list(spool_dir().glob("*.jsonl"))) == 1
    assert abandoned_spools(spool_dir(), "http://127.0.0.1:1") == []


def test_a_batch_the_server_refuses_does_not_hold_up_the_rest(
    runs: Runs, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse_bad(received: Received) -> Answer:
        if "bad" in (runs.read(received) or {})["params"]:
            return problem(422, "invalid", "That is no parameter.")
        return runs._batch(received)

    server.on("POST", "/projects/[^/]+/runs/([^/]+)/batch", refuse_bad)
    run = millpond.init()
    run.log_metric("loss", 2.0)
    run.log_params({"bad": object()})
    run.log_params({"good": 1})
    run.log_metric("loss", 1.0)
    run.finish()
    assert runs.points("loss") == [(0, 2.0), (1, 1.0)]
    assert runs.params() == {"good": 1}
    assert "That is no parameter." in capsys.readouterr().err


def test_a_server_of_an_older_version_gets_points_as_json(runs: Runs) -> None:
    runs.knows_json_only = True
    run = millpond.init()
    for value in (2.0, float("nan"), 1.0):
        run.log_metric("loss", value)
    run.finish()
    assert runs.points("loss") == [(0, 2.0), (1, "NaN"), (2, 1.0)]


def test_an_unusable_home_breaks_nothing(
    runs: Runs, tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    monkeypatch.setenv("MILL_HOME", str(blocked))
    monkeypatch.setenv("MILL_SERVER", server.url)
    monkeypatch.setenv("MILL_TOKEN", "mill_token")
    millpond.log_metric("loss", 1.0)
    millpond.finish()
    assert runs.points("loss") == [(0, 1.0)]


SCRIPT = """
import sys, time, millpond
run = millpond.init(name="killed")
for step in range(5000):
    millpond.log_metric("loss", float(step), step)
millpond.log_image("dot", [[[1.0, 0.0, 0.0]]], step=3)
print("written", flush=True)
time.sleep(60)
"""


def test_a_full_disk_loses_nothing_while_the_server_is_there(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = millpond.init(params={"a": 1})
    runs.wait(lambda: runs.params() == {"a": 1})

    def refuse(self: Spool, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Spool, "_append", refuse)
        for step in range(3):
            run.log_metric("loss", float(step))
        runs.wait(lambda: runs.points("loss") == [(0, 0.0), (1, 1.0), (2, 2.0)])
        run.log_image("dot", [[0.5]])
    run.log_metric("loss", 3.0)
    run.finish()
    assert sorted(runs.points("loss")) == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]
    said = capsys.readouterr().err
    assert said.count("No space left on device; they are kept in memory") == 1
    assert "the image 'dot' could not be kept" in said


def test_kill_9_loses_nothing_that_was_logged(runs: Runs, server: FakeServer) -> None:
    server.stop()
    script = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert script.stdout is not None
    assert script.stdout.readline() == b"written\n"
    script.send_signal(signal.SIGKILL)
    script.wait()
    script.stdout.close()
    # As if the kill had come in the middle of a line.
    (spool,) = spool_dir().glob("*.jsonl")
    with spool.open("ab") as file:
        file.write(b'["loss",9')
    server.start()

    def newest(_: Received) -> dict[str, Any]:
        """What is known when it is asked for: nothing, if the script's reports had not come by then."""
        return {"items": [runs.shape(run_id) for run_id in runs.created], "next": None}

    server.on("GET", "/runs", newest)
    resumed = millpond.init(name="killed", resume="auto")
    assert [resumed.id] == list(runs.created), "its reports are sent before it is looked for"
    assert runs.points("loss") == [(step, float(step)) for step in range(5000)]
    assert runs.artifacts["images/dot/3.png"].startswith(b"\x89PNG")
    assert runs.ended() == []
    resumed.finish()


def test_a_script_that_raises_ends_its_run_as_failed(runs: Runs) -> None:
    code = "import millpond\nmillpond.log_metric('loss', 1)\nraise RuntimeError('boom')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "boom" in done.stderr
    assert runs.ended() == ["failed"]
    assert runs.points("loss") == [(0, 1.0)]


def test_what_a_job_says_last_is_sent_when_it_just_ends(runs: Runs, server: FakeServer) -> None:
    """Connections that were used before are closed at the interpreter's end, but not before the last words."""
    code = """
import time, millpond
millpond.log_metric("loss", 1)
while not millpond.current_run()._live()._spool.is_sent:
    time.sleep(0.01)
millpond.log_metric("loss", 2)
"""
    job = {"MILL_SERVER": server.url, "MILL_TOKEN": "mill_token", "MILL_RUN_ID": "run1run1", "MILL_PROJECT": "default"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **job}, check=True, capture_output=True, text=True
    )
    assert "kept on disk" not in done.stderr, done.stderr
    assert runs.points("loss") == [(0, 1.0), (1, 2.0)]


def test_a_fork_reports_to_the_same_run_and_does_not_end_it(runs: Runs) -> None:
    code = """
import os, time, millpond
run = millpond.init()
run.log_metric("parent", 1)
while not run._live()._spool.is_sent:
    time.sleep(0.01)
if os.fork() == 0:
    run.log_metric("child", 2)
    raise SystemExit
os.wait()
millpond.log_metric("parent", 3)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    assert "kept on disk" not in done.stderr, done.stderr
    assert runs.points("parent") == [(0, 1.0), (1, 3.0)]
    assert runs.points("child") == [(0, 2.0)]
    assert runs.ended() == ["succeeded"]


def test_a_run_says_where_it_comes_from(runs: Runs) -> None:
    millpond.init().finish()
    origin = runs.origin()
    assert origin["command"] == sys.orig_argv
    assert any(package.startswith("pytest==") for package in origin["packages"])


def test_runs_inside_a_run(runs: Runs) -> None:
    with millpond.init(name="outer") as outer, millpond.init(name="inner", parent=outer) as inner:
        pass
    assert runs.created[inner.id]["parent"] == outer.id


def test_a_resumed_run_goes_on_behind_its_last_steps(runs: Runs, server: FakeServer) -> None:
    summary = {
        "points": 3, "last": 0.5, "last_step": 41, "min": "-Infinity", "min_step": 1, "max": None, "max_step": None,
    }  # fmt: skip
    known = runs.shape("earlier00001") | {"summaries": {"loss": summary}}
    server.on("GET", "/projects/[^/]+/runs/earlier00001", lambda received: known)
    server.on("GET", "/runs", lambda received: {"items": [known], "next": None})
    for resume in ("earlier00001", "auto"):
        run = millpond.init(name="it's", resume=resume)
        run.log_metric("loss", 0.25)
        run.finish()
        assert run.id == "earlier00001"
        assert runs.created[run.id]["resume"]
    assert runs.points("loss") == [(42, 0.25), (42, 0.25)]


def test_a_further_attempt_of_a_job_goes_on_behind_the_one_before(
    runs: Runs, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = {"points": 8, "last": 0.5, "last_step": 7, "min": 0.5, "min_step": 7, "max": 1.0, "max_step": 0}
    known = runs.shape("jobrun01") | {"summaries": {"loss": summary}}
    server.on("GET", "/projects/[^/]+/runs/jobrun01", lambda received: known)
    monkeypatch.setenv("MILL_RUN_ID", "jobrun01")
    monkeypatch.setenv("MILL_ATTEMPT", "2")
    run = millpond.init()
    run.log_metric("loss", 0.25)
    run.finish()
    assert runs.points("loss") == [(8, 0.25)]


def test_there_may_be_nothing_to_resume(runs: Runs, server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.on("GET", "/runs", lambda received: {"items": [], "next": None})
    server.on("GET", "/projects/[^/]+/runs/absent00001", lambda received: problem(404, "not_found", "No run."))
    for resume in ("absent00001", "auto"):
        run = millpond.init(resume=resume)
        run.finish()
        assert run.id != resume
        assert not runs.created[run.id]["resume"]
    assert "cannot resume 'absent00001'" in capsys.readouterr().err


def test_only_the_first_rank_ends_the_run(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    with millpond.init() as run:
        run.log_metric("loss", 1.0)
    assert runs.points("loss") == [(0, 1.0)]
    assert runs.ended() == []


def test_values_that_the_server_would_refuse_are_cut_off(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    millpond.log_params({"long": "ä" * 100_000, "nul": "a\0b", "": 1})
    millpond.log_metric("loss", 1.0, step=2**70)
    millpond.finish()
    assert len(runs.params()["long"].encode()) <= 64 << 10
    assert (runs.params()["nul"], runs.params()["-"]) == ("a\ufffdb", 1)
    assert runs.points("loss") == []
    said = capsys.readouterr().err
    assert "'long' is longer than 64 KiB" in said
    assert "64 bits" in said


def test_a_spool_that_was_emptied_goes_on_counting(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.client.spool.TRIM_BYTES", 1)
    run = millpond.init()
    for step in range(3):
        run.log_metric("loss", float(step), step)
        runs.wait(lambda wanted=step: len(runs.points("loss")) > wanted)  # type: ignore[misc]
    run.finish()
    assert runs.points("loss") == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_a_spool_sent_twice_has_the_same_batches(tmp_path: Path) -> None:
    header = Header.of_this_process("http://server", "default", "run00001", None, "writer")
    spool = Spool(tmp_path / "a.jsonl", header)
    spool.write(encode(["loss", 0, 1.0, 0]))
    spool.cut()
    spool.write(encode(["loss", 1, 1.0, 0]))
    spool.add_content("a.txt", b"x")
    spool.write(encode(["loss", 2, 1.0, 0]))
    first = [group for group, _ in spool.unsent()]
    left = list(read_all(spool.path))
    assert [group.number for group in left if isinstance(group, BatchLines)] == [0, 1, 2]
    assert left[:3] == first
    spool.close()


class Unwilling:
    """An array of a library that raises what it likes."""

    def __float__(self) -> float:
        raise RuntimeError("only one element tensors can be converted")

    def item(self) -> float:
        raise RuntimeError("no item")


def test_nothing_that_is_logged_raises_into_the_script(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    endless: dict[str, object] = {}
    endless["self"] = endless
    anything: Any = Unwilling()
    run = millpond.init(name="\ud800" * 1000, experiment="a\0b", parent="no id", params={"half": "\ud800"})
    for key in ("\ud800", "a\0b", "", ["unhashable"], "k" * 1000):
        run.log_metric(key, 1.0)  # type: ignore[arg-type]
        run.log_metric(key, anything)  # type: ignore[arg-type]
    run.log_metrics(anything)
    run.log_params(endless)
    run.log_params(anything)
    run.set_tags(anything)
    run.set_tag("half\ud800", "\ud800")
    run.progress(anything)
    run.log_artifact(anything)
    run.log_image("ragged", [[1, 2], [3]])
    run.log_table("table", 5)
    run.finish()
    assert runs.points("?") == runs.points("-") == runs.points("a\ufffdb") == [(0, 1.0)]
    assert runs.created[run.id] | {"name": "?" * 200, "experiment": "a\ufffdb", "parent": None} == runs.created[run.id]
    said = capsys.readouterr().err
    for sentence in (
        "parent='no id' is ignored",
        "only one element",
        "log_params recorded nothing",
        "different lengths",
    ):
        assert sentence in said


def test_a_key_the_server_refuses_takes_no_other_with_it(runs: Runs, server: FakeServer) -> None:
    def refuse_bad(received: Received) -> Answer:
        if any(part["key"] == "bad" for part in (runs.read(received) or {})["series"]):
            return problem(422, "invalid", "That is no key.")
        return runs._batch(received)

    server.on("POST", "/projects/[^/]+/runs/([^/]+)/batch", refuse_bad)
    run = millpond.init()
    run.log_metrics({"loss": 2.0, "bad": 1.0, "acc": 0.5})
    run.finish()
    assert (runs.points("loss"), runs.points("acc")) == ([(0, 2.0)], [(0, 0.5)])


def test_a_run_ends_by_the_name_of_a_state(runs: Runs) -> None:
    run = millpond.init(project="vision")
    run.finish("failed")
    assert runs.ended() == ["failed"]
