"""Parameters and tags of runs as rows, points of metrics as chunks, experiments, parents, documents."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op

from millpond.db.metric_columns import encode_chunk
from millpond.db.tables.base import UtcTime
from millpond.model.series import Points, Summary

revision = "0023"
down_revision = "0022"

_AT_ONCE = 500
_CHUNK_POINTS = 8192
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_run = sa.table("run", *(sa.column(name) for name in ("id", "project_id", "experiment")),
                sa.column("params", sa.JSON), sa.column("tags", sa.JSON), sa.column("started_at", UtcTime))  # fmt: skip
_param = sa.table("run_param", *(sa.column(name) for name in
                                 ("run_id", "key", "project_id", "text", "json", "number", "head")))  # fmt: skip
_tag = sa.table("run_tag", *(sa.column(name) for name in ("run_id", "key", "project_id", "text", "head")))
_experiment = sa.table("experiment", sa.column("project_id"), sa.column("name"), sa.column("created_at", UtcTime),
                       sa.column("changed_at", UtcTime))  # fmt: skip
_metric = sa.table("metric", *(sa.column(name) for name in
                               ("id", "run_id", "project_id", "last_at", "least", "least_step", "greatest",
                                "greatest_step")))  # fmt: skip
_point = sa.table("metric_point", *(sa.column(name) for name in ("id", "metric_id", "step", "value")),
                  sa.column("at", UtcTime))  # fmt: skip
_chunk = sa.table("metric_chunk", *(sa.column(name) for name in
                                    ("metric_id", "points", "least_step", "greatest_step")),
                  sa.column("is_sorted", sa.Boolean), sa.column("data", sa.LargeBinary))  # fmt: skip


def upgrade() -> None:
    _create_values()
    _create_points()
    tx = op.get_bind()
    _carry_experiments(tx)
    _carry_values(tx)
    _carry_points(tx)
    op.drop_table("metric_point")
    op.drop_column("run", "params")
    op.drop_column("run", "tags")


def _create_values() -> None:
    op.add_column("run", sa.Column("parent_id", sa.String(32), nullable=True))
    op.add_column("run", sa.Column("unfolded", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.create_index("ix_run_parent_id", "run", ["parent_id"])
    op.create_index("ix_run_project_id_started_at", "run", ["project_id", "started_at", "id"])
    op.create_index("ix_run_project_id_experiment_started_at", "run", ["project_id", "experiment", "started_at", "id"])
    where = sa.text("unfolded > 0")
    op.create_index("ix_run_unfolded", "run", ["id"], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "experiment",
        sa.Column("number", _ID, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False, server_default=sa.text("'{}'")),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_experiment_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_experiment")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_experiment_project_id_name")),
    )
    _create_of_run("run_record", sa.Column("document", sa.JSON(), nullable=False))
    _create_of_run(
        "run_param",
        sa.Column("key", sa.String(250), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("json", sa.Text(), nullable=True),
        sa.Column("number", sa.Double(), nullable=True),
        sa.Column("head", sa.String(200), nullable=False),
        sa.Column("changes", sa.JSON(), nullable=True),
    )
    op.create_index("ix_run_param_value", "run_param", ["project_id", "key", "number", "head", "run_id"])
    _create_of_run(
        "run_tag",
        sa.Column("key", sa.String(250), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("head", sa.String(200), nullable=False),
    )
    op.create_index("ix_run_tag_value", "run_tag", ["project_id", "key", "head", "run_id"])


def _create_of_run(name: str, *columns: sa.Column[Any]) -> None:
    key = [column.name for column in columns if column.name == "key"]
    op.create_table(
        name,
        sa.Column("run_id", sa.String(32), nullable=False),
        *columns,
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f(f"fk_{name}_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", *key, name=op.f(f"pk_{name}")),
    )


def _create_points() -> None:
    op.execute("ALTER TABLE metric RENAME COLUMN newest TO last")
    op.execute("ALTER TABLE metric RENAME COLUMN newest_step TO last_step")
    op.add_column("metric", sa.Column("project_id", sa.String(32), nullable=False, server_default=sa.text("''")))
    op.add_column("metric", sa.Column("last_at", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    for name in ("least", "greatest"):
        op.add_column("metric", sa.Column(name, sa.Double(), nullable=True))
        op.add_column("metric", sa.Column(f"{name}_step", sa.BigInteger(), nullable=True))
    for name in ("last", "least", "greatest"):
        op.create_index(f"ix_metric_{name}", "metric", ["project_id", "key", name, "run_id"])
    op.create_table(
        "metric_batch",
        sa.Column("id", _ID, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_metric_batch_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_batch")),
    )
    op.create_index("ix_metric_batch_run_id", "metric_batch", ["run_id", "id"])
    op.create_table(
        "metric_chunk",
        sa.Column("id", _ID, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("metric_id", _ID, nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("least_step", sa.BigInteger(), nullable=False),
        sa.Column("greatest_step", sa.BigInteger(), nullable=False),
        sa.Column("is_sorted", sa.Boolean(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["metric_id"], ["metric.id"], name=op.f("fk_metric_chunk_metric_id_metric"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_chunk")),
    )
    op.create_index("ix_metric_chunk_metric_id", "metric_chunk", ["metric_id", "id"])


def _carry_experiments(tx: sa.Connection) -> None:
    first = sa.func.min(_run.c.started_at, type_=UtcTime())
    query = sa.select(_run.c.project_id, _run.c.experiment, first.label("at"))
    rows = tx.execute(query.group_by(_run.c.project_id, _run.c.experiment).order_by("at")).all()
    for row in rows:
        values = {"project_id": row.project_id, "name": row.experiment, "created_at": row.at, "changed_at": row.at}
        tx.execute(_experiment.insert().values(**values))


def _carry_values(tx: sa.Connection) -> None:
    last = ""
    while rows := tx.execute(sa.select(_run).where(_run.c.id > last).order_by(_run.c.id).limit(_AT_ONCE)).all():
        last = rows[-1].id
        params = [
            {"run_id": row.id, "project_id": row.project_id, "key": str(key)[:250], **_param_values(value)}
            for row in rows
            for key, value in row.params.items()
        ]
        tags = [
            {"run_id": row.id, "project_id": row.project_id, "key": str(key)[:250], "text": text, "head": text[:200]}
            for row in rows
            for key, text in row.tags.items()
        ]
        if params:
            tx.execute(_param.insert(), params)
        if tags:
            tx.execute(_tag.insert(), tags)


def _param_values(value: Any) -> dict[str, Any]:
    document = json.dumps(value, ensure_ascii=False)
    is_word = value is None or isinstance(value, bool | int | float)
    text = value if isinstance(value, str) else str(value) if is_word else document
    try:
        number = None if isinstance(value, bool) else float(text)
    except ValueError:
        number = None
    return {
        "text": text,
        "json": None if isinstance(value, str) else document,
        "number": number if number is not None and math.isfinite(number) else None,
        "head": text[:200],
    }


def _carry_points(tx: sa.Connection) -> None:
    query = sa.select(_metric.c.id, _run.c.project_id).join(_run, _run.c.id == _metric.c.run_id)
    last = -1
    while rows := tx.execute(query.where(_metric.c.id > last).order_by(_metric.c.id).limit(_AT_ONCE)).all():
        last = rows[-1].id
        for row in rows:
            values: dict[str, Any] = {"project_id": row.project_id}
            summary: Summary | None = None
            for points in _stored(tx, row.id):
                tx.execute(_chunk.insert().values(metric_id=row.id, **_chunk_values(points)))
                added = Summary.of(points)
                summary = added if summary is None else summary.merged(added)
            if summary is not None:
                values |= {
                    "last_at": summary.last_at, "least": summary.least, "least_step": summary.least_step,
                    "greatest": summary.greatest, "greatest_step": summary.greatest_step,
                }  # fmt: skip
            tx.execute(_metric.update().where(_metric.c.id == row.id).values(**values))


def _stored(tx: sa.Connection, metric_id: int) -> Iterator[Points]:
    """In the order they came, a chunk at a time."""
    query = sa.select(_point.c.step, _point.c.value, _point.c.at).where(_point.c.metric_id == metric_id)
    numbered = enumerate(tx.execute(query.order_by(_point.c.id)))
    for _, group in groupby(numbered, key=lambda item: item[0] // _CHUNK_POINTS):
        rows = [row for _, row in group]
        values = (math.nan if row.value is None else row.value for row in rows)
        yield Points.of((row.step for row in rows), values, (round(row.at.timestamp() * 1000) for row in rows))


def _chunk_values(points: Points) -> dict[str, Any]:
    return {
        "points": len(points),
        "least_step": min(points.steps),
        "greatest_step": max(points.steps),
        "is_sorted": points.is_sorted,
        "data": encode_chunk(points),
    }
