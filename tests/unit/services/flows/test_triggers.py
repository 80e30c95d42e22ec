"""Triggers of flows: what sets them off, once each, with whose rights, and what is kept when a flow is saved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from millpond.db import flow_firings, flow_runs, flow_triggers, projects, users
from millpond.db.flow_runs import RunFilter
from millpond.errors import BadRequest, Conflict, Invalid, NotFound, Unavailable
from millpond.model.flow_run import FlowRun
from millpond.model.flow_trigger import Firing
from millpond.model.people import Role
from millpond.services import activity
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.flows import saving, starting
from millpond.services.flows.triggers import firing, noticing, triggers
from millpond.services.flows.triggers.triggers import TriggerView
from millpond.testing.builders_data import a_commit, a_dataset, an_actor
from tests.unit.services.flows.running import Flows, Run

STEPS = "steps:\n  one: {command: [echo], outputs: {n: {type: int}}}\n"
ON_COMMIT = STEPS + "triggers: [{type: commit, ref: xray@main}]\n"


def look(flows: Flows, deps: Deps | None = None) -> None:
    """What the loops of a server do."""
    deps = deps or flows.deps
    now = flows.world.clock.now()
    noticing.notice_commits(deps, now)
    noticing.notice_times(deps, now)
    while firing.start_due(deps, now):
        pass


def runs_of(flows: Flows, name: str = "f") -> list[FlowRun]:
    """The oldest first."""
    with flows.deps.db.read() as tx:
        flow = saving.find(tx, flows.project, name)
        return sorted(flow_runs.page(tx, flows.project.id, RunFilter(flow.id), limit=1000), key=lambda one: one.number)


def history(flows: Flows, name: str = "f", **chosen: Any) -> list[Firing]:
    """The newest first."""
    wanted = {"trigger": None, "states": None, "limit": 1000, "cursor": None} | chosen
    return list(triggers.history(flows.deps, flows.project, name, **wanted).items)


def told(flows: Flows, name: str = "f") -> list[tuple[str, str]]:
    return [(one.state.value, one.reason) for one in history(flows, name)]


def the_trigger(flows: Flows, name: str = "f", number: int = 1) -> TriggerView:
    return triggers.get(flows.deps, flows.project, name, str(number))


def commit(flows: Flows, **files: str) -> str:
    return a_commit(flows.deps, {path.replace("__", "/"): text.encode() for path, text in files.items()}).id


def problems(flows: Flows, text: str, name: str = "f") -> list[str]:
    with pytest.raises(Invalid) as error:
        flows.save(text, name)
    return [one["message"] for one in error.value.details["problems"]]


# Commits ------------------------------------------------------------------------------------------------------------


def test_every_new_commit_starts_one_run(flows: Flows) -> None:
    commit(flows, a="before")
    flows.save(ON_COMMIT)
    look(flows)
    assert runs_of(flows) == []

    made = [commit(flows, a="1"), commit(flows, a="2"), commit(flows, a="3")]
    look(flows)
    look(flows)
    found = runs_of(flows)
    assert [run.trigger.commit for run in found] == made
    assert {(run.trigger.type, run.trigger.by, run.created_by) for run in found} == {("commit", "xray@main", "maria")}
    assert [(one.state.value, one.run_id) for one in history(flows)] == [("fired", run.id) for run in found[::-1]]
    assert the_trigger(flows).trigger.fired_at is not None


def test_the_first_commit_of_a_branch_fires_without_its_history(flows: Flows) -> None:
    a_dataset(flows.deps, "xray")
    flows.save(ON_COMMIT)
    assert "does not exist" in the_trigger(flows).problem
    commit(flows, a="1")
    newest = commit(flows, a="2")
    look(flows)
    assert [run.trigger.commit for run in runs_of(flows)] == [newest]


def test_a_step_reads_the_commit_that_fired(flows: Flows) -> None:
    commit(flows, a="0")
    text = """steps:
  data: {dataset: "xray@${trigger.commit}"}
  one: {command: [echo], inputs: {data: "${steps.data}"}, params: {of: "${trigger.commit}"}}
triggers: [{type: commit, ref: xray@main}]
"""
    flows.save(text)
    first, newest = commit(flows, a="1"), commit(flows, a="2")
    look(flows)
    flows.round()
    ran = [Run(flows, run.id) for run in runs_of(flows)]
    assert [one.inputs("one") for one in ran] == [{"MILL_INPUT_DATA": {"a": b"1"}}, {"MILL_INPUT_DATA": {"a": b"2"}}]
    assert [one.params("one")["of"] for one in ran] == [first, newest]
    assert flows.start().row.trigger.commit == newest, "by hand, too"


def test_only_commits_that_change_the_paths_fire(flows: Flows) -> None:
    commit(flows, train__a="1", readme="1")
    flows.save(STEPS + 'triggers: [{type: commit, ref: xray@main, paths: ["train/**"]}]\n')
    commit(flows, train__a="1", readme="2")
    wanted = commit(flows, train__a="2", readme="2")
    look(flows)
    assert [run.trigger.commit for run in runs_of(flows)] == [wanted]
    assert told(flows) == [("fired", ""), ("skipped", "No file that changed matches train/**.")]


def test_a_window_fires_once_with_the_newest_commit(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(STEPS + "triggers: [{type: commit, ref: xray@main, debounce: 5m}]\n")
    commit(flows, a="1")
    look(flows)
    flows.world.clock.advance(200)
    newest = commit(flows, a="2")
    look(flows)
    assert runs_of(flows) == []
    assert [one.state.value for one in history(flows)] == ["waiting"]
    flows.world.clock.advance(100)  # five minutes after the first
    look(flows)
    assert [run.trigger.commit for run in runs_of(flows)] == [newest]
    assert [one.commits for one in history(flows)] == [2]
    flows.world.clock.advance(1000)
    look(flows)
    assert len(runs_of(flows)) == 1


def test_a_dataset_that_is_gone_is_told(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(ON_COMMIT)
    dataset = a_dataset(flows.deps, "xray")
    dataset_service.delete(flows.deps, flows.world.maria, dataset)
    look(flows)
    assert the_trigger(flows).problem == "Dataset of xray@main no longer exists."
    commit(flows, a="again")  # another dataset of the name
    look(flows)
    assert len(runs_of(flows)) == 1
    assert the_trigger(flows).problem == ""


# Schedules ----------------------------------------------------------------------------------------------------------


def cron(flows: Flows, when: str, missed: str = "once", zone: str = "UTC") -> None:
    flows.save(STEPS + f'triggers: [{{type: cron, cron: "{when}", timezone: {zone}, missed: {missed}}}]\n')


def times_of(flows: Flows) -> list[str]:
    return [f"{run.trigger.scheduled_at:%d %H:%M}" for run in runs_of(flows) if run.trigger.scheduled_at]


def test_a_schedule_starts_a_run_at_each_time(flows: Flows) -> None:
    cron(flows, "*/15 * * * *")
    assert the_trigger(flows).trigger.next_at == datetime(2026, 1, 1, 12, 15, tzinfo=UTC)
    for _ in range(60):  # half an hour
        flows.world.clock.advance(30)
        look(flows)
    assert times_of(flows) == ["01 12:15", "01 12:30"]
    assert {run.trigger.by for run in runs_of(flows)} == {"*/15 * * * *"}


@pytest.mark.parametrize(
    ("missed", "ran", "skipped"),
    [
        ("once", ["01 15:00"], "2 times from 2026-01-01T13:00:00+00:00 to 2026-01-01T14:00:00+00:00."),
        ("skip", [], "3 times from 2026-01-01T13:00:00+00:00 to 2026-01-01T15:00:00+00:00."),
        ("all", ["01 13:00", "01 14:00", "01 15:00"], None),
    ],
)
def test_times_without_a_server(flows: Flows, missed: str, ran: list[str], skipped: str | None) -> None:
    cron(flows, "0 * * * *", missed)
    flows.world.clock.advance(3 * 3600 + 600)
    look(flows)
    assert times_of(flows) == ran
    assert [reason[: len(skipped or "")] for state, reason in told(flows) if state == "skipped"] == (
        [skipped] if skipped else []
    )
    flows.world.clock.advance(3000)
    look(flows)
    assert times_of(flows) == [*ran, "01 16:00"]


def test_time_while_disabled_is_not_made_up_for(flows: Flows) -> None:
    cron(flows, "0 * * * *", "all")
    triggers.disable(flows.deps, flows.world.maria, flows.project, "f", "1")
    assert the_trigger(flows).problem == "Disabled by maria."
    flows.world.clock.advance(4 * 3600)
    look(flows)
    triggers.enable(flows.deps, flows.world.maria, flows.project, "f", "1")
    look(flows)
    assert runs_of(flows) == []
    flows.world.clock.advance(3600)
    look(flows)
    assert times_of(flows) == ["01 17:00"]


# Ends of other flows ------------------------------------------------------------------------------------------------


def test_the_end_of_another_flow(flows: Flows) -> None:
    flows.save("defaults: {remember: false}\n" + STEPS, "first")
    flows.save(STEPS + "triggers: [{type: flow, flow: first}]\n", "good")
    flows.save(STEPS + "triggers: [{type: flow, flow: first, state: failed}]\n", "bad")
    flows.save(STEPS + "triggers: [{type: flow, flow: first, state: any}]\n", "both")
    flows.start(name="first").end("one", values={"n": 1})
    failed = flows.start(name="first").end("one", exit_code=1)
    look(flows)
    assert {name: [run.trigger.by for run in runs_of(flows, name)] for name in ("good", "bad", "both")} == {
        "good": ["first#1"],
        "bad": ["first#2"],
        "both": ["first#1", "first#2"],
    }
    failed.retry().end("one", values={"n": 2})  # it ends a second time, well
    look(flows)
    assert [run.trigger.by for run in runs_of(flows, "good")] == ["first#1", "first#2"]


# Once ---------------------------------------------------------------------------------------------------------------


def test_two_servers_start_one_run_for_each_occurrence(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(STEPS + 'triggers: [{type: commit, ref: xray@main}, {type: cron, cron: "* * * * *"}]\n')
    made = []
    for number in range(1, 6):
        made.append(commit(flows, a=str(number)))
        flows.world.clock.advance(60)
        together(lambda: look(flows), lambda: look(flows, replace(flows.deps)))
    found = runs_of(flows)
    assert [run.trigger.commit for run in found if run.trigger.type == "commit"] == made
    assert len([run for run in found if run.trigger.type == "cron"]) == 5
    assert {one.state.value for one in history(flows)} == {"fired"}


@pytest.mark.parametrize("step", ["noticed", "pinned", "claimed"])
def test_a_server_killed_at_any_step_leaves_one_run(
    flows: Flows, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    commit(flows, a="0")
    flows.save(ON_COMMIT)
    newest = commit(flows, a="1")
    noticing.notice_commits(flows.deps, flows.world.clock.now())
    with monkeypatch.context() as patched:
        if step == "pinned":  # everything of the run is there, but its row
            patched.setattr(starting, "_insert", _killed)
        if step == "claimed":  # in the transaction that makes the run
            patched.setattr(flow_triggers, "lock", _killed)
        if step != "noticed":
            with pytest.raises(_Killed):
                firing.start_due(flows.deps, flows.world.clock.now())
    assert runs_of(flows) == []
    look(flows)
    look(flows)
    assert [run.trigger.commit for run in runs_of(flows)] == [newest]


def test_a_killed_server_between_looking_and_noticing(flows: Flows, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(flows, a="0")
    flows.save(ON_COMMIT)
    newest = commit(flows, a="1")
    with monkeypatch.context() as patched:
        patched.setattr(flow_firings, "insert", _killed)
        with pytest.raises(_Killed):
            noticing.notice_commits(flows.deps, flows.world.clock.now())
    look(flows)
    assert [run.trigger.commit for run in runs_of(flows)] == [newest]


def test_a_lake_that_is_away_only_delays(flows: Flows, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(flows, a="0")
    flows.save(ON_COMMIT)
    newest = commit(flows, a="1")
    with monkeypatch.context() as patched:
        patched.setattr(saving, "bundle_of", _away)
        look(flows)
    assert [one.state.value for one in history(flows)] == ["waiting"]
    look(flows)
    assert [run.trigger.commit for run in runs_of(flows)] == [newest]


def test_what_fails_again_and_again_is_given_up(flows: Flows, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(flows, a="0")
    flows.save(ON_COMMIT)
    commit(flows, a="1")
    monkeypatch.setattr(saving, "bundle_of", lambda *_: 1 / 0)
    for _ in range(5):
        look(flows)
    assert told(flows) == [("refused", "Unexpected error; see the server's log.")]


# Rights -------------------------------------------------------------------------------------------------------------


def test_who_lost_the_role_starts_nothing_and_is_told(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(ON_COMMIT)
    take_role(flows, "maria")
    commit(flows, a="1")
    look(flows)
    reason = "maria, who the flow runs as, has no role in project default."
    assert runs_of(flows) == []
    assert [(state, why[: len(reason)]) for state, why in told(flows)] == [("refused", reason)]
    view = the_trigger(flows)
    assert not view.trigger.is_enabled and view.problem.startswith(reason)
    boss = an_actor(flows.deps, "boss", default=Role.ADMIN)
    happened = [one for one in activity.latest(flows.deps, boss, project="default", limit=5) if one.reason]
    assert [(one.action, one.subject, one.reason) for one in happened] == [
        ("flow.disable-trigger", "default/f", view.problem)
    ]

    commit(flows, a="2")
    look(flows)
    assert len(told(flows)) == 1
    with pytest.raises(Conflict, match="Cannot enable the trigger: maria"):
        triggers.enable(flows.deps, boss, flows.project, "f", "1")
    flows.save(ON_COMMIT, actor=boss)  # the same text, in another name
    triggers.enable(flows.deps, boss, flows.project, "f", "1")
    newest = commit(flows, a="3")
    look(flows)
    assert [(run.trigger.commit, run.created_by, run.run_as) for run in runs_of(flows)] == [(newest, "boss", "boss")]


def test_a_service_account_runs_what_its_flow_says(flows: Flows) -> None:
    commit(flows, a="0")
    an_actor(flows.deps, "robot", default=Role.MEMBER)
    boss = an_actor(flows.deps, "boss", default=Role.ADMIN)
    flows.save(ON_COMMIT + "run_as: service:robot\n", actor=boss)
    commit(flows, a="1")
    look(flows)
    assert [(run.created_by, run.run_as) for run in runs_of(flows)] == [("robot", "robot")]
    assert the_trigger(flows).run_as == "robot"


def test_a_busy_flow_skips_and_says_so(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(ON_COMMIT + "concurrency: {limit: 1, then: skip}\n")
    commit(flows, a="1")
    commit(flows, a="2")
    look(flows)
    assert told(flows) == [("skipped", "Skipped: f#1 had not ended."), ("fired", "")]
    assert [run.phase.value for run in runs_of(flows)] == ["running", "skipped"]


def test_a_run_that_cannot_start_is_refused_with_the_reason(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save("params: {n: {type: int}}\n" + ON_COMMIT)
    commit(flows, a="1")
    look(flows)
    assert [state for state, _ in told(flows)] == ["refused"]
    assert "n" in told(flows)[0][1]
    with pytest.raises(Conflict, match="not started"):
        triggers.fire(flows.deps, flows.world.maria, flows.project, "f", "1")
    fired = triggers.fire(flows.deps, flows.world.maria, flows.project, "f", "1", {"n": 3})
    assert [(run.id, run.params) for run in runs_of(flows)] == [(fired.run_id, {"n": 3})]


# Saving -------------------------------------------------------------------------------------------------------------

TWO = STEPS + 'triggers: [{type: commit, ref: xray@main}, {type: cron, cron: "0 3 * * *"}]\n'


def test_triggers_are_those_of_the_newest_version_and_keep_their_state(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(TWO)
    commit(flows, a="1")
    look(flows)
    triggers.disable(flows.deps, flows.world.maria, flows.project, "f", "2")
    before = triggers.list_all(flows.deps, flows.project, "f")
    text = """triggers:
  - {type: webhook, name: now}
  - {type: cron, cron: "0 3 * * *", missed: all}
  - {type: commit, ref: xray@main}
"""
    flows.save(STEPS + text)
    after = triggers.list_all(flows.deps, flows.project, "f")
    assert [view.trigger.id for view in after[1:]] == [before[1].trigger.id, before[0].trigger.id]
    assert [view.trigger.is_enabled for view in after] == [True, False, True]
    assert after[2].trigger.fired_at == before[0].trigger.fired_at
    assert after[1].trigger.settings["missed"] == "all"

    flows.save(STEPS + "description: nothing by itself\n")
    assert triggers.list_all(flows.deps, flows.project, "f") == []
    assert len(history(flows)) == 1  # what they fired stays
    commit(flows, a="2")
    look(flows)
    assert len(runs_of(flows)) == 1


def test_a_removed_flow_starts_nothing(flows: Flows) -> None:
    commit(flows, a="0")
    flows.save(STEPS + "triggers: [{type: commit, ref: xray@main, debounce: 1m}]\n")
    commit(flows, a="1")
    look(flows)
    saving.remove(flows.deps, flows.world.maria, flows.project, "f")
    flows.world.clock.advance(3600)
    look(flows)
    assert triggers.list_all(flows.deps, flows.project) == []
    with pytest.raises(NotFound, match="No flow 'f'"):
        history(flows)


def test_flows_that_would_start_each_other(flows: Flows) -> None:
    a_dataset(flows.deps, "xray")
    flows.save(STEPS, "a")
    flows.save(STEPS + "triggers: [{type: flow, flow: a}]\n", "b")
    publish = (
        "steps:\n  one: {command: [echo], outputs: {o: {type: directory}}}\n"
        'publish: [{output: "${steps.one.outputs.o}", to: made@main}]\n'
    )
    assert problems(flows, STEPS + "triggers: [{type: flow, flow: b}]\n", "a") == [
        "These flows would start each other for ever: a → b → a."
    ]
    a_dataset(flows.deps, "made")
    flows.save(publish + "triggers: [{type: flow, flow: b}]\n", "c")
    found = problems(flows, STEPS + "triggers: [{type: commit, ref: made@main}]\n", "a")
    assert found == ["These flows would start each other for ever: a → b → c → a."]
    assert problems(flows, STEPS + "triggers: [{type: flow, flow: a}]\n", "a") == [
        "A flow cannot start itself when it ends."
    ]


BAD = [
    ("{type: cron, cron: '61 * * * *'}", "'61 * * * *' is not a cron expression: bad minute."),
    ("{type: cron, cron: '* * *'}", "'* * *' is not a cron expression."),
    ("{type: cron, cron: '0 0 30 2 *'}", "'0 0 30 2 *' is not a cron expression: bad day-of-month."),
    ("{type: cron, cron: '0 3 * * *', timezone: Europe/Berlyn}", "'Europe/Berlyn' is not a known time zone."),
    ("{type: cron, cron: '0 3 * * *', timezone: ../../etc/passwd}", "'../../etc/passwd' is not a known time zone."),
    ("{type: cron, cron: '0 3 * * *', missed: twice}", "missed cannot be 'twice'."),
    ("{type: cron, cron: 5}", "cron must be text, not a whole number (5)."),
    ("{type: commit, ref: nothing@main}", "Project default has no dataset 'nothing'."),
    ("{type: commit, ref: elsewhere/xray@main}", "No project 'elsewhere' found, or you have no access to it."),
    ("{type: commit, ref: xray@main, debounce: 5}", "'5' has no unit."),
    ("{type: commit, ref: xray@main, paths: train}", "paths must be a list of patterns."),
    ("{type: webhook, name: A b}", "'A b' is not a valid name for a webhook."),
    ("{type: flow, flow: nothing}", "Project default has no flow 'nothing'."),
    ("{type: flow, flow: g, state: done}", "state cannot be 'done'."),
    ("{type: webhook, name: x}, {type: webhook, name: x}", "Trigger 2 is the same as trigger 1."),
]


def test_bad_triggers_are_refused_when_the_flow_is_saved(flows: Flows) -> None:
    a_dataset(flows.deps, "xray")
    flows.save(STEPS, "g")
    for trigger, message in BAD:
        assert problems(flows, STEPS + f"triggers: [{trigger}]\n") == [message]


def test_unknown_triggers_and_secrets_of_others(flows: Flows) -> None:
    cron(flows, "0 3 * * *")
    with pytest.raises(NotFound, match="No trigger '7'"):
        triggers.fire(flows.deps, flows.world.maria, flows.project, "f", "7")
    with pytest.raises(BadRequest, match="Only webhooks have a secret"):
        triggers.rotate_secret(flows.deps, flows.world.maria, flows.project, "f", "1")


def test_history_in_pages(flows: Flows) -> None:
    cron(flows, "* * * * *", "all")
    flows.world.clock.advance(5 * 60)
    look(flows)
    first = triggers.history(flows.deps, flows.project, "f", trigger="1", states=None, limit=3, cursor=None)
    rest = triggers.history(flows.deps, flows.project, "f", trigger="1", states=None, limit=3, cursor=first.next)
    times = [one.scheduled_at for one in [*first.items, *rest.items]]
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert times == [start + timedelta(minutes=number) for number in (5, 4, 3, 2, 1)]
    assert rest.next is None


# Help ---------------------------------------------------------------------------------------------------------------


class _Killed(BaseException):
    """As kill -9: nobody catches it."""


def _killed(*_: Any, **__: Any) -> Any:
    raise _Killed


def _away(*_: Any) -> Any:
    raise Unavailable("The lake is away.")


def take_role(flows: Flows, name: str) -> None:
    with flows.deps.db.write() as tx:
        user = users.find(tx, name)
        assert user is not None
        projects.remove_member(tx, flows.project.id, user.id)


def together(*calls: Callable[[], object]) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        try:
            barrier.wait()
            call()
        except BaseException as error:  # told by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
