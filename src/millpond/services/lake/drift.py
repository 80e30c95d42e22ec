"""Whether the database knows what the lake holds: it does not after an older copy of it was restored.

A dataset that differs becomes read-only until `mill lake reconcile`, and nothing of its project is collected;
everything else works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from logging import getLogger

from millpond.db import datasets, projects, promised_pages
from millpond.errors import NotFound
from millpond.lake.keys import ProjectKeys, is_id
from millpond.services.commits import records
from millpond.services.deps import Deps
from millpond.services.lake.reindex_commits import FoundCommits
from millpond.services.lake.reindex_history import read_history

logger = getLogger(__name__)

_PARALLEL = 16


@dataclass(frozen=True, slots=True)
class Beyond:
    """A record in the lake whose number the database has not given out."""

    dataset_id: str
    number: int
    epoch: int
    key: str


def compare_all(deps: Deps, *, is_new_owner: bool) -> None:
    """At start: one look for each dataset at the number that comes next.

    What an earlier owner wrote counts until the database was compared with the lake for the first time since it owns
    it. Later than that, its server had to have stopped: such a record is ignored, and `mill doctor` names it.
    """
    with deps.db.read() as tx:
        known = datasets.next_records(tx)
    for record in _beyond(deps, known):
        if is_new_owner or record.epoch >= deps.fence.epoch:
            _confine(deps, record)
        else:
            deps.fence.ignored.append(record.key)
            logger.warning("record_ignored key=%s epoch=%d ours=%d", record.key, record.epoch, deps.fence.epoch)


def why_not_collect(deps: Deps, project_id: str) -> str | None:
    """Why nothing of the project may be removed: the lake holds something of it that the database does not know.

    Pages and packs are shared by all datasets of a project, so one that is not known may need any of them.
    """
    with deps.db.read() as tx:
        project = projects.get(tx, project_id)
        known = datasets.next_records(tx, project_id)
    if project is None:  # deleted with all that was in it
        return None
    for record in _beyond(deps, known):
        if record.epoch >= deps.fence.epoch:
            _confine(deps, record)
    with deps.db.read() as tx:
        differing = datasets.in_conflict(tx, project_id=project_id)
    what = f"{differing[0].written} differs from the lake" if differing else None
    if what is None and (strangers := unknown_datasets(deps, project_id)):
        what = f"the lake holds {_counted(len(strangers))} of it that this database does not know"
    return f"Nothing is removed: {what}. Run: mill lake reconcile {project.name}" if what else None


def unknown_datasets(deps: Deps, project_id: str) -> list[str]:
    """Ids of datasets that the lake holds and the database does not, without those that are on their way out."""
    keys = ProjectKeys(project_id)
    found = []
    for dataset_id in _dataset_ids(deps, project_id):
        with deps.db.read() as tx:
            if datasets.name_of(tx, dataset_id) is not None or promised_pages.doomed_below(
                tx, keys.records(dataset_id)
            ):
                continue
        if _is_whole(deps, project_id, dataset_id):
            found.append(dataset_id)
    return found


def _is_whole(deps: Deps, project_id: str, dataset_id: str) -> bool:
    """True if reading the lake anew would bring the dataset back."""
    history = read_history(deps.store, project_id, dataset_id, _quietly)
    if history is None or history.purged:
        return False
    reached = FoundCommits(deps.store, project_id, history, _quietly).reached_from(history.commit_ids)
    return bool(reached) or not history.is_nameless


def _quietly(_: str) -> None:
    pass


def _counted(count: int) -> str:
    return "1 dataset" if count == 1 else f"{count} datasets"


def _beyond(deps: Deps, known: Sequence[tuple[str, str, int]]) -> Iterator[Beyond]:
    """Numbers have no gaps: what comes next is the first that the database cannot know."""

    def look(item: tuple[str, str, int]) -> list[Beyond]:
        project_id, dataset_id, number = item
        keys = ProjectKeys(project_id)
        names = [(epoch, keys.record(dataset_id, number, epoch)) for epoch in range(deps.fence.epoch + 1)]
        return [Beyond(dataset_id, number, epoch, key) for epoch, key in names if deps.store.head(key) is not None]

    with ThreadPoolExecutor(_PARALLEL) as pool:
        for found in pool.map(look, known):
            yield from found


def _confine(deps: Deps, record: Beyond) -> None:
    """Unless another server of the same database has just written it."""
    try:
        with deps.db.write() as tx:
            if datasets.lock_next_record(tx, record.dataset_id) > record.number:
                return
            datasets.change(tx, record.dataset_id, conflict=records.differs(record.number))
    except NotFound:  # purged meanwhile
        return
    logger.error("dataset_read_only dataset=%s record=%s", record.dataset_id, record.key)


def _dataset_ids(deps: Deps, project_id: str) -> Iterator[str]:
    """Without listing all records of each: behind `<id>0`, since `0` follows the slash."""
    prefix = ProjectKeys(project_id).datasets
    after: str | None = None
    while (info := next(iter(deps.store.list(prefix, after)), None)) is not None:
        dataset_id, slash, _ = info.key.removeprefix(prefix).partition("/")
        if slash and is_id(dataset_id):
            yield dataset_id
        after = f"{prefix}{dataset_id}0" if slash else info.key
