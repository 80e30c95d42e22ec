"""`mill run …` and `millpond.runs()` against a real server, over runs that the SDK has recorded."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from pyarrow import parquet

import millpond
from millpond.client.credentials import spool_dir
from millpond.errors import NotFound
from millpond.testing.up import environment
from tests.integration.cli import Mill, ServerHere, server_here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("server")) as running:
        with patch.dict(os.environ, environment(running.home), clear=True):
            record()
        yield running


def record() -> None:
    for lr in (0.1, 0.01, 0.001):
        with millpond.init(name=f"train {lr}", experiment="grid", params={"lr": lr}, tags={"team": "vision"}) as run:
            for step in range(10):
                run.log_metric("loss", lr * (10 - step), step=step)
            run.log_histogram("weights", [1.0, 2.0, 2.0])
    with millpond.init(name="other") as outer, millpond.init(name="inner", parent=outer) as inner:
        inner.log_metric("odd", float("nan"))
        inner.log_params({"long": "x" * 10_000, "nested": {"depth": [1, True]}})


@pytest.fixture
def mill(server: ServerHere, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capsys, tmp_path)


def names(mill: Mill, *arguments: str) -> list[str]:
    return [item["name"] for item in mill.ok("run", *arguments, "--json").json["items"]]


def test_lists_are_filtered_sorted_and_show_columns(mill: Mill) -> None:
    assert names(mill, "list", "--experiment", "grid", "--sort", "min(metrics.loss)") == [
        "train 0.001", "train 0.01", "train 0.1",
    ]  # fmt: skip
    assert names(mill, "search", "metrics.loss < 0.05 and tags.team = 'vision'") == ["train 0.001", "train 0.01"]
    assert names(mill, "list", "--parent", "other") == ["inner"]
    shown = mill.ok("run", "list", "--filter", "params.lr = '0.1'", "--columns", "params.lr, max(metrics.loss)").out
    assert "0.1" in shown.splitlines()[-1] and "1.0" in shown.splitlines()[-1]
    failed = mill("run", "search", "metrics.loss < 0.05 and tag.team ~ 'vision'")
    assert failed.code == 2
    assert "'~', character 34" in failed.err


def test_a_run_is_shown_by_name_with_its_origin(mill: Mill) -> None:
    shown = mill.ok("run", "show", "train 0.1", "--json").json
    assert (shown["params"], shown["state"]) == ({"lr": 0.1}, "succeeded")
    assert shown["origin"]["packages"]
    assert "histograms/weights/0.json" in mill.ok("run", "artifacts", "train 0.1").out
    missing = mill("run", "show", "train 0.2")
    assert missing.code == 3
    assert "train 0.1" in missing.err


def test_odd_values_are_shown_and_long_ones_cut(mill: Mill) -> None:
    shown = mill.ok("run", "show", "inner").out
    assert "NaN" in shown and '{"depth": [1, true]}' in shown
    assert "x" * 200 + "…" in shown and "x" * 201 not in shown
    assert mill.ok("run", "show", "inner", "--json").json["params"]["long"] == "x" * 10_000


def test_a_wrong_metric_is_answered_with_the_nearest(mill: Mill) -> None:
    failed = mill("run", "metrics", "train 0.1", "lss")
    assert failed.code == 3
    assert "has no metric 'lss'" in failed.err and "Did you mean 'loss'?" in failed.err


def test_runs_are_compared(mill: Mill) -> None:
    found = mill.ok("run", "compare", "train 0.1", "train 0.01", "--json").json
    assert found["params"] == [{"key": "lr", "values": [0.1, 0.01], "differs": True}]
    shown = mill.ok("run", "compare", "train 0.1", "train 0.01").out
    assert "param lr" in shown and "tag team" not in shown


def test_metrics_between_steps(mill: Mill) -> None:
    (found,) = mill.ok("run", "metrics", "train 0.1", "loss", "--start", "3", "--end", "4", "--json").json["items"]
    assert (found["steps"], found["total"]) == ([3, 4], 2)
    (odd,) = mill.ok("run", "metrics", "inner", "--json").json["items"]
    assert odd["values"] == ["NaN"]


def test_what_is_thinned_out_is_said(mill: Mill) -> None:
    assert "thinned out" in mill.ok("run", "metrics", "train 0.1", "loss", "-n", "4").err
    assert "thinned out" not in mill.ok("run", "metrics", "train 0.1", "loss").err


def test_one_run_is_not_compared(mill: Mill) -> None:
    failed = mill("run", "compare", "train 0.1")
    assert (failed.code, "One run cannot be compared." in failed.err) == (2, True)


def test_empty_lists_say_why(mill: Mill) -> None:
    assert "No runs of an experiment 'gird'. Did you mean 'grid'?" in mill.ok("run", "list", "--experiment", "gird").err
    assert "No runs match." in mill.ok("run", "list", "--parent", "inner").err
    assert "No runs in the bin." in mill.ok("run", "list", "--deleted").err


def test_a_run_without_artifacts_downloads_nothing(mill: Mill) -> None:
    done = mill.ok("run", "download", "inner", "--to", "files")
    assert "This run has no artifacts." in done.err
    assert mill.ok("run", "download", "inner", "--to", "files", "--json").json == {"items": []}


def test_ids_are_no_hint_for_a_wrong_word(mill: Mill) -> None:
    failed = mill("run", "show", "zzzz")
    assert (failed.code, "List them: mill run list" in failed.err) == (3, True)


def test_notes_tags_bin_and_back(mill: Mill) -> None:
    mill.ok("run", "note", "inner", "diverged")
    assert mill.ok("run", "note", "inner").out == "diverged\n"
    mill.ok("run", "tag", "inner", "stage=good", "other=x")
    assert mill.ok("run", "tag", "inner", "other=", "--json").json["tags"] == {"stage": "good"}
    assert mill("run", "tag", "inner", "stage").code == 2
    mill.ok("run", "delete", "inner")
    assert names(mill, "list", "--deleted") == ["inner"]
    mill.ok("run", "undelete", "inner")
    assert "inner" in names(mill, "list")


def test_views_are_saved_used_and_deleted(mill: Mill, server: ServerHere) -> None:
    mill.ok(
        "run", "view", "save", "small", "--filter", "params.lr < 0.05", "--sort", "params.lr", "--columns", "params.lr"
    )  # fmt: skip
    assert names(mill, "list", "--view", "small") == ["train 0.001", "train 0.01"]
    with patch.dict(os.environ, environment(server.home), clear=True):
        frame = millpond.runs(view="small")
    assert list(frame["params.lr"]) == [0.001, 0.01]
    assert [view["name"] for view in mill.ok("run", "view", "list", "--json").json["items"]] == ["small"]
    mill.ok("run", "view", "delete", "small")
    failed = mill("run", "list", "--view", "small")
    assert (failed.code, "No view 'small' found." in failed.err) == (3, True)


def test_runs_are_counted_by_group(mill: Mill) -> None:
    counted = mill.ok("run", "groups", "experiment", "--columns", "min(metrics.loss)", "--json").json["items"]
    assert [(group["value"], group["runs"]) for group in counted] == [("grid", 3), ("default", 2)]
    assert (
        mill.ok("run", "groups", "tags.team", "--columns", "min(metrics.loss)").out.splitlines()[0]
        == "vision\t3\t0.037"
    )


def test_runs_as_files_and_as_a_data_frame(mill: Mill, server: ServerHere) -> None:
    mill.ok("run", "export", "runs.csv", "--experiment", "grid", "--columns", "params.lr, min(metrics.loss)")
    with (mill.cwd / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["params.lr"] for row in rows] == ["0.001", "0.01", "0.1"]
    assert float(rows[-1]["min(metrics.loss)"]) == pytest.approx(0.1)
    mill.ok("run", "export", "runs.parquet")
    table = parquet.read_table(mill.cwd / "runs.parquet")
    assert table.num_rows == 5
    assert set(table.column("params.lr").to_pylist()) == {0.1, 0.01, 0.001, None}
    assert mill("run", "export", "runs.xlsx").code == 2
    with patch.dict(os.environ, environment(server.home), clear=True):
        frame = millpond.runs("metrics.loss > 0", sort="metrics.loss", columns=["metrics.loss"])
    assert list(frame["name"]) == ["train 0.001", "train 0.01", "train 0.1"]


def test_recorded_runs_from_python(server: ServerHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(server.home).items():
        monkeypatch.setenv(name, value)
    run = millpond.get_run("train 0.01")
    assert (run.params, run.tags, run.state.value) == ({"lr": 0.01}, {"team": "vision"}, "succeeded")
    assert run.metrics["loss"] == run.summaries["loss"].min == pytest.approx(0.01)
    assert run.origin["packages"] and run.id in repr(run)
    points = run.history("loss")
    assert (list(points["step"]), points["value"].iloc[0]) == (list(range(10)), pytest.approx(0.1))
    assert list(run.history(start=3, end=4)["step"]) == [3, 4]
    assert len(run.history("loss", limit=4)) == 4
    with pytest.raises(NotFound, match="no metric 'los'") as error:
        run.history("los")
    assert error.value.details["near"] == ["loss"]
    assert run.download_artifacts(tmp_path) / run.artifacts()[0].path == tmp_path / "histograms/weights/0.json"
    run.set_tags({"team": None, "best": "yes"})
    run.set_note("the best")
    run.refresh()
    assert (run.tags, run.notes) == ({"best": "yes"}, "the best")
    run.delete()
    assert list(millpond.runs(deleted=True)["name"]) == ["train 0.01"]
    run.undelete()
    run.set_tags({"team": "vision", "best": None})
    assert list(millpond.runs(parent="other")["name"]) == ["inner"]
    found = millpond.compare_runs("train 0.1", "train 0.01")
    assert list(found.index) == ["params.lr", "metrics.loss"]
    assert list(found.loc["params.lr"]) == [0.1, 0.01]
    groups = millpond.group_runs("experiment", columns=["metrics.loss"]).set_index("experiment")
    assert (groups.loc["grid", "runs"], groups.loc["grid", "max metrics.loss"]) == (3, pytest.approx(0.1))
    assert len(millpond.group_runs("params.lr", "name = 'nobody'")) == 0
    assert [one.path for one in millpond.list_artifacts("train 0.1")] == ["histograms/weights/0.json"]
    with pytest.raises(NotFound) as error:
        millpond.get_run("train 0.02")
    assert "train 0.01" in error.value.details["near"]


def test_runs_recorded_for_another_server_are_uploaded(
    mill: Mill, server: ServerHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = "http://127.0.0.1:9"
    for name, value in (environment(tmp_path / "field") | {"MILL_SERVER": away}).items():
        monkeypatch.setenv(name, value)
    ids = []
    for name in ("first", "second"):
        with millpond.init(name=name, experiment="field") as run:
            run.log_metric("loss", 0.5)
            ids.append(run.id)
    spools = spool_dir()
    for file in spools.glob("*.jsonl"):
        header, _, rest = file.read_bytes().partition(b"\n")
        # Its process has ended, as it would have on another machine.
        file.write_bytes(json.dumps(json.loads(header) | {"process": 0}).encode() + b"\n" + rest)
    monkeypatch.setenv("MILL_HOME", str(server.home))
    (server.home / "spool").mkdir(exist_ok=True)
    shutil.copy(spools / next(spools.glob(f"{ids[0]}*")).name, server.home / "spool")
    assert mill.ok("run", "upload", "--json").json == {"sent": 0, "problems": [], "elsewhere": {away: 1}}
    assert f"mill run upload --from {away}" in mill.ok("run", "upload").err
    assert mill.ok("run", "upload", "--from", away, "--json").json["sent"] == 1
    assert names(mill, "list", "--experiment", "field") == ["first"]
    assert mill.ok("run", "upload", str(spools), "--json").json["sent"] == 2, "what was there already counts once"
    assert sorted(names(mill, "list", "--experiment", "field")) == ["first", "second"]
    assert mill.ok("run", "show", "first", "--json").json["summaries"]["loss"]["points"] == 1
    assert list(spools.glob("*.jsonl")) == []
