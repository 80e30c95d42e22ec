"""Lineage is answered by one statement that an index serves."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sqlalchemy import event, text
from sqlalchemy.dialects import sqlite

from millpond.db import lineage, lineage_steps, projects
from millpond.db.engine import Database
from millpond.model.dataset import DatasetKind
from millpond.model.job_spec import JobInput
from millpond.model.lineage import LineageDirection, LineageEdge, LineageRole, LineageStep, Maker
from millpond.model.people import Project
from millpond.testing.builders_work import add_commit, add_job
from millpond.testing.clock import NOON

UP, DOWN = LineageDirection.UP, LineageDirection.DOWN


@pytest.fixture(autouse=True)
def project(db: Database) -> None:
    with db.write() as tx:
        projects.insert(tx, Project("project1", "default", "", NOON))


def steps(
    db: Database, commit_id: str, way: LineageDirection, *, depth: int = 5, among: set[str] | None = None
) -> list[LineageStep]:
    with db.read() as tx:
        return lineage_steps.steps(tx, commit_id, way, among=among, depth=depth, limit=1000)


def ends(found: list[LineageStep]) -> list[tuple[str | None, str | None, str]]:
    return [
        (step.source.id if step.source else None, step.made.id if step.made else None, step.role.value)
        for step in found
    ]


def an_input(commit_id: str) -> JobInput:
    return JobInput("default/xray", "main", commit_id, "d", "MILL_DATA_XRAY")


def test_a_result_is_followed_back_and_its_data_forward(db: Database) -> None:
    data, code = add_commit(db, "xray"), add_commit(db, ".code", kind=DatasetKind.CODE)
    job = add_job(db, name="train", inputs=(an_input(data),), code_commit=code)
    assert ends(steps(db, data, DOWN)) == [(data, None, "input")]
    made = {"job": job.id, "inputs": [f"default/xray@{data}"], "code": code}
    output = add_commit(db, ".outputs", kind=DatasetKind.OUTPUT, lineage=made)
    report = add_commit(db, "reports", lineage={"inputs": [f"default/.outputs@{output}"]})
    assert ends(steps(db, report, UP)) == [
        (output, report, "input"), (data, output, "input"), (code, output, "code"), (None, data, "origin"),
        (None, code, "origin"),
    ]  # fmt: skip
    assert (data, output, "input") in ends(steps(db, data, DOWN))
    assert ends(steps(db, data, DOWN))[-1] == (output, report, "input")
    nearest = steps(db, output, UP, depth=1)
    assert [step.depth for step in nearest] == [1, 1]
    assert (nearest[0].maker, nearest[0].maker_name, nearest[0].maker_project) == (
        Maker("job", job.id), "train", "default",
    )  # fmt: skip


def test_what_lies_in_other_projects_is_neither_shown_nor_followed(db: Database) -> None:
    data = add_commit(db, "xray")
    made = add_commit(db, "derived", lineage={"inputs": [f"default/xray@{data}"]})
    add_job(db, name="reader", inputs=(an_input(data),))
    assert len(steps(db, data, DOWN)) == 2
    assert steps(db, data, DOWN, among={"elsewhere"}) == []
    assert steps(db, made, UP, among={"elsewhere"}) == []


def test_a_source_that_is_gone_is_still_named(db: Database) -> None:
    lost = "ab" * 32
    made = add_commit(db, "derived", lineage={"inputs": [f"default/xray@{lost}"]})
    (step,) = steps(db, made, UP)
    assert step.source is not None and (step.source.id, step.source.dataset) == (lost, None)


def test_jobs_of_commits_are_the_newest_few(db: Database) -> None:
    code = add_commit(db, ".code", kind=DatasetKind.CODE)
    added = [add_job(db, name=f"train-{number}", code_commit=code) for number in range(5)]
    with db.read() as tx:
        assert len(lineage.jobs_of_commits(tx, [code])[code]) == 3
        assert lineage.is_named_by_job(tx, code, besides=added[0].id)


def test_both_questions_are_one_statement_that_searches_an_index(db: Database) -> None:
    """Whatever the number of edges: no scan of the table, and nothing asked of the database a second time."""
    if not db.is_sqlite:
        pytest.skip("reads SQLite's plan")
    chain = [f"{number:064x}" for number in range(2000)]
    with db.write() as tx:
        lineage.add(tx, (LineageEdge(a, b, LineageRole.INPUT, Maker("job", "j")) for a, b in pairwise(chain)))
    asked: list[str] = []
    event.listen(db.engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
    for way in (UP, DOWN):
        asked.clear()
        assert len(steps(db, chain[1000], way, depth=5)) == 5
        assert len([statement for statement in asked if "lineage_edge" in statement]) == 1
        query = lineage_steps.statement(chain[1000], way, among=None, depth=5).limit(10)
        compiled = query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
        with db.read() as tx:
            plan = [row.detail for row in tx.execute(text(f"EXPLAIN QUERY PLAN {compiled}"))]
        index = "ix_lineage_edge_made_id_id" if way is UP else "ix_lineage_edge_source_id_id"
        assert sum(index in line for line in plan) == 2, plan  # the way there, and its edges
        assert not [line for line in plan if line.startswith("SCAN lineage_edge")], plan
