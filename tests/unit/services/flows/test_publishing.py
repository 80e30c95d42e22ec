"""What a flow publishes: by the server, after the run, with the rights that `run_as` has at that moment."""

from __future__ import annotations

import pytest

from millpond.db import commits, datasets, projects, users
from millpond.errors import Invalid
from millpond.model.people import Role
from millpond.testing.builders_data import a_commit, the_admin
from millpond.testing.server import add_user
from tests.unit.services.flows.running import Flows

FLOW = """
steps:
  make: {command: [make], outputs: {out: {}}}
publish:
  - {output: "${steps.make.outputs.out}", to: "good@main"}
"""
MADE = {"files": {"out": {"a/b": b"1"}}}


def head(flows: Flows, name: str, branch: str = "main") -> str | None:
    with flows.deps.db.read() as tx:
        dataset = datasets.find(tx, flows.project.id, name)
        found = commits.find_ref(tx, dataset.id, branch) if dataset else None
    return found.commit_id if found else None


def test_the_branch_has_exactly_what_the_step_made(flows: Flows) -> None:
    before = a_commit(flows.deps, {"old": b"0"}, dataset="good")
    run = flows.start(FLOW)
    assert head(flows, "good") == before.id
    run.end("make", **MADE)
    published = head(flows, "good")
    assert run.row.published == {"good@main": published} and flows.files_of(published or "") == {"a/b": b"1"}
    with flows.deps.db.read() as tx:
        commit = commits.get(tx, published or "")
    assert commit is not None and commit.parents == (before.id,) and commit.author == "maria"
    assert (commit.lineage["step"], commit.lineage["flow_run"]) == ("f#1", run.id)

    again = flows.start(remember=False).end("make", **MADE)
    assert again.state == "succeeded" and head(flows, "good") == published, "the same content makes no new commit"


def test_nothing_is_published_by_a_run_that_failed(flows: Flows) -> None:
    run = flows.start(FLOW).end("make", exit_code=1)
    assert run.state == "failed" and head(flows, "good") is None and run.row.published == {}


@pytest.mark.parametrize("lost", ["role", "account"])
def test_rights_are_those_of_the_moment(flows: Flows, lost: str) -> None:
    """The flow was saved by maria, and is run by the administrator."""
    flows.save(FLOW)
    run = flows.start(actor=the_admin(flows.deps))
    with flows.deps.db.write() as tx:
        maria = users.find(tx, "maria")
        assert maria is not None
        if lost == "role":
            projects.set_role(tx, flows.project.id, maria.id, Role.VIEWER)
        else:
            users.set_disabled(tx, maria.id, flows.world.clock.now())
    run.end("make", **MADE)
    assert run.state == "failed" and run.reason.startswith("Publishing failed: ") and "maria" in run.reason
    assert head(flows, "good") is None
    assert run.states == {"make": "succeeded"}
    flows.save(FLOW + "# saved again\n", actor=the_admin(flows.deps))


def test_jobs_of_somebody_without_a_role_do_not_start(flows: Flows) -> None:
    run = flows.start("steps:\n  a: {command: [a]}\n  b: {command: [b], after: [a]}\n")
    with flows.deps.db.write() as tx:
        maria = users.find(tx, "maria")
        assert maria is not None
        projects.remove_member(tx, flows.project.id, maria.id)
    run.end("a")
    assert run.state == "failed" and run.why("b") == "maria no longer has access to project default."


def test_only_an_administrator_lets_a_flow_run_as_another_account(flows: Flows) -> None:
    text = FLOW + "run_as: service:robot\n"
    with pytest.raises(Invalid, match="no account 'robot'"):
        flows.save(text)
    add_user(flows.deps, "robot", roles={"default": Role.MEMBER})
    with pytest.raises(Invalid, match="Only an administrator"):
        flows.save(text)
    flows.save(text, actor=the_admin(flows.deps))
    run = flows.start().end("make", **MADE)
    with flows.deps.db.read() as tx:
        commit = commits.get(tx, head(flows, "good") or "")
    assert run.row.run_as == "robot" and commit is not None and commit.author == "robot"
    assert run.job("make").created_by == "maria"


def test_a_flow_that_publishes_to_what_triggers_it_is_refused(flows: Flows) -> None:
    with pytest.raises(Invalid, match="would start it again"):
        flows.save(FLOW + "triggers: [{type: commit, ref: good@main}]\n")
    with pytest.raises(Invalid, match="another project"):
        flows.save(FLOW.replace('"good@main"', '"other/good@main"'))
