"""Backfills: a run for each choice, some at once, none twice, whichever server goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millpond.errors import BadRequest, NotFound
from millpond.services.flows.triggers import backfills
from millpond.services.flows.triggers.backfills import BackfillView, NewBackfill
from tests.unit.services.flows.running import Flows, Run
from tests.unit.services.flows.test_triggers import runs_of, take_role, together

DAYS = """params: {day: {type: str}, size: {type: int, default: 1}}
defaults: {remember: false}
steps:
  one: {command: [echo], params: {day: "${params.day}"}, outputs: {n: {type: int}}}
"""
WEEK = {"day": "2026-02-26..2026-03-04"}


def create(flows: Flows, params: dict[str, Any] | None = None, **asked: Any) -> BackfillView:
    wanted = NewBackfill(params or WEEK, **asked)
    made = backfills.create(flows.deps, flows.world.maria, flows.project, "f", wanted)
    return look(flows, made)


def look(flows: Flows, view: BackfillView) -> BackfillView:
    flows.round()
    backfills.advance_all(flows.deps, flows.world.clock.now())
    flows.round()
    return backfills.get(flows.deps, flows.project, view.backfill.id)


def end_all(flows: Flows, **outcome: Any) -> int:
    """End the runs that go on; how many."""
    living = [Run(flows, run.id) for run in runs_of(flows) if run.ended_at is None]
    for run in living:
        run.end("one", **({"values": {"n": 1}} | outcome))
    return len(living)


def test_a_run_for_each_choice_at_most_some_at_once(flows: Flows) -> None:
    flows.save(DAYS)
    view = create(flows, max_parallel=3)
    counts = []
    while view.state == "running":
        counts.append(end_all(flows))
        view = look(flows, view)
    assert counts == [3, 3, 1, 0][: len(counts)]
    assert (view.state, view.counts) == ("succeeded", {"succeeded": 7})
    found = runs_of(flows)
    assert [run.params["day"] for run in found] == [
        "2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04",
    ]  # fmt: skip
    assert {(run.trigger.type, run.trigger.by, run.trigger.backfill_id) for run in found} == {
        ("backfill", "maria", view.backfill.id)
    }


def test_what_is_done_is_left_out(flows: Flows) -> None:
    flows.save(DAYS)
    view = create(flows, {"day": "a,b"})
    first, second = [Run(flows, run.id) for run in runs_of(flows)]
    first.end("one", values={"n": 1})
    second.end("one", exit_code=1)
    assert look(flows, view).state == "failed"
    plan = backfills.plan(flows.deps, flows.project, "f", NewBackfill({"day": "a,b,c"}, skip_done=True))
    assert [(part.state.value, part.reason) for part in plan.parts] == [
        ("skipped", "Done by f#1."), ("planned", ""), ("planned", ""),
    ]  # fmt: skip
    again = create(flows, {"day": "a,b,c"}, skip_done=True)
    end_all(flows)
    assert look(flows, again).counts == {"skipped": 1, "succeeded": 2}
    last = create(flows, {"day": "a,b,c"}, skip_done=True)
    assert (last.state, last.counts, len(runs_of(flows))) == ("succeeded", {"skipped": 3}, 4)


@pytest.mark.parametrize("then", ["queue", "skip", "cancel-running"])
def test_a_flow_with_a_limit_is_waited_for(flows: Flows, then: str) -> None:
    flows.save(DAYS + f"concurrency: {{limit: 1, then: {then}}}\n")
    by_hand = flows.start(params={"day": "today"})
    view = create(flows, {"day": "a,b"})
    assert (view.counts, view.reason) == ({"planned": 2}, "Waits: the flow lets 1 run at once.")
    by_hand.end("one", values={"n": 1})
    for _ in range(3):
        view = look(flows, view)
        end_all(flows)
    assert look(flows, view).counts == {"succeeded": 2}
    assert by_hand.state == "succeeded"


def test_two_servers_start_each_part_once(flows: Flows) -> None:
    flows.save(DAYS)
    asked = NewBackfill(WEEK, max_parallel=2)
    view = backfills.create(flows.deps, flows.world.maria, flows.project, "f", asked)
    counts = []
    while view.state == "running":
        together(*[lambda deps=deps: backfills.advance_all(deps, flows.world.clock.now())
                   for deps in (flows.deps, replace(flows.deps))])  # fmt: skip
        flows.round()
        counts.append(end_all(flows))
        view = backfills.get(flows.deps, flows.project, view.backfill.id)
    assert max(counts) == 2
    assert sorted(run.params["day"] for run in runs_of(flows)) == sorted(part.part.params["day"] for part in view.parts)


def test_cancel_ends_everything(flows: Flows) -> None:
    flows.save(DAYS)
    view = create(flows, max_parallel=2)
    view = backfills.cancel(flows.deps, flows.world.maria, flows.project, view.backfill.id)
    flows.round()
    for run in runs_of(flows):
        assert run.cancelled_by == "maria"
    assert look(flows, view).counts["skipped"] == 5


def test_who_lost_the_role_runs_nothing_more(flows: Flows) -> None:
    flows.save(DAYS)
    view = create(flows, {"day": "a,b"}, max_parallel=1)
    take_role(flows, "maria")
    Run(flows, runs_of(flows)[0].id).end("one", values={"n": 1})
    view = look(flows, look(flows, view))
    assert (view.state, view.parts[1].state) == ("failed", "refused")
    assert view.parts[1].part.reason == "maria may no longer run flows in project default."


BAD: list[tuple[dict[str, Any], str]] = [
    ({"days": "a"}, "no parameter 'days'"),
    ({"day": "2026-03-01..2026-02-01"}, "ends before it begins"),
    ({"day": "a..b"}, "not a range of dates or whole numbers"),
    ({"day": "2026-02-30..2026-03-02"}, "not a range of dates or whole numbers"),
    ({"day": "1900-01-01..2026-01-01"}, "at most 2,000"),
    ({"day": "a,,b"}, "empty value"),
    ({"day": "a", "size": "1..x"}, "not a range"),
    ({"day": "a", "size": "x,y"}, "size must be a whole number"),
    ({"day": "1..50", "size": "1..50"}, "2,500 runs"),
    ({"size": "1..2"}, "day needs a value"),
    ({"day": []}, "no values"),
]


def test_bad_parameters(flows: Flows) -> None:
    flows.save(DAYS)
    for params, words in BAD:
        with pytest.raises(BadRequest, match=words):
            create(flows, params)
    assert runs_of(flows) == []


def test_choices_are_typed_and_multiplied(flows: Flows) -> None:
    flows.save(DAYS)
    plan = backfills.plan(flows.deps, flows.project, "f", NewBackfill({"day": ["x", "y"], "size": "-1..1,7"}))
    assert [tuple(part.params.values()) for part in plan.parts] == [
        (day, size) for day in ("x", "y") for size in (-1, 0, 1, 7)
    ]
    with pytest.raises(NotFound, match="No backfill 'nothing'"):
        backfills.get(flows.deps, flows.project, "nothing")
