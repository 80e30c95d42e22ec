"""Search files: what they say, and what is wrong with them, with line and nearest key."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.client.search_file import read_search
from millpond.client.searches import search_request
from millpond.errors import BadRequest
from millpond.model.search import Direction, Method, Pruning

GOOD = """\
schema: millpond.search/1
name: sweep
job:
  command: [python, train.py, "--lr={lr}"]
  inputs: [xray]
  gpu: 0.5
method: tpe
parameters:
  lr: {min: 1.0e-5, max: 0.1, log: true}
  batch: [16, 32]
  opt: {values: [adam, sgd]}
  momentum: {min: 0, max: 1, type: float, when: {opt: sgd}}
objective: {metric: acc, direction: maximize, target: 0.9}
pruning: {min_step: 2}
max_trials: 5
max_time: 2h
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "search.yaml"
    file.write_text(text)
    return file


def test_a_search(tmp_path: Path) -> None:
    found = read_search(written(tmp_path, GOOD))
    spec = found.spec
    assert (found.name, spec.method, spec.max_trials, spec.max_seconds) == ("sweep", Method.TPE, 5, 7200)
    assert [one.name for one in spec.parameters] == ["lr", "batch", "opt", "momentum"]
    assert spec.parameters[3].when == {"opt": ("sgd",)} and not spec.parameters[3].is_whole
    assert spec.objectives[0].direction is Direction.MAXIMIZE and spec.pruning == Pruning(min_step=2)
    assert spec.job.gpu_hundredths == 50
    request = search_request(spec, name="sweep")
    assert request.job == spec.job and request.parameters[0].log


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("parameters:", "paramters:"), "8:1: Unknown key 'paramters'"),
        (("log: true", "lag: true"), "9:31: Unknown key 'lag'"),
        (("max: 0.1", "max: 1.0e-9"), "must be at most max"),
        (("gpu: 0.5", "gpuu: 0.5"), "6:3: Unknown key 'gpuu'"),
        (("millpond.search/1", "millpond.search/9"), "1:9: Unknown schema"),
        (("--lr={lr}", "--lr={lrr}"), "No parameter is called {lrr}"),
        (("max_trials: 5", "max_trials: many"), "15:13: max_trials must be a whole number"),
        (("{metric: acc, ", "{"), "An objective needs a metric"),
    ],
)
def test_mistakes(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_search(written(tmp_path, GOOD.replace(*change)))
    assert said in caught.value.message


def test_the_job_may_be_a_task_file(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("command: python train.py\n")
    head, _, rest = GOOD.partition("job:\n")
    found = read_search(written(tmp_path, head + "job: job.yaml\n" + rest[rest.index("method:") :]))
    assert found.spec.job.command == ("sh", "-c", "python train.py")
