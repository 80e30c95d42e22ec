"""Flows on this machine: real processes, folders as datasets."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from millpond.client.flows.flow_file import read_flow_file
from millpond.client.flows.local_run import LocalRun, run_locally
from millpond.errors import BadRequest, Invalid
from millpond.model.flow_run import Files, StepRun, StepState

HEAD = "schema: millpond.flow/1\nname: f\n"
READ = "import json,os,pathlib as p;i=os.environ;P=json.load(open(i['MILL_PARAMS']));O=p.Path(i['MILL_OUTPUT'])"


def python(code: str) -> str:
    """A command of a step, as YAML."""
    return f'[python, -c, "{READ};{code}"]'


def run(folder: Path, text: str, **given: Any) -> LocalRun:
    path = folder / "flow.yaml"
    path.write_text(HEAD + text, "utf-8")
    folders = given.pop("folders", {})
    return run_locally(read_flow_file(path), given=given, folders=folders, tell=lambda step, log: None)


def states(ended: LocalRun) -> dict[str, str]:
    return {step.label: step.state.value for step in ended.steps}


def step(ended: LocalRun, label: str) -> StepRun:
    return next(one for one in ended.steps if one.label == label)


SPLIT = "w=p.Path(i['MILL_INPUT_WORDS'],'w.txt').read_text().split()[:P['n']];{'list':w}"
WRITE = "(O/'o'/'x').write_text(P['w']+i['MILL_INDEX'])"
JOIN = "{'t':''.join((d/'x').read_text() for d in sorted(p.Path(i['MILL_INPUT_ALL']).iterdir()))}"


def values(code: str) -> str:
    """A command that writes the last expression of `code` as its values."""
    *before, last = code.split(";")
    return python(";".join([*before, f"json.dump({last},open(i['MILL_VALUES'],'w'))"]))


def test_data_values_and_files_move_from_step_to_step(tmp_path: Path) -> None:
    data = tmp_path / "words"
    data.mkdir()
    (data / "w.txt").write_text("a b c")
    text = (
        "params: {n: {type: int, default: 3}}\n"
        "steps:\n"
        "  words: {dataset: words@main}\n"
        "  split:\n"
        f"    command: {values(SPLIT)}\n"
        "    inputs: {words: '${steps.words}'}\n"
        "    params: {n: '${params.n}'}\n"
        "    outputs: {list: {type: list}}\n"
        "  each:\n"
        f"    command: {python(WRITE)}\n"
        "    each: {w: '${steps.split.outputs.list}'}\n"
        "    params: {w: '${each.w}'}\n"
        "    outputs: {o: {}}\n"
        "  join:\n"
        f"    command: {values(JOIN)}\n"
        "    inputs: {all: '${steps.each[*].outputs.o}'}\n"
        "    outputs: {t: {type: str}}\n"
    )
    ended = run(tmp_path, text, n="2", folders={"words": data})
    assert ended.state is StepState.SUCCEEDED
    assert step(ended, "join").outputs == {"t": "a0b1"}
    made = step(ended, "each[0]").outputs["o"]
    assert isinstance(made, Files) and (Path(made.place) / "x").read_text() == "a0"


@pytest.mark.parametrize(
    ("code", "outputs", "reason"),
    [
        ("raise SystemExit(3)", "{}", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "{}", "signal 9"),
        ("pass", "{o: {}}", "missing output o"),
        ("pass", "{n: {type: int}}", "missing output n"),
        ("json.dump({'n': 1.5}, open(i['MILL_VALUES'],'w'))", "{n: {type: int}}", "a whole number, not 1.5"),
        ("open(i['MILL_VALUES'],'w').write('{')", "{n: {type: int}}", "not JSON"),
        ("open(i['MILL_VALUES'],'w').write('[]')", "{n: {type: int}}", "JSON object"),
    ],
)
def test_what_goes_wrong_is_said_and_stops_the_flow(tmp_path: Path, code: str, outputs: str, reason: str) -> None:
    text = f"steps:\n  a: {{command: {python(code)}, outputs: {outputs}}}\n  b: {{command: ['true'], after: [a]}}\n"
    ended = run(tmp_path, text)
    assert states(ended) == {"a": "failed", "b": "skipped"}
    assert reason in step(ended, "a").reason


def test_an_optional_output_may_be_missing(tmp_path: Path) -> None:
    ended = run(tmp_path, f"steps:\n  a: {{command: {python('pass')}, outputs: {{o: {{optional: true}}}}}}\n")
    assert ended.state is StepState.SUCCEEDED


def test_a_command_that_does_not_exist_fails_its_step(tmp_path: Path) -> None:
    ended = run(tmp_path, "steps:\n  a: {command: [no-such-program-here]}\n")
    assert ended.state is StepState.FAILED and "Cannot start" in step(ended, "a").reason


def test_components_run_in_their_own_folder_with_their_defaults(tmp_path: Path) -> None:
    folder = tmp_path / "components" / "greet"
    folder.mkdir(parents=True)
    (folder / "component.yaml").write_text(
        "schema: millpond.component/1\nname: greet\nversion: 1.2.0\ncommand: [python, greet.py]\n"
        "params: {who: {type: str, default: you}, times: {type: int, default: 2}}\noutputs: {text: {type: str}}\n"
    )
    (folder / "greet.py").write_text(
        "import json, os\np = json.load(open(os.environ['MILL_PARAMS']))\n"
        "json.dump({'text': p['who'] * p['times']}, open(os.environ['MILL_VALUES'], 'w'))\n"
    )
    ended = run(tmp_path, "steps:\n  a: {component: greet@1, params: {who: me}}\n")
    assert step(ended, "a").outputs == {"text": "meme"}


def test_gates_are_open_where_nobody_can_be_asked(tmp_path: Path) -> None:
    ended = run(tmp_path, "steps:\n  gate: {approval: {message: Go?}}\n  b: {command: ['true'], after: [gate]}\n")
    assert states(ended) == {"gate": "succeeded", "b": "succeeded"}


@pytest.mark.parametrize(
    ("given", "folders", "words"),
    [
        ({"m": "1"}, {}, "no parameter 'm'"),
        ({"n": "x"}, {}, "whole number"),
        ({"n": "0"}, {}, "at least 1"),
        ({"n": "1"}, {}, "Step 'd' has no data"),
        ({"n": "1"}, {"x": Path()}, "'x' is not a dataset step"),
        ({"n": "1"}, {"d": Path("/no/such")}, "not a folder"),
        ({}, {"d": Path()}, "n needs a value"),
    ],
)
def test_bad_values_are_refused_before_anything_runs(
    tmp_path: Path, given: dict[str, str], folders: dict[str, Path], words: str
) -> None:
    text = "params: {n: {type: int, min: 1}}\nsteps:\n  d: {dataset: x}\n  a: {command: ['true']}\n"
    with pytest.raises(BadRequest, match=words):
        run(tmp_path, text, folders=folders, **given)
    assert not (tmp_path / ".mill-flow").exists()


def test_a_flow_with_problems_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"flow\.yaml:4:18"):
        run(tmp_path, "steps:\n  a: {component: nosuch@1}\n")


def test_a_model_is_registered_in_a_folder(tmp_path: Path) -> None:
    made = "(O/'m'/'1').mkdir();(O/'m'/'1'/'x').write_text('x')"
    text = (
        f"steps:\n  a: {{command: {python(made)}, outputs: {{m: {{type: model}}}}}}\n"
        "  r:\n    component: register-model@1\n    inputs: {model: '${steps.a.outputs.m}'}\n"
        "    params: {model: xray, alias: best}\n"
    )
    for version in (1, 2):
        ended = run(tmp_path, text)
        assert step(ended, "r").outputs == {"version": version}
    assert (tmp_path / ".mill-flow" / "models" / "xray" / "best" / "1" / "x").read_text() == "x"


def test_the_example_of_the_guide_runs(tmp_path: Path) -> None:
    example = tmp_path / "words"
    shutil.copytree(Path(__file__).parents[4] / "examples" / "words", example)
    given = {"folders": {"words": example / "words"}, "tell": lambda step, log: None}
    ended = run_locally(read_flow_file(example), given={"n": "4", "split.n": "2"}, **given)
    assert ended.state is StepState.SUCCEEDED, ended.reason
    join = step(ended, "join")
    assert join.outputs["pictures"] == 2
    poster = Path(join.outputs["poster"].place, "poster.txt").read_text()
    assert "* mill *" in poster and "* pond *" in poster
