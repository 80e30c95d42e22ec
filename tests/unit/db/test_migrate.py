"""Migrations build exactly the tables of db/tables, and older and newer databases are treated as promised."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Connection, Inspector, MetaData, Table, inspect, text
from sqlalchemy.exc import IntegrityError

from millpond.db import computes, experiments, jobs, metrics, migrate, nodes, placements, run_values
from millpond.db.engine import Database
from millpond.errors import SetupError
from millpond.model.job import JobState
from millpond.model.job_spec import Dependency, JobInput, JobKind, JobSpec
from millpond.model.series import Summary
from millpond.services import setup
from millpond.testing.clock import NOON
from millpond.testing.postgres import Postgres

A_PROJECT = text(
    "INSERT INTO project (id, name, description, created_at) VALUES ('p', 'mill', '', '2026-01-01 00:00:00')"
)


@contextmanager
def opened(url: str) -> Iterator[Database]:
    with closing(Database(url)) as db:
        yield db


def schema(db: Database) -> dict[str, Any]:
    """Everything the database knows of its tables, in an order of its own."""
    with db.read() as tx:
        found = inspect(tx)
        tables = {name: table(found, name) for name in found.get_table_names() if name != "alembic_version"}
        if db.is_sqlite:
            rows = tx.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
            for row in rows:
                if row.name in tables:
                    tables[row.name]["without rowid"] = "WITHOUT ROWID" in row.sql
        return tables


def table(found: Inspector, name: str) -> dict[str, Any]:
    def ordered(items: list[Any]) -> list[str]:
        return sorted(repr(sorted(item.items())) for item in items)

    return {
        "columns": [
            (column["name"], repr(column["type"]), column["nullable"], column.get("default"))
            for column in found.get_columns(name)
        ],
        "primary key": found.get_pk_constraint(name),
        "foreign keys": ordered(found.get_foreign_keys(name)),
        "unique": ordered(found.get_unique_constraints(name)),
        "indexes": [
            (index["name"], index["column_names"], bool(index["unique"]), conditions(index))
            for index in found.get_indexes(name)
        ],
    }


def triggers(db: Database) -> list[tuple[Any, ...]]:
    """With what they do."""
    of_postgres = (
        "SELECT tgname, pg_get_triggerdef(oid), pg_get_functiondef(tgfoid) FROM pg_trigger WHERE NOT tgisinternal "
    )
    of_sqlite = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' "
    with db.read() as tx:
        return [tuple(row) for row in tx.execute(text(f"{of_sqlite if db.is_sqlite else of_postgres} ORDER BY 1"))]


def conditions(index: Any) -> dict[str, str]:
    return {key: str(value) for key, value in index.get("dialect_options", {}).items()}


@pytest.fixture(params=["sqlite", "postgres"])
def two_urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'a.db'}", f"sqlite:///{tmp_path / 'b.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.database() as first, server.database() as second:
        yield first, second


def test_migrations_build_the_tables(two_urls: tuple[str, str]) -> None:
    with opened(two_urls[0]) as migrated, opened(two_urls[1]) as created:
        with migrate._migrating(migrated) as tx:
            migrate.upgrade(tx)
        migrate.prepare(created, NOON)
        with migrated.read() as old, created.read() as new:
            assert migrate.current_revision(old) == migrate.current_revision(new) == migrate.HEAD
        built, wanted = schema(migrated), schema(created)
        assert triggers(migrated) == triggers(created) != []
    assert built.keys() == wanted.keys()
    for name, shape in wanted.items():
        assert built[name] == shape, name


def test_revisions_are_the_files() -> None:
    files = sorted((Path(migrate.__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))
    assert [file.name.split("_")[0] for file in files] == list(migrate.REVISIONS)


def test_prepare_twice_does_nothing(database_url: str) -> None:
    with opened(database_url) as db:
        assert migrate.prepare(db, NOON) is None
        with db.write() as tx:
            tx.execute(A_PROJECT)
        assert migrate.prepare(db, NOON) is None
        with db.read() as tx:
            assert migrate.current_revision(tx) == migrate.HEAD
            assert tx.scalar(text("SELECT name FROM project")) == "mill"


def test_newer_database_that_only_has_more_is_used(database_url: str) -> None:
    with opened(database_url) as db:
        migrate.prepare(db, NOON)
        setup.identify(db, NOON)
        with db.write() as tx:
            tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        for usable_from in ("NULL", "'0054'", f"'{migrate.HEAD}'"):
            with db.write() as tx:
                tx.execute(text(f"UPDATE server SET usable_from = {usable_from}"))
            assert migrate.prepare(db, NOON) is None
            assert migrate.is_usable_by_us(db)
        with db.read() as tx:
            assert migrate.current_revision(tx) == "9999"


def test_servers_that_start_together_migrate_once(postgres: Postgres) -> None:
    with postgres.database() as url, opened(url) as first, opened(url) as second:
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(lambda db: migrate.prepare(db, NOON), (first, second))) == [None, None]
        with first.read() as tx:
            assert migrate.current_revision(tx) == migrate.HEAD


def test_newer_database_is_refused(database_url: str) -> None:
    with opened(database_url) as db:
        migrate.prepare(db, NOON)
        setup.identify(db, NOON)
        with db.write() as tx:
            tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
            tx.execute(text("UPDATE server SET usable_from = '9998'"))
        with pytest.raises(SetupError, match=f"newer Millpond: it has revision 9999.*up to {migrate.HEAD}"):
            migrate.prepare(db, NOON)


def test_older_database_is_copied_aside_and_then_migrated(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'millpond.db'}") as db:
        make_first_database(db)
        copy = migrate.prepare(db, NOON)
        with db.read() as tx:
            assert migrate.current_revision(tx) == migrate.HEAD
    assert copy == tmp_path / "millpond.db.before-0001-20260101T120000Z"
    with opened(f"sqlite:///{copy}") as kept, kept.read() as tx:
        assert migrate.current_revision(tx) == "0001"
        assert tx.scalar(text("SELECT name FROM project")) == "mill"


def test_what_the_first_version_stored_is_there_after_the_second_migration(database_url: str) -> None:
    with opened(database_url) as db:
        make_first_database(db)
        migrate.prepare(db, NOON)
        with db.read() as tx:
            assert tx.execute(text("SELECT name, sequence FROM project")).one() == ("mill", 0)
            assert tx.execute(text("SELECT name, retention FROM dataset")).one() == ("xray", None)
            packs = tx.execute(text("SELECT id, state, problem IS NULL FROM pack ORDER BY id")).all()
        # What was condemned before was bad, and stays so.
        assert [(row[0], row[1], bool(row[2])) for row in packs] == [("a", "live", True), ("b", "condemned", False)]


def test_lineage_is_filled_from_the_commits_and_jobs_that_are_there(database_url: str) -> None:
    data, code, output, merged = ("d" * 64, "c" * 64, "0" * 64, "a" * 64)
    an_input = {"project": "mill", "dataset": "xray", "dataset_id": "d", "ref": "main", "commit_id": data, "env": "X"}
    documents = {
        data: ([], {"import": {"uri": "s3://bucket/x", "connection": "b"}}),
        code: ([], {}),
        output: ([], {"job": "j1", "inputs": [f"mill/xray@{data}"], "code": code}),
        merged: ([data, code], {}),
    }
    with opened(database_url) as db:
        make_first_database(db)
        with db.write() as tx:
            migrate.upgrade(tx, "0012")
            for commit_id, (parents, lineage) in documents.items():
                insert_row(tx, "commit_", id=commit_id, dataset_id="d", parents=parents, lineage=lineage)
            insert_row(tx, "run", id="r1", project_id="p")
            insert_row(
                tx, "job", id="j1", project_id="p", run_id="r1", kind="training", inputs=[an_input], code_commit=code
            )
        migrate.prepare(db, NOON)
        with db.read() as tx:
            rows = tx.execute(text("SELECT source_id, made_id, role, maker_kind, maker_id FROM lineage_edge")).all()
    assert {tuple(row) for row in rows} == {
        (None, data, "origin", "import", "s3://bucket/x"),
        (None, code, "origin", "commit", ""),
        (data, output, "input", "job", "j1"),
        (code, output, "code", "job", "j1"),
        (data, merged, "parent", "merge", ""),
        (code, merged, "parent", "merge", ""),
        (data, None, "input", "job", "j1"),
        (code, None, "code", "job", "j1"),
    }


def test_what_was_an_agent_is_a_compute_and_its_agent(database_url: str) -> None:
    with opened(database_url) as db:
        make_first_database(db)
        with db.write() as tx:
            migrate.upgrade(tx, "0012")
            insert_row(tx, "site", id="s", name="lab")
            insert_row(tx, "agent", id="a", name="gpu1", site_id="s", driver="process", version="0.1.0", instance="i",
                       cordoned_by="maria", cordoned_at=NOON, trusts_all=True)  # fmt: skip
            insert_row(tx, "agent", id="old", name="detached:old", site_id="s", revoked_at=NOON, detached_at=NOON)
            insert_row(tx, "node", agent_id="a", name="n1", gpus=8)
            insert_row(tx, "trust", agent_id="a", project_id="p")
            insert_row(tx, "compute_test", id="t", agent_id="a")
            insert_row(tx, "run", id="r1", project_id="p")
            insert_row(tx, "job", id="j1", project_id="p", run_id="r1", kind="training")
            insert_row(tx, "placement", id="p1", job_id="j1", agent_id="a", node="n1", state="running")
            insert_row(tx, "log_chunk", placement_id="p1", begin=0)
            insert_row(tx, "token", id="k1", agent_id="a", hash=b"1" * 32)
            insert_row(tx, "token", id="k2", placement_id="p1", hash=b"2" * 32)
        migrate.prepare(db, NOON)
        with db.read() as tx:
            found = computes.find(tx, "gpu1")
            assert found is not None and found.agent is not None
            assert (found.id, found.site, found.cordoned_by, found.trusts_all) == ("a", "lab", "maria", True)
            assert (found.agent.id, found.agent.version, found.agent.instance) == ("a", "0.1.0", "i")
            assert [(node.name, node.gpus, node.agent_id) for node in nodes.present(tx)] == [("n1", 8, "a")]
            assert [one.name for one in computes.all_computes(tx)] == ["gpu1"]
            placement = placements.get(tx, "p1")
            assert placement is not None and (placement.compute_id, placement.agent_id) == ("a", "a")
            for table, count in {"trust": 1, "compute_test": 1, "log_chunk": 1, "token": 2, "agent": 2}.items():
                assert tx.scalar(text(f"SELECT count(*) FROM {table}")) == count, table
        with pytest.raises(IntegrityError), db.write() as tx:
            tx.execute(text("DELETE FROM compute WHERE id = 'a'"))  # references are checked again


def insert_row(tx: Connection, name: str, /, **values: Any) -> None:
    """A row of a table as it is now; what is not given and must not be null is nothing, of its type."""
    found = Table(name, MetaData(), autoload_with=tx)
    empty = {str: "", int: 0, float: 0.0, bool: False, datetime: NOON, dict: {}, list: []}
    missing = {
        column.name: {} if isinstance(column.type, JSON) else empty.get(column.type.python_type, "")
        for column in found.c
        if not column.nullable and column.server_default is None and column.name not in values
    }
    tx.execute(found.insert().values(**missing | values))


def make_first_database(db: Database) -> None:
    """A database as the first version left it."""
    with db.write() as tx:
        migrate.upgrade(tx, "0001")
        tx.execute(A_PROJECT)
        tx.execute(
            text(
                "INSERT INTO dataset (id, project_id, name, kind, description, created_at, created_by, active_at,"
                " next_record) VALUES ('d', 'p', 'xray', 'data', '', '2026-01-01 00:00:00', 'maria',"
                " '2026-01-01 00:00:00', 1)"
            )
        )
        for pack, state in (("a", "live"), ("b", "condemned")):
            tx.execute(
                text(
                    "INSERT INTO pack (id, project_id, owner, state, bytes, blobs, promised_at)"
                    " VALUES (:id, 'p', 'user:u', :state, 1, 1, '2026-01-01 00:00:00')"
                ),
                {"id": pack, "state": state},
            )


A_JOB_OF_0012 = """
INSERT INTO job (id, project_id, name, number, kind, command, env, cpu, memory_bytes, gpu_hundredths, image, inputs,
  state, reasons, run_id, created_by, queued_at, wanted_compute, priority, timeout_seconds, retries, retry_on, after,
  ports, idle_seconds, secrets, options, environment_source, processes)
VALUES ('j1', 'p', 'train', 1, 'interactive', '["python", "t.py"]', '{"A": "1"}', 2, 5000000000, 150, 'python:3.12',
  '[{"project": "mill", "dataset": "xray", "dataset_id": "d1", "ref": "main", "commit_id": "c1",
     "env": "MILL_DATA_XRAY"}]',
  'succeeded', '["Done."]', 'r1', 'maria', '2026-01-01 00:00:00', 'cluster', 3, 60, 2, '["oom"]',
  '[{"job_id": "j0", "when": "any"}]', '[8888]', 600, '{"K": "S"}', '{"partition": "long"}', 'e1', 4)
"""
A_PLAIN_JOB = """
INSERT INTO job (id, project_id, name, number, kind, command, env, cpu, memory_bytes, gpu_hundredths, inputs, state,
  reasons, run_id, created_by, queued_at)
VALUES ('j2', 'p', 'plain', 1, 'training', '["true"]', '{}', 0, 0, 0, '[]', 'queued', '[]', 'r2', 'maria',
  '2026-01-01 00:00:00')
"""
A_RUN = """
INSERT INTO run (id, project_id, experiment, name, state, params, tags, created_by, started_at, seen_at)
VALUES (:id, 'p', :experiment, 'train', 'running', '{}', :tags, 'maria', '2026-01-01 00:00:00', '2026-01-01 00:00:00')
"""


def test_columns_of_old_jobs_become_their_specification(two_urls: tuple[str, str]) -> None:
    with opened(two_urls[0]) as db:
        with db.write() as tx:
            migrate.upgrade(tx, "0012")
            tx.execute(A_PROJECT)
            tx.execute(text(A_RUN), {"id": "r1", "experiment": "lungs", "tags": '{"git.commit": "abc", "later": "x"}'})
            tx.execute(text(A_RUN), {"id": "r2", "experiment": "default", "tags": "{}"})
            tx.exec_driver_sql(A_JOB_OF_0012)
            tx.exec_driver_sql(A_PLAIN_JOB)
        migrate.prepare(db, NOON)
        with db.read() as tx:
            job, plain = jobs.get(tx, "j1"), jobs.get(tx, "j2")
            assert tx.scalar(text("SELECT gpus FROM job WHERE id = 'j1'")) == 600
    assert job is not None and plain is not None
    assert plain.spec == JobSpec(command=("true",))
    assert (job.name, job.status.state, job.status.reasons) == ("train", JobState.SUCCEEDED, ("Done.",))
    assert job.spec == JobSpec(
        command=("python", "t.py"), kind=JobKind.INTERACTIVE, env={"A": "1"}, cpu=2, memory_bytes=5 * 10**9,
        gpu_hundredths=150, image="python:3.12", compute="cluster", priority=3, timeout_seconds=60, retries=2,
        inputs=(JobInput("mill/xray", "main", "c1", "d1", "MILL_DATA_XRAY"),), retry_on=("oom",),
        after=(Dependency("j0", "any"),), ports=(8888,), idle_seconds=600, secrets={"K": "S"},
        options={"partition": "long"}, environment="e1", processes=4, experiment="lungs", tags={"git.commit": "abc"},
    )  # fmt: skip


A_SCRIPTS_RUN = """
INSERT INTO run (id, project_id, experiment, name, state, params, tags, created_by, started_at, seen_at)
VALUES ('r1', 'p', 'lungs', 'train', 'running', '{"lr": 0.1, "layers": [1, 2], "kind": "x"}', '{"a": "b"}', 'maria',
  '2026-01-01 00:00:00', '2026-01-01 00:00:00')
"""
A_METRIC = "INSERT INTO metric (id, run_id, key, newest, newest_step, points) VALUES (7, 'r1', 'loss', 0.5, 2, 4)"
A_POINT = text("INSERT INTO metric_point (metric_id, step, value, at) VALUES (7, :step, :value, '2026-01-01 00:00:01')")


def test_rows_of_points_become_chunks_and_values_of_runs_become_rows(two_urls: tuple[str, str]) -> None:
    with opened(two_urls[0]) as db:
        with db.write() as tx:
            migrate.upgrade(tx, "0012")
            tx.execute(A_PROJECT)
            tx.exec_driver_sql(A_SCRIPTS_RUN)
            tx.exec_driver_sql(A_METRIC)
            # In the order they came; a value of null was NaN.
            for step, value in ((0, 0.9), (2, None), (1, 0.7), (2, 0.5)):
                tx.execute(A_POINT, {"step": step, "value": value})
        migrate.prepare(db, NOON)
        with db.read() as tx:
            assert run_values.params(tx, ["r1"])["r1"] == {"lr": 0.1, "layers": [1, 2], "kind": "x"}
            assert run_values.tags(tx, ["r1"])["r1"] == {"a": "b"}
            assert [one.name for one in experiments.of_project(tx, "p")] == ["lungs"]
            assert metrics.summaries(tx, ["r1"])["r1"]["loss"] == Summary(4, 0.5, 2, 1767225601000, 0.5, 2, 0.9, 0)
            ((_, (chunk,)),) = metrics.chunks(tx, [7], start=None, end=None)
    assert list(chunk.decode().steps) == [0, 2, 1, 2]
    assert [str(value) for value in chunk.decode().values] == ["0.9", "nan", "0.7", "0.5"]
