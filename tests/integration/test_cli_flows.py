"""`mill flow` against a server: saving, reading, comparing; runs with real steps, their logs and exit codes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millpond.model.ids import new_id
from millpond.testing.up import MillUp
from tests.integration.cli import Mill, server_here

STEP = """\
import json, os, pathlib
env = os.environ
params = json.loads(pathlib.Path(env["MILL_PARAMS"]).read_text())
word = params["word"]
print("saw", word)
pathlib.Path(env["MILL_OUTPUT"], "out", "word.txt").write_text(word)
pathlib.Path(env["MILL_VALUES"]).write_text(json.dumps({"length": len(word)}))
if word == "bad":
    raise SystemExit("a bad word")
"""
SCRIPT = """\
from millpond.flows import Flow, Out, step

@step(outputs={"double": Out.int})
def double(*, n: int = 2) -> dict:
    print("doubling", n)
    return {"double": 2 * n}

flow = Flow("NAME")
flow.add(double, n=flow.param("n", "int", default=4))
"""


def write_flow(folder: Path, name: str, *, word: str = "pond", more: str = "") -> Path:
    (folder / "steps").mkdir(parents=True, exist_ok=True)
    (folder / "steps" / "step.py").write_text(STEP)
    (folder / "notes.txt").write_text("not named by the flow")
    path = folder / "flow.yaml"
    path.write_text(f"""\
schema: millpond.flow/1
name: {name}   # a comment that stays
params:
  word: {{type: str, default: {word}}}
steps:
  one:
    command: [python, step.py]
    code: ./steps
    params: {{word: "${{params.word}}"}}
    outputs: {{out: {{type: directory}}, length: {{type: int}}}}
  each:
    command: [python, step.py]
    code: ./steps
    each: {{word: [mill, wheel]}}
    params: {{word: "${{each.word}}"}}
    after: [one]
    outputs: {{out: {{type: directory}}, length: {{type: int}}}}
{more}""")
    return path


@pytest.fixture
def mill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    with server_here(tmp_path / "server") as server:
        yield Mill(server, capsys, tmp_path)  # type: ignore[misc]


@pytest.fixture
def live(shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    return Mill(shared_up, capsys, tmp_path)


def test_a_file_is_saved_with_the_code_it_names_and_only_when_it_changed(mill: Mill, tmp_path: Path) -> None:
    path = write_flow(tmp_path / "f", "words")
    saved = mill.ok("flow", "save", str(path), "--json").json
    assert (saved["version"], saved["is_new"]) == (1, True)
    assert mill.ok("flow", "save", str(path), "--json").json["is_new"] is False
    shown = mill.ok("flow", "show", "words", "--json").json
    assert shown["files"] == ["steps/step.py"] and shown["text"] == path.read_text()
    (path.parent / "steps" / "step.py").write_text(STEP + "# changed\n")
    assert mill.ok("flow", "save", str(path.parent), "--json").json["version"] == 2
    refused = mill("flow", "save", str(path), "--expect", "1")
    assert refused.code == 5 and "is at version 2" in refused.err
    assert [one["version"] for one in mill.ok("flow", "list", "--json").json["items"]] == [2]


def test_versions_and_files_are_compared(mill: Mill, tmp_path: Path) -> None:
    path = write_flow(tmp_path / "f", "words")
    mill.ok("flow", "save", str(path))
    assert mill.ok("flow", "diff", str(path), "--json").json["text"] == ""
    write_flow(tmp_path / "f", "words", word="river")
    (path.parent / "steps" / "new.py").write_text("")
    found = mill.ok("flow", "diff", str(path), "--json").json
    assert found["from"] == "words@1" and found["files"] == {"steps/new.py": "added"}
    assert "+  word: {type: str, default: river}" in found["text"].splitlines()
    mill.ok("flow", "save", str(path))
    assert "default: river" in mill.ok("flow", "diff", "words@1").out


def test_what_was_saved_is_exported_as_it_was(mill: Mill, tmp_path: Path) -> None:
    path = write_flow(tmp_path / "f", "words")
    mill.ok("flow", "save", str(path))
    assert mill.ok("flow", "export", "words").out == path.read_text()
    target = tmp_path / "exported"
    mill.ok("flow", "export", "words@1", "-o", str(target))
    found = {one.relative_to(target).as_posix(): one.read_text() for one in target.rglob("*") if one.is_file()}
    assert found == {"flow.yaml": path.read_text(), "steps/step.py": STEP}
    (target / "flow.yaml").write_text("mine")
    refused = mill("flow", "export", "words", "-o", str(target))
    assert refused.code == 5 and (target / "flow.yaml").read_text() == "mine"


def test_problems_have_places_and_nothing_is_saved(mill: Mill, tmp_path: Path) -> None:
    path = write_flow(tmp_path / "f", "words", more="  two:\n    command: [echo]\n    aftr: [one]\n")
    for arguments in (["validate"], ["validate", "--local"]):
        done = mill("flow", *arguments, str(path), "--json")
        assert done.code == 1
        assert [(one["line"], one["column"], one["code"]) for one in done.json] == [(20, 5, "unknown-key")]
        assert set(done.json[0]) == {"line", "column", "path", "code", "message", "hint"}
    for verb in ("save", "run"):
        refused = mill("flow", verb, str(path))
        assert refused.code == 2 and f"{path}:20:5: Unknown key 'aftr'. Did you mean 'after'?" in refused.err
    assert mill.ok("flow", "list", "--json").json["items"] == []


@pytest.mark.parametrize("local", [[], ["--local"]])
def test_code_and_requirements_must_lie_beside_the_file(mill: Mill, tmp_path: Path, local: list[str]) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(
        "schema: millpond.flow/1\nname: f\nsteps:\n  a: {command: [x], code: ./no}\n  b: {command: [x], code: ..}\n"
        "  c: {command: [x], environment: no.txt}\n"
    )
    done = mill("flow", "validate", str(path), *local, "--json")
    assert done.code == 1
    assert [(one["line"], one["code"]) for one in done.json] == [(4, "code"), (5, "code"), (6, "environment")]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "wrods"], 3, "Did you mean 'words'?"),
        (["show", "words@7"], 3, "words@7"),
        (["run", "words", "--set", "wrod=a"], 2, "Did you mean 'word'?"),
        (["run", "words", "--set", "oen.word=a"], 2, "Did you mean 'one'?"),
        (["run", "words", "--from", "oen"], 2, "Did you mean 'one'?"),
        (["run", "words", "--on", "no-such"], 3, "no-such"),
        (["run", "words", "--local"], 2, "mill flow export words"),
        (["run", "f/flow.yml"], 3, "Did you mean 'flow.yaml'?"),
        (["run", "f/flow.yaml", "--local", "--only", "one"], 2, "Cannot combine --local with --only"),
        (["logs", "words#9"], 3, "words#9"),
        (["run", "words", "--wait", "--timeout", "5"], 2, "has no unit"),
        (["run", "words", "--timeout", "5s"], 2, "--timeout is for --wait"),
        (["cancel", "words@1"], 2, "is not a run"),
        (["validate", "words#1"], 2, "is a run, not a flow"),
        (["diff", "words@1", "words#1"], 2, "compared with a run only"),
        (["rm", "words"], 2, "Add --yes"),
    ],
)
def test_wrong_names_say_what_to_do(mill: Mill, tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    mill.ok("flow", "save", str(write_flow(tmp_path / "f", "words")))
    done = mill("flow", *arguments)
    assert (done.code, words in done.err) == (code, True), done.err


def test_a_run_that_has_not_ended_in_time_is_not_finished(mill: Mill, tmp_path: Path) -> None:
    path = write_flow(tmp_path / "f", "words")
    done = mill("flow", "run", str(path), "--wait", "--timeout", "1s", "--json")
    assert done.code == 101 and done.json["written"] == "words#1"
    assert [one["written"] for one in mill.ok("flow", "runs", "--json").json["items"]] == ["words#1"]
    assert "words#1 is being cancelled" in mill.ok("flow", "cancel", "words#1").err
    assert mill("flow", "rm", "words", "--yes").code == 5


def test_programs_stay_executable(live: Mill, tmp_path: Path) -> None:
    name, folder = f"program-{new_id(6)}", tmp_path / "f"
    folder.mkdir()
    (folder / "run.sh").write_text("#!/bin/sh\necho from a program\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "flow.yaml").write_text(
        f"schema: millpond.flow/1\nname: {name}\nsteps:\n  say: {{command: [./run.sh], code: .}}\n"
    )
    live.ok("flow", "run", str(folder), "--wait")
    assert live.ok("flow", "logs", name).out == "from a program\n"
    live.ok("flow", "export", name, "-o", str(tmp_path / "out"))
    assert os.access(tmp_path / "out" / "run.sh", os.X_OK)
    (folder / "run.sh").chmod(0o644)
    assert live.ok("flow", "diff", str(folder), "--json").json["files"] == {"run.sh": "changed"}


def test_a_flow_is_removed_with_its_versions(mill: Mill, tmp_path: Path) -> None:
    mill.ok("flow", "save", str(write_flow(tmp_path / "f", "words")))
    mill.ok("flow", "rm", "words", "--yes")
    assert mill("flow", "show", "words").code == 3


def test_steps_run_are_remembered_and_show_what_they_did(live: Mill, tmp_path: Path) -> None:
    name = f"words-{new_id(6)}"
    path = write_flow(tmp_path / "f", name, word=name)
    done = live.ok("flow", "run", str(path), "--wait", "--json")
    first = done.json
    assert first["state"] == "succeeded" and "one succeeded" in done.err
    steps = {(one["name"], one["index"]): one for one in first["steps"]}
    assert {key: one["state"] for key, one in steps.items()} == {
        ("one", None): "succeeded", ("each", 0): "succeeded", ("each", 1): "succeeded",
    }  # fmt: skip
    assert steps["one", None]["outputs"]["length"] == len(name)
    assert live.ok("flow", "logs", f"{name}#1", "each-1").out == "saw wheel\n"
    assert "each[0] | saw mill" in live.ok("flow", "logs", f"{name}#1", "--follow").out

    again = live.ok("flow", "run", name, "--wait", "--json").json
    assert {one["state"] for one in again["steps"]} == {"remembered"}
    assert live.ok("flow", "logs", f"{name}#2", "each-1").out == "saw wheel\n"
    other = live.ok("flow", "run", name, "--set", "one.word=x", "--from", "one", "--wait", "--json").json
    assert other["steps"][0]["outputs"]["length"] == 1
    compared = live.ok("flow", "diff", f"{name}#1", f"{name}#3", "--json").json
    changed = next(one for one in compared["steps"] if one["name"] == "one")
    assert changed["outputs"]["length"] == [len(name), 1] and changed["params"]["word"] == [name, "x"]


def test_a_failure_ends_with_100_and_a_retry_goes_on(live: Mill, tmp_path: Path) -> None:
    name = f"words-{new_id(6)}"
    path = write_flow(tmp_path / "f", name)
    failed = live("flow", "run", str(path), "--set", "word=bad", "--wait")
    assert failed.code == 100 and f"mill flow logs {name}#1 one" in failed.err
    assert "a bad word" in live.ok("flow", "logs", f"{name}#1", "one").out
    waited = live("flow", "wait", f"{name}#1", "--json")
    assert waited.code == 100 and waited.json["state"] == "failed"
    assert live("flow", "retry", f"{name}#1", "--wait").code == 100
    assert live("flow", "resume", f"{name}#1", "--wait").code == 100
    shown = live.ok("flow", "show", f"{name}#1", "--json").json
    assert _states(shown)["one"] == "failed"


def test_gates_are_answered(live: Mill, tmp_path: Path) -> None:
    name = f"gate-{new_id(6)}"
    path = tmp_path / "flow.yaml"
    path.write_text(
        f"schema: millpond.flow/1\nname: {name}\nsteps:\n  ask: {{approval: {{role: admin, message: Really?}}}}\n"
        "  after:\n    command: [echo, approved]\n    after: [ask]\n"
    )
    for number, (verb, code) in enumerate([("approve", 0), ("reject", 100)], start=1):
        live.ok("flow", "run", str(path))
        live.ok("flow", verb, f"{name}#{number}", "ask", "-m", "as agreed")
        done = live("flow", "logs", f"{name}#{number}", "--follow")
        assert done.code == code
        shown = live.ok("flow", "show", f"{name}#{number}", "--json").json
        assert "as agreed" in shown["steps"][0]["reason"]


def test_a_script_is_checked_saved_and_run(live: Mill, tmp_path: Path) -> None:
    name = f"script-{new_id(6)}"
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("NAME", name))
    assert live.ok("flow", "validate", str(path), "--json").json == []
    assert f"name: {name}" in live.ok("flow", "export", str(path)).out
    here = live.ok("flow", "run", str(path), "--local", "--set", "double.n=5", "--json").json
    assert here["steps"][0]["outputs"] == {"double": 10}
    there = live.ok("flow", "run", str(path), "--set", "n=3", "--wait", "--json").json
    assert there["steps"][0]["outputs"] == {"double": 6}
    assert live.ok("flow", "show", name, "--json").json["files"] == ["script.py"]


def _states(run: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["state"] for one in run["steps"]}
