"""Lineage as edges: filled from the lineage of the commits and from the jobs that are there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_COMMIT = re.compile(r"[0-9a-f]{64}")
_MAKERS = ("run", "step", "query", "model", "job", "import")
_AT_ONCE = 5000


def upgrade() -> None:
    edge = op.create_table(
        "lineage_edge",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True,
            nullable=False,
        ),
        sa.Column("source_id", sa.String(64), nullable=True),
        sa.Column("made_id", sa.String(64), nullable=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("maker_kind", sa.String(10), nullable=False),
        sa.Column("maker_id", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lineage_edge")),
    )  # fmt: skip
    tx = op.get_bind()
    rows: list[dict[str, Any]] = []
    for row in _edges(tx):
        rows.append(row)
        if len(rows) == _AT_ONCE:
            tx.execute(edge.insert(), rows)
            rows = []
    if rows:
        tx.execute(edge.insert(), rows)
    op.create_index("ix_lineage_edge_source_id_id", "lineage_edge", ["source_id", "id"])
    op.create_index("ix_lineage_edge_made_id_id", "lineage_edge", ["made_id", "id"])
    op.create_index("ix_lineage_edge_maker_id_maker_kind", "lineage_edge", ["maker_id", "maker_kind"])


def _edges(tx: sa.Connection) -> Iterator[dict[str, Any]]:
    commits = tx.execute(sa.text("SELECT id, parents, lineage FROM commit_ ORDER BY time, id")).all()
    for row in commits:
        yield from _of_commit(row.id, _json(row.parents), _json(row.lineage))
    for row in tx.execute(sa.text("SELECT id, inputs, code_commit FROM job ORDER BY id")).all():
        sources = dict.fromkeys((entry["commit_id"], "input") for entry in _json(row.inputs))
        if row.code_commit is not None:
            sources[row.code_commit, "code"] = None
        for source, role in sources:
            yield _edge(source, None, role, "job", row.id)


def _of_commit(commit_id: str, parents: list[str], lineage: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = next((name for name in _MAKERS if name in lineage), "merge" if len(parents) > 1 else "commit")
    value = lineage.get(kind, "")
    maker = str((value.get("uri") or value.get("id") or "") if isinstance(value, dict) else value)[:200]
    sources = {(parent, "parent"): None for parent in parents}
    for key, named in lineage.items():
        found = _COMMIT.findall(json.dumps(named))
        sources.update({(source, "code" if key == "code" else "input"): None for source in found})
    for source, role in sources:
        yield _edge(source, commit_id, role, kind, maker)
    if not sources:
        yield _edge(None, commit_id, "origin", kind, maker)


def _edge(source: str | None, made: str | None, role: str, kind: str, maker: str) -> dict[str, Any]:
    return {"source_id": source, "made_id": made, "role": role, "maker_kind": kind, "maker_id": maker}


def _json(value: Any) -> Any:
    """SQLite hands JSON out as text."""
    return json.loads(value) if isinstance(value, str) else value
