"""Two servers on one PostgreSQL carry on the same runs at once: no step is started twice, and none is forgotten."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from millpond.db.engine import Database
from millpond.db.tables import metadata
from millpond.model.flow_run import StepState
from millpond.services.flows.advance import FlowRounds
from millpond.services.models import versions
from millpond.testing.postgres import Postgres
from tests.unit.services.flows.running import Flows, Run, make_flows

WIDTH = 6
FLOW = f"""
steps:
  list: {{command: [list], outputs: {{items: {{type: list}}}}}}
  train:
    command: [train]
    each: {{item: "${{steps.list.outputs.items}}"}}
    params: {{item: "${{each.item}}"}}
    outputs: {{model: {{type: model}}}}
  pick: {{command: [pick], inputs: {{all: "${{steps.train[*].outputs.model}}"}}, outputs: {{best: {{type: model}}}}}}
  register: {{component: register-model@1, inputs: {{model: "${{steps.pick.outputs.best}}"}}, params: {{model: best}}}}
publish: [{{output: "${{steps.pick.outputs.best}}", to: best-files}}]
max_parallel: {WIDTH - 2}
"""


class Together:
    """The rounds of both servers, always at once."""

    def __init__(self, *servers: FlowRounds) -> None:
        self.servers = servers

    def run_once(self, now: datetime) -> None:
        errors: list[BaseException] = []
        barrier = threading.Barrier(len(self.servers))

        def one(rounds: FlowRounds) -> None:
            try:
                barrier.wait(10)
                rounds.run_once(now)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=one, args=(rounds,)) for rounds in self.servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []


@pytest.fixture
def flows(postgres: Postgres, tmp_path: Path) -> Iterator[Flows]:
    with postgres.database() as url, closing(Database(url)) as first, closing(Database(url)) as second:
        metadata.create_all(first.engine)
        made = make_flows(first, tmp_path)
        made.rounds = Together(FlowRounds(made.deps), FlowRounds(replace(made.deps, db=second)))  # type: ignore[assignment]
        yield made


def finish(run: Run) -> None:
    """End whatever runs, until nothing does."""
    while going := [view.step.label for view in run.shown if view.step.state is StepState.QUEUED]:
        for label in going:
            match label.partition("[")[0]:
                case "list":
                    run.end(label, values={"items": list(range(WIDTH))})
                case "train":
                    run.end(label, files={"model": {"m": label.encode()}})
                case _:
                    run.end(label, files={"best": {"m": b"best"}})


def test_two_servers_carry_on_one_run(flows: Flows) -> None:
    run = flows.start(FLOW)
    finish(run)
    assert (run.state, run.reason) == ("succeeded", "")
    assert Counter(run.jobs) == Counter({"f-1-list": 1, "f-1-pick": 1} | {f"f-1-train-{n}": 1 for n in range(WIDTH)})
    assert [one.version.number for one in versions.all_of(flows.deps, flows.project, ["best"])] == [1]
    assert list(run.row.published) == ["best-files"]


def test_of_equal_runs_each_step_is_executed_once(flows: Flows) -> None:
    """The second run waits for what the first does, whichever server looks at it."""
    first, second = flows.start(FLOW), flows.start()
    finish(first)
    finish(second)
    assert (first.state, second.state) == ("succeeded", "succeeded")
    assert len(first.jobs) + len(second.jobs) == WIDTH + 2
