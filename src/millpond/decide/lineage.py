"""Lineage edges of a commit's lineage document and of a job's spec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from millpond.model.dataset import Commit
from millpond.model.job import Job
from millpond.model.lineage import LineageEdge, LineageRole, LineageStep, Maker
from millpond.model.rerun import INPUT_TYPE

_COMMIT = re.compile(r"[0-9a-f]{64}")
# The first that a document has is who made the commit: a run stands before the job it belongs to.
_MAKERS = ("run", "step", "query", "model", "job", "import")
_MOST_ID = 200


def edges_of_commit(commit: Commit) -> list[LineageEdge]:
    """One edge per commit it was made from: its parents and those its lineage names; at least one in total."""
    maker = _maker(commit)
    edges = {(parent, LineageRole.PARENT): None for parent in commit.parents}
    for key, value in commit.lineage.items():
        if key == "model":  # what is known of a version: its parameters may look like commits
            continue
        role = LineageRole.CODE if key == "code" else LineageRole.INPUT
        edges.update({(source, role): None for source in _commits_in(value)})
    made = [LineageEdge(source, commit.id, role, maker) for source, role in edges]
    return made or [LineageEdge(None, commit.id, LineageRole.ORIGIN, maker)]


def edges_of_job(job: Job) -> list[LineageEdge]:
    """Edges for what the job reads and runs, known before it has made anything."""
    sources = dict.fromkeys((entry.commit_id, LineageRole.INPUT) for entry in job.spec.inputs)
    if job.spec.code_commit is not None:
        sources[job.spec.code_commit, LineageRole.CODE] = None
    return [LineageEdge(source, None, role, Maker("job", job.id)) for source, role in sources]


def edges_of_inputs(run_id: str, inputs: Iterable[Mapping[str, Any]]) -> list[LineageEdge]:
    """Edges for commits that the script of a run has read."""
    commits = dict.fromkeys(str(one.get("digest", "")) for one in inputs if one.get("source_type") == INPUT_TYPE)
    maker = Maker("run", run_id)
    return [LineageEdge(one, None, LineageRole.INPUT, maker) for one in commits if _COMMIT.fullmatch(one)]


def without_unfinished(steps: Sequence[LineageStep]) -> list[LineageStep]:
    """Drop the edge "a job read this" where another edge says what the job made of it."""
    told = {(step.maker, step.source) for step in steps if step.made is not None}
    return [step for step in steps if step.made is not None or (step.maker, step.source) not in told]


def _maker(commit: Commit) -> Maker:
    for kind in _MAKERS:
        if kind in commit.lineage:
            return Maker(kind, _id_of(commit.lineage[kind]))
    return Maker("merge" if len(commit.parents) > 1 else "commit")


def _id_of(value: Any) -> str:
    """A plain id; for an import, the place it came from."""
    named = (value.get("uri") or value.get("id") or "") if isinstance(value, dict) else value
    return str(named)[:_MOST_ID]


def _commits_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from _COMMIT.findall(value)
        case dict():
            for part in value.values():
                yield from _commits_in(part)
        case list():
            for part in value:
                yield from _commits_in(part)
