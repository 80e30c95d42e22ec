"""What the server refuses, and what a run says that cannot go on: nothing is lost, and the words help."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from millpond.db import templates
from millpond.db.tables import commit, job, ref
from millpond.errors import BadRequest, Conflict, Invalid, MillError, NotFound
from millpond.model.template import Template, TemplateSpec
from millpond.services.flows import saving
from millpond.services.people import projects
from millpond.testing.builders_data import a_commit, the_admin
from tests.unit.services.flows.running import Flows

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = "steps:\n  a: {command: [a], outputs: {o: {}, n: {type: int}}}\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("steps:\n  a: {command: [a], after: [b]}\n  b: {command: [b], after: [a]}\n", 4, "→"),
        ("steps:\n  a: {command: [a], after: [a]}\n", 4, "→"),
        ("steps:\n  a: {command: [a], outputs: {o: {}, o: {}}}\n", 4, "twice"),
        ("steps:\n  a: {command: [a]}\n  a: {command: [b]}\n", 5, "twice"),
        ("stepz:\n  a: {command: [a]}\n", 3, "Unknown key 'stepz'"),
        (GOOD + "  b: {command: [b], inputs: {x: '${steps.a.outputs.n}'}}\n", 5, "a value, not files"),
        (GOOD + "  b: {command: ['${steps.a.outputs.o}']}\n", 5, "cannot be part of a text"),
        (GOOD + "  b: {component: split@1, inputs: {data: '${steps.a.outputs.n}'}}\n", 5, "a value, not files"),
        (GOOD + "  b: {component: resnet50@1, inputs: {images: '${steps.a.outputs.o}'}}\n", 5, "image-folder"),
        (GOOD + "  b: {component: nosuch@1}\n", 5, "nosuch@1"),
        (GOOD + "  b: {command: [b], each: {n: [" + "1," * 10_000 + "]}}\n", 5, "10,000"),
        (GOOD + "  b: {command: [b], retries: {count: 1, for: [sometimes]}}\n", 5, "sometimes"),
        (GOOD + "  b: {command: [b], code: ./none}\n", 5, "There are no files"),
        (GOOD + "  b: {command: [b], environment: none.txt}\n", 5, "There is no file 'none.txt'"),
        ("steps:\n  d: {dataset: '${steps.a.outputs.o}'}\n  a: {command: [a], outputs: {o: {}}}\n", 4, "dataset"),
        ("steps:\n  a: {command: [a], each: {n: [1]}}\n  d: {dataset: 'x@${each.n}'}\n", 5, "each"),
        (GOOD + "  b: {component: '${params.c}'}\nparams: {c: {type: str, default: split@1}}\n", 5, "component"),
    ],
)  # fmt: skip
def test_a_flow_with_a_mistake_is_not_saved(flows: Flows, text: str, line: int, words: str) -> None:
    with pytest.raises(Invalid) as told:
        flows.save(text)
    problems = told.value.details["problems"]
    assert isinstance(problems, list)
    assert any(one["line"] == line and words in f"{one['message']} {one['hint']}" for one in problems), problems
    with pytest.raises(NotFound):
        saving.get(flows.deps, flows.project, "f")


def test_what_is_not_yaml_says_where(flows: Flows) -> None:
    with pytest.raises(Invalid, match="Line 4: This is not YAML"):
        flows.save("steps: [\n")
    with pytest.raises(BadRequest, match="is of flow 'f', not 'g'"):
        saving.save(flows.deps, flows.world.maria, flows.project, "g", _bundle(flows))


def _bundle(flows: Flows) -> saving.Bundle:
    flows.save(GOOD)
    return saving.bundle_of(flows.deps, flows.project, saving.get(flows.deps, flows.project, "f").version)


def test_two_people_who_save_at_once_do_not_overwrite_each_other(flows: Flows) -> None:
    assert flows.save(GOOD, expected=0) == 1
    assert flows.save(GOOD + "# a comment\n", expected=1) == 1, "a comment makes no version"
    assert flows.save(GOOD.replace("[a]", "[b]"), expected=1) == 2
    with pytest.raises(Conflict, match="is at version 2, saved by maria; yours was made from version 1"):
        flows.save(GOOD.replace("[a]", "[c]"), expected=1)


@pytest.mark.parametrize("where", ["template: none", "queue: none", "templates: [some, none]"])
def test_a_place_that_is_not_there_is_refused_before_anything_runs(flows: Flows, where: str) -> None:
    with flows.deps.db.write() as tx:
        templates.insert(tx, Template("t1", "some", TemplateSpec(cpu=1), NOW, "admin", NOW, "admin"))
    with pytest.raises(NotFound, match="none"):
        flows.start(f"steps:\n  a: {{command: [a], {where}}}\n")
    with pytest.raises(NotFound, match="none"):
        flows.start("steps:\n  a: {command: [a]}\n", on="none")
    assert flows.job_names() == []
    assert flows.start(name="f", on="some").job("a").spec.on == "some"


def test_a_template_that_cannot_run_the_step_fails_it_with_the_reason(flows: Flows) -> None:
    with flows.deps.db.write() as tx:
        templates.insert(tx, Template("t1", "huge", TemplateSpec(cpu=1_000), NOW, "admin", NOW, "admin"))
    run = flows.start("steps:\n  a: {command: [a]}\n  b: {command: [b], after: [a], template: huge}\n").end("a")
    assert run.state == "failed" and "1000" in run.why("b").replace(",", "") and run.jobs == ["f-1-a"]


def test_data_of_a_project_without_a_role_is_not_found(flows: Flows) -> None:
    projects.create(flows.deps, the_admin(flows.deps), name="secret")
    a_commit(flows.deps, {"a": b"1"}, project="secret")
    with pytest.raises(NotFound):
        flows.start("steps:\n  raw: {dataset: secret/xray}\n  b: {command: [b], inputs: {x: '${steps.raw}'}}\n")


def test_a_value_that_does_not_fit_its_parameter_fails_the_step(flows: Flows) -> None:
    a_commit(flows.deps, {"cat/1": b"1"})
    text = """
steps:
  raw: {dataset: xray}
  size: {command: [size], outputs: {share: {type: float}}}
  split: {component: split@1, inputs: {data: "${steps.raw}"}, params: {val_size: "${steps.size.outputs.share}"}}
"""
    run = flows.start(text).end("size", values={"share": 3.5})
    assert run.state == "failed" and "val_size" in run.why("split") and run.jobs == ["f-1-size"]


def test_an_output_whose_commit_is_gone_fails_the_step_that_reads_it(flows: Flows) -> None:
    run = flows.start(GOOD + "  w: {command: [w], after: [a]}\n  b: {command: [b], after: [w], inputs: "
                      "{x: '${steps.a.outputs.o}'}, when: '${true}'}\n")  # fmt: skip
    run.end("a", values={"n": 1}, files={"o": {"f": b"1"}})
    with flows.deps.db.write() as tx:
        place = run.step("a").outputs["o"]["files"].partition("@")[2].partition(":")[0]
        tx.execute(job.update().values(output_commit=None))
        tx.execute(ref.delete().where(ref.c.commit_id == place))
        tx.execute(commit.delete().where(commit.c.id == place))
    run.end("w")
    assert run.state == "failed" and "no longer exists" in run.why("b")


def test_errors_name_what_is_wrong_with_a_run(flows: Flows) -> None:
    flows.save(GOOD)
    for asked, words in (
        ({"version": 9}, "f@9"),
        ({"params": {"x": 1}}, "no parameter 'x'"),
        ({"params": {"a.n.m": 1, "b.x": 1}}, "no step 'b'"),
    ):
        with pytest.raises(MillError, match=words):
            flows.start(**asked)
