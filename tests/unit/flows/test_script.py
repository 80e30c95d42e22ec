"""A script with a flow: compiled, and its functions called as the processes of steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.client.flows.flow_file import read_flow_file
from millpond.client.flows.local_run import run_locally
from millpond.errors import BadRequest, Invalid
from millpond.flows.script import compile_script
from millpond.model.flow_run import StepState

SCRIPT = """
from pathlib import Path
from millpond.flows import Flow, Out, each, step

@step(outputs={"words": Out.list})
def split(text: Path, *, most: int = 9) -> dict:
    return {"words": (text / "a.txt").read_text().split()[:most]}

@step(outputs={"loud": Out.directory})
def shout(out: Path, *, word: str) -> None:
    (out / "loud" / "word.txt").write_text(word.upper())

@step(outputs={"all": Out.str})
def join(loud: Path) -> dict:
    return {"all": " ".join(one.read_text() for one in sorted(loud.glob("*/word.txt")))}

flow = Flow("words")
text = flow.dataset("text", "words@main")
words = flow.add(split, text=text, most=flow.param("most", "int", default=2))
loud = flow.add(shout, word=each("word")).options(each={"word": words["words"]})
flow.add(join, loud=loud.all["loud"])
"""


def test_functions_run_as_steps_with_inputs_parameters_and_values(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(SCRIPT)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("one two three")
    script = read_flow_file(tmp_path / "words.py")
    ended = run_locally(script, given={}, folders={"text": tmp_path / "text"}, tell=lambda step, log: None)
    assert ended.state is StepState.SUCCEEDED, ended.reason
    assert next(step for step in ended.steps if step.step == "join").outputs == {"all": "ONE TWO"}


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("x = 1", BadRequest, "holds no flow"),
        ("from millpond.flows import Flow\na, b = Flow('a'), Flow('b')", BadRequest, "holds 2 flows"),
        ("import no_such_module", Invalid, "ModuleNotFoundError"),
        ("def f(:", Invalid, "SyntaxError"),
    ],
)
def test_a_script_that_cannot_be_used_says_why(tmp_path: Path, text: str, error: type[Exception], words: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(error, match=words):
        compile_script(tmp_path / "bad.py")
