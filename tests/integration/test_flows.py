"""Flows on a real server whose agent runs the steps as processes: what a step sees, makes and leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx
import pytest

from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.flow_server import HERE, ended, file_of, save, start, states, steps

# Everything of the contract, without anything of Millpond.
SPLIT = """
import json, os, pathlib
params = json.loads(pathlib.Path(os.environ["MILL_PARAMS"]).read_text())
words = pathlib.Path(os.environ["MILL_INPUT_WORDS"], "words.txt").read_text().split()[: params["n"]]
assert params == {"n": params["n"], "scale": 1.5}, params
assert os.environ["MILL_STEP"] == "split" and os.environ["MILL_FLOW_RUN"] and os.environ["MILL_INDEX"] == ""
pathlib.Path(os.environ["MILL_OUTPUT"], "table").write_text("\\n".join(words))
pathlib.Path(os.environ["MILL_VALUES"]).write_text(json.dumps({"list": words, "count": len(words), "other": 1}))
"""
SHOW = """
import json, os, pathlib
word = json.loads(pathlib.Path(os.environ["MILL_PARAMS"]).read_text())["word"]
table = pathlib.Path(os.environ["MILL_INPUT_TABLE"]).read_text().split()
assert table[int(os.environ["MILL_INDEX"])] == word
pathlib.Path(os.environ["MILL_OUTPUT"], "picture", "text").write_text(word.upper())
"""
JOIN = """
import json, os, pathlib
folder = pathlib.Path(os.environ["MILL_INPUT_PICTURES"])
assert not os.access(folder / "0", os.W_OK) or os.geteuid() == 0
found = [(folder / str(n) / "text").read_text() for n in range(len(list(folder.iterdir())))]
(pathlib.Path(os.environ["MILL_OUTPUT"]) / "poem" / "poem.txt").write_text(" ".join(found))
pathlib.Path(os.environ["MILL_VALUES"]).write_text(json.dumps({"good": len(found) > 1}))
"""
FLOW = """schema: millpond.flow/1
name: words-e2e
params: {n: {type: int, default: 3, min: 1}}
steps:
  words: {dataset: words-e2e@main}
  split:
    command: [python, split.py]
    code: ./steps
    inputs: {words: "${steps.words}"}
    params: {n: "${params.n}", scale: 1.5}
    outputs: {list: {type: list}, count: {type: int}, table: {type: file}, extra: {type: directory, optional: true}}
  show:
    command: [python, show.py]
    code: ./steps
    each: {word: "${steps.split.outputs.list}"}
    inputs: {table: "${steps.split.outputs.table}"}
    params: {word: "${each.word}"}
    outputs: {picture: {type: directory}}
  join:
    command: [python, join.py]
    code: ./steps
    inputs:
      pictures: ${steps.show[*].outputs.picture}
      extra: {from: "${steps.split.outputs.extra}", optional: true}
    outputs: {poem: {type: directory}, good: {type: bool}}
  few:
    command: ["true"]
    when: ${not steps.join.outputs.good}
publish:
  - {output: "${steps.join.outputs.poem}", to: poems-e2e@main}
"""
FILES = {"steps/split.py": SPLIT, "steps/show.py": SHOW, "steps/join.py": JOIN}


@pytest.fixture(scope="module")
def client(shared_up: MillUp) -> httpx.Client:
    return shared_up.client()


def test_from_a_dataset_over_a_fan_out_to_what_is_published(
    shared_up: MillUp, client: httpx.Client, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mill = Mill(shared_up, capfd, tmp_path)
    (tmp_path / "words-e2e").mkdir()
    (tmp_path / "words-e2e" / "words.txt").write_text("to be or not\n")
    mill.ok("data", "init", cwd=tmp_path / "words-e2e")
    mill.ok("data", "sync", cwd=tmp_path / "words-e2e")
    save(client, FLOW, FILES)
    run = ended(client, start(client, "words-e2e"))
    assert run["state"] == "succeeded", run
    assert states(run) == {
        "words": "succeeded", "split": "succeeded", "show[0]": "succeeded", "show[1]": "succeeded",
        "show[2]": "succeeded", "join": "succeeded", "few": "skipped",
    }  # fmt: skip
    found = steps(run)
    assert found["split"]["outputs"]["list"] == ["to", "be", "or"] and found["split"]["outputs"]["count"] == 3
    assert file_of(client, found["join"]["outputs"]["poem"] + "/poem.txt") == "TO BE OR"
    poem = client.get(f"{HERE}/datasets/poems-e2e/commits/main/file", params={"path": "poem.txt"})
    assert poem.text == "TO BE OR"

    again = ended(client, start(client, "words-e2e", params={"n": 2}))
    assert again["state"] == "succeeded", again
    # Its table is another one, so everything behind it runs again.
    assert states(again)["show[0]"] == "succeeded" and steps(again)["join"]["outputs"]["good"] is True
    same = ended(client, start(client, "words-e2e"))
    assert set(states(same).values()) == {"succeeded", "remembered", "skipped"} and states(same)["join"] == "remembered"
    assert steps(same)["split"]["remembered_from"] == "words-e2e#1/split"


@pytest.mark.parametrize(
    ("command", "outputs", "words"),
    [
        ("true", "{model: {type: model}}", "missing output model"),
        ("true", "{n: {type: int}}", "missing output n"),
        ("echo '{\"n\": \"x\"}' > $MILL_VALUES", "{n: {type: int}}", "output n must be a whole number"),
        ("echo nonsense > $MILL_VALUES", "{n: {type: int}}", "MILL_VALUES is not JSON"),
        ("rm -rf $MILL_OUTPUT/d; ln -s /etc $MILL_OUTPUT/d", "{d: {type: directory}}", "missing output d"),
        ("exit 3", "{d: {type: directory}}", "3"),
    ],
)  # fmt: skip
def test_a_step_that_does_not_make_what_it_declares_fails(
    client: httpx.Client, request: pytest.FixtureRequest, command: str, outputs: str, words: str
) -> None:
    number = request.node.callspec.indices["command"]
    line = json.dumps(command)
    name = save(
        client,
        f"schema: millpond.flow/1\nname: bad-outputs-{number}\nsteps:\n  a:\n    command: [sh, -c, {line}]\n"
        f"    outputs: {outputs}\n  b: {{command: ['true'], after: [a]}}\n",
    )
    run = ended(client, start(client, name))
    assert run["state"] == "failed" and states(run) == {"a": "failed", "b": "skipped"}, run
    assert words in steps(run)["a"]["reason"] and words in run["reason"]


def test_a_step_that_takes_too_long_is_ended_and_cancel_ends_all(client: httpx.Client, open_path: Path) -> None:
    text = """schema: millpond.flow/1
name: slow-e2e
params: {seconds: {type: int}, where: {type: str}}
defaults: {remember: false}
steps:
  slow: {command: [sh, -c, "echo $$ > ${params.where}; exec sleep ${params.seconds}"], timeout: 1s}
"""
    save(client, text)
    run = ended(client, start(client, "slow-e2e", params={"seconds": 600, "where": str(open_path / "a")}))
    assert run["state"] == "failed" and "time limit of 1.0 s" in steps(run)["slow"]["reason"], run
    save(client, text.replace(", timeout: 1s", ""))
    second = start(client, "slow-e2e", params={"seconds": 600, "where": str(open_path / "b")})
    wait_until(lambda: (open_path / "b").exists() and (open_path / "b").read_text(), within=60, what="the step to run")
    client.post(f"{HERE}/flow-runs/{second}:cancel").raise_for_status()
    run = ended(client, second)
    assert (run["state"], states(run)) == ("cancelled", {"slow": "cancelled"})
    with pytest.raises(ProcessLookupError):
        os.kill(int((open_path / "b").read_text()), 0)


STREAM = """
import os, fsspec
place = os.environ["MILL_INPUT_WORDS"]
assert place.startswith("mill://"), place
with fsspec.open(f"{place}/words.txt", "rt") as file:
    print(file.read())
"""


def test_a_dataset_that_is_not_cached_is_read_through_an_address(
    shared_up: MillUp, client: httpx.Client, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mill = Mill(shared_up, capfd, tmp_path)
    folder = tmp_path / "streamed-e2e"
    folder.mkdir()
    (folder / "words.txt").write_text("read from the lake\n")
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    text = """schema: millpond.flow/1
name: streamed-e2e
steps:
  words: {dataset: streamed-e2e, cached: no}
  read: {command: [python, read.py], code: ./steps, inputs: {words: "${steps.words}"}}
"""
    save(client, text, {"steps/read.py": STREAM})
    run = ended(client, start(client, "streamed-e2e"))
    assert run["state"] == "succeeded", run
    assert client.get(f"{HERE}/jobs/{steps(run)['read']['job']}/log").text == "read from the lake\n\n"
    caches = client.get("/caches", params={"limit": 1000}).json()["items"]
    assert "streamed-e2e" not in {one["dataset"] for one in caches}


def test_a_component_of_the_library_runs_with_its_own_code(
    shared_up: MillUp, client: httpx.Client, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mill = Mill(shared_up, capfd, tmp_path)
    folder = tmp_path / "images-e2e"
    for label in ("cat", "dog"):
        (folder / label).mkdir(parents=True)
        for number in range(4):
            (folder / label / f"{number}.png").write_text(f"{label} {number}")
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    text = """schema: millpond.flow/1
name: split-e2e
steps:
  images: {dataset: images-e2e}
  split: {component: split@1, inputs: {data: "${steps.images}"}, params: {val_size: 0.25, seed: 7}}
"""
    save(client, text)
    run = ended(client, start(client, "split-e2e"))
    assert run["state"] == "succeeded", run
    split = steps(run)["split"]
    assert (split["outputs"]["train_files"], split["outputs"]["val_files"]) == (6, 2)
    assert split["component"].startswith("split@1.") and len(split["digest"]) == 64
