"""`mill run show`: one run with everything that is recorded of it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import typer

from millpond.cli.command import command
from millpond.cli.run_arguments import RunId
from millpond.cli.session import Session
from millpond.cli.values import CommitId
from millpond.client.artifacts import list_artifacts
from millpond.client.jobs import get_job
from millpond.client.runs import find_run, get_run
from millpond.model.quantity import format_count
from millpond.wire.jobs import Job
from millpond.wire.runs import RunDetails, written_number

# What a terminal shows of a value that has no end.
_MOST_CHARACTERS = 200

app = typer.Typer()


@command(app, "show")
def show(mill: Session, run: RunId) -> None:
    """Show a run: parameters, tags, latest metrics, artifacts.

    Example: mill run show 3fa2c1d0
    """
    found = get_run(mill.api, mill.project, find_run(mill.api, mill.project, run).id)
    artifacts = [] if mill.out.as_json else [a.path for a in list_artifacts(mill.api, mill.project, found.id)]
    mill.out.shape(
        found,
        [
            ("run", found.id),
            ("name", found.name),
            ("experiment", found.experiment),
            ("state", found.job_state or found.state),
            ("job", found.job),
            ("parent", found.parent),
            ("children", found.children or None),
            ("by", found.created_by),
            ("started", found.started_at),
            ("ended", found.ended_at),
            *((f"param {key}", value_cell(value)) for key, value in sorted(found.params.items())),
            *((f"tag {key}", value_cell(value)) for key, value in sorted(found.tags.items())),
            *((f"metric {key}", written_number(one.last)) for key, one in sorted(found.summaries.items())),
            *_origin_rows(found.origin),
            *_data_rows(found, get_job(mill.api, mill.project, found.job) if found.job else None),
            ("notes", found.notes or None),
            ("artifacts", artifacts),
        ],
    )


def value_cell(value: Any) -> Any:
    """A value as a cell: of long texts the beginning, all of which is in --json."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _origin_rows(origin: dict[str, object]) -> list[tuple[str, Any]]:
    git = origin.get("git")
    rows: list[tuple[str, Any]] = []
    if isinstance(command := origin.get("command"), list):
        rows.append(("command", shlex.join(str(part) for part in command)))
    rows += [(key, value_cell(origin[key])) for key in ("host", "python") if key in origin]
    if origin.get("image_digest"):
        rows.append(("image", f"{origin.get('image') or 'default'} ({origin['image_digest']})"))
    if isinstance(git, dict):
        changed = f", {format_count(len(git['dirty']), 'file')} changed" if git.get("dirty") else ""
        rows.append(("git", f"{git.get('commit')} ({git.get('branch') or 'detached'}{changed})"))
    return rows


def _data_rows(run: RunDetails, job: Job | None) -> list[tuple[str, Any]]:
    """Code, data and outputs: a job's from its specification, a script's as it read them."""
    read = [
        f"{one.get('name')}@{str(one.get('digest'))[:12]} ({'cached' if one.get('cached') else one.get('read_from')})"
        for one in run.inputs
    ]
    if job is None:
        return [("data", read)]
    asked = [f"{i.dataset}@{i.commit_id[:12]} ({'streamed' if i.streamed else 'cached'})" for i in job.spec.inputs]
    return [
        ("code", CommitId(job.spec.code_commit) if job.spec.code_commit else None),
        ("data", list(dict.fromkeys([*asked, *read]))),
        ("outputs", CommitId(job.output_commit) if job.output_commit else None),
    ]
