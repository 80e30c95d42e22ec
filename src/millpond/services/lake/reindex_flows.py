"""Flows from the lake: each is a branch of `.flows`, and its commits say which version they are (docs/design/019).

Runs, and what steps remember, are in the database alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.db import commits, datasets, flows
from millpond.decide.flows.reader import read_flow
from millpond.errors import MillError
from millpond.model.dataset import Commit, Dataset
from millpond.model.ids import new_id
from millpond.model.names import FLOW_DATASET
from millpond.model.saved_flow import FlowVersion, SavedFlow
from millpond.services.datasets.files import open_file
from millpond.services.deps import Deps
from millpond.services.flows.triggers.keeping import replace_triggers
from millpond.services.lake.reindex_history import Say

_FILE = "flow.yaml"
_ALL = 100_000


def index(deps: Deps, project_id: str, say: Say) -> None:
    """Rows of every flow and version that the lake has. What the database knows stays."""
    with deps.db.read() as tx:
        dataset = datasets.find(tx, project_id, FLOW_DATASET)
        refs = commits.refs(tx, dataset.id, limit=_ALL) if dataset else ()
    for ref in refs:
        assert dataset is not None
        try:
            found = list(_versions(deps, dataset, ref.commit_id))
        except MillError as error:
            say(f"flow {ref.name}: {error.message}")
            continue
        if found:
            _insert(deps, dataset, ref.name, found)


def _versions(deps: Deps, dataset: Dataset, head: str) -> Iterator[FlowVersion]:
    """Newest first. Of one whose nodes were moved on the page, the last commit."""
    seen: set[int] = set()
    commit = _commit(deps, head)
    while commit is not None:
        number = commit.lineage.get("version")
        if isinstance(number, int) and number not in seen:
            seen.add(number)
            yield _version(deps, dataset, commit, number)
        commit = _commit(deps, commit.parents[0]) if commit.parents else None


def _version(deps: Deps, dataset: Dataset, commit: Commit, number: int) -> FlowVersion:
    file = open_file(deps, dataset, commit, _FILE)
    text = b"".join(file.read(deps, 0, file.size)).decode("utf-8")
    flow, _, _ = read_flow(text)
    steps = len(flow.steps) if flow else 0
    digest = str(commit.lineage.get("digest", ""))
    return FlowVersion("", number, digest, commit.id, text, steps, commit.author, commit.time)


def _insert(deps: Deps, dataset: Dataset, name: str, found: list[FlowVersion]) -> None:
    newest, oldest = found[0], found[-1]
    flow, _, _ = read_flow(newest.text)
    with deps.db.write() as tx:
        known = flows.find(tx, dataset.project_id, name)
        if known is None:
            known = SavedFlow(
                new_id(), dataset.project_id, dataset.project, name, flow.description if flow else "", newest.number,
                oldest.saved_by, oldest.saved_at, newest.saved_at,
            )  # fmt: skip
            flows.insert(tx, known)
        elif known.newest < newest.number:
            flows.save(tx, replace(known, newest=newest.number, changed_at=newest.saved_at))
        for version in found:
            flows.put_version(tx, replace(version, flow_id=known.id))
        if flow is not None and newest.number >= known.newest:
            replace_triggers(tx, known, flow, deps.clock.now())


def _commit(deps: Deps, commit_id: str) -> Commit | None:
    with deps.db.read() as tx:
        return commits.get(tx, commit_id)
