"""What was asked of a job is one document; its columns go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

from millpond.model.job_spec import JobSpec

revision = "0019"
down_revision = "0018"

_BATCH = 500
# Columns by the names that they have in the document, and what is left out of it.
_FIELDS: Mapping[str, tuple[str, Any]] = {
    "env": ("env", {}),
    "secrets": ("secrets", {}),
    "image": ("image", None),
    "code_commit": ("code_commit", None),
    "environment_source": ("environment", None),
    "processes": ("processes", 0),
    "cpu": ("cpu", 0),
    "memory_bytes": ("memory_bytes", 0),
    "gpu_hundredths": ("gpu_hundredths", 0),
    "gpu_enforced": ("gpu_enforced", False),
    "wanted_compute": ("compute", None),
    "options": ("options", {}),
    "priority": ("priority", 0),
    "timeout_seconds": ("timeout_seconds", 0),
    "retries": ("retries", 0),
    "retry_on": ("retry_on", []),
    "backoff_seconds": ("backoff_seconds", 5),
    "ports": ("ports", []),
    "idle_seconds": ("idle_seconds", 0),
}
_DROPPED = ("command", "inputs", "after", *(_FIELDS.keys() - {"code_commit", "gpu_hundredths", "priority"}))
_JSON = ("command", "env", "inputs", "retry_on", "after", "ports", "secrets", "options")
_OTHERS = ("id", "run_id", "kind", "class_key")
_job = sa.table(
    "job",
    *(sa.column(name, sa.JSON) for name in (*_JSON, "spec")),
    sa.column("gpu_enforced", sa.Boolean),
    *(sa.column(name) for name in (*_OTHERS, *(_FIELDS.keys() - {*_JSON, "gpu_enforced"}))),
)
_run = sa.table("run", sa.column("id"), sa.column("experiment"), sa.column("tags", sa.JSON))


def upgrade() -> None:
    op.add_column("job", sa.Column("spec", sa.JSON(), nullable=False, server_default=sa.text("'{}'")))
    op.add_column("job", sa.Column("class_key", sa.String(32), nullable=False, server_default=sa.text("''")))
    tx = op.get_bind()
    last = ""
    while rows := _after(tx, last):
        for row in rows:
            document = _document(row)
            key = JobSpec.from_document(document).class_key
            tx.execute(_job.update().where(_job.c.id == row.id).values(spec=document, class_key=key))
        last = rows[-1].id
    for name in sorted(_DROPPED):
        op.drop_column("job", name)


def _after(tx: sa.Connection, last: str) -> list[sa.Row[Any]]:
    query = sa.select(_job, _run.c.experiment, _run.c.tags).join(_run, _run.c.id == _job.c.run_id)
    return list(tx.execute(query.where(_job.c.id > last).order_by(_job.c.id).limit(_BATCH)))


def _document(row: sa.Row[Any]) -> dict[str, Any]:
    """A document of version 1."""
    found: dict[str, Any] = {"version": 1, "command": row.command}
    if row.kind != "training":
        found["kind"] = row.kind
    for column, (name, default) in _FIELDS.items():
        value = row._mapping[column]
        if value is not None and value != default:
            found[name] = value
    if row.inputs:
        found["inputs"] = [_input(item) for item in row.inputs]
    if row.after:
        found["after"] = [_dependency(item) for item in row.after]
    if row.experiment != "default":
        found["experiment"] = row.experiment
    # A run may have got tags of its own since; those of Git came with the job.
    if tags := {name: value for name, value in row.tags.items() if name.startswith("git.")}:
        found["tags"] = tags
    return found


def _input(item: Mapping[str, str]) -> dict[str, str]:
    same = {name: item[name] for name in ("ref", "commit_id", "dataset_id", "env")}
    return {"dataset": f"{item['project']}/{item['dataset']}", **same}


def _dependency(item: Mapping[str, str]) -> dict[str, str]:
    found = {"job": item["job_id"]}
    return found if item["when"] == "success" else {**found, "when": item["when"]}
