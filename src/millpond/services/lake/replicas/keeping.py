"""Keeps replicas up to date: a loop on every server, of which one at a time works on a replica."""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import lake_replica_content as replica_content
from millpond.db import lake_replicas as replicas
from millpond.db.lake_replica_content import CopiedRecords
from millpond.decide.replication import records_ready
from millpond.errors import Corrupt, MillError, NotFound, NotReady
from millpond.lake import keys
from millpond.lake.keys import ProjectKeys, record_number
from millpond.lake.records import Move, decode_record
from millpond.model.lake_replica import LakeReplica
from millpond.services.deps import Deps
from millpond.services.lake.replicas import cleaning
from millpond.services.lake.replicas.copying import copy_commit, copy_plain
from millpond.services.lake.replicas.turn import Turn, turn_of

logger = getLogger(__name__)

# A round works on one replica for about so long, then the next has its turn.
_ROUND = timedelta(seconds=60)
_AT_ONCE = 1000
# After a failure it is left alone for so long.
_REST = timedelta(seconds=15)


def keep_all(deps: Deps, now: datetime) -> int:
    """Housekeeping: bring every replica nearer to the lake; how many commits were copied."""
    with deps.db.read() as tx:
        found = [one for one in replicas.all_of(tx) if _is_due(deps, one, now)]
        due = [one for one in found if _is_behind(tx, one) or cleaning.is_due(deps, one, now)]
    return sum(keep(deps, replica) for replica in due)


def keep(deps: Deps, replica: LakeReplica) -> int:
    """One round. Never raises what is wrong with the replica or the lake: that is noted at the replica."""
    try:
        with turn_of(deps, replica) as turn:
            copied, problem = _sync(turn)
            if problem is None and cleaning.is_due(deps, replica, deps.clock.now()):
                cleaning.clean(turn)
    except NotReady as error:
        logger.info("replica_skipped replica=%s reason=%s", replica.name, error.message)
        return 0
    except MillError as error:
        logger.warning("replica_failed replica=%s code=%s reason=%s", replica.name, error.code, error.message)
        _note(deps, replica, f"{error.message} {error.hint or ''}".strip())
        return 0
    _note(deps, replica, problem)
    return copied


def take_back(deps: Deps) -> None:
    """When a server starts: the turn of one that was killed is over, if nobody else can have one."""
    if deps.settings.database_url is None:
        with deps.db.write() as tx:
            replicas.release(tx)


def _is_due(deps: Deps, replica: LakeReplica, now: datetime) -> bool:
    return replica.problem is None or replica.failed_at is None or now - replica.failed_at >= _REST


def _is_behind(tx: Connection, replica: LakeReplica) -> bool:
    return bool(
        replica_content.missing_commits(tx, replica.id, limit=1) or replica_content.behind_records(tx, replica.id)
    )


def _sync(turn: Turn) -> tuple[int, str | None]:
    """How many commits were copied, and why some were not."""
    deps = turn.deps
    turn.check_ours()
    there = {info.key for info in turn.store.list(keys.OWNERS)}
    for key in (keys.LAKE, *(info.key for info in deps.store.list(keys.OWNERS) if info.key not in there)):
        copy_plain(turn, key)
    ends = deps.clock.now() + _ROUND
    with deps.db.read() as tx:
        missing = replica_content.missing_commits(tx, turn.replica.id, limit=_AT_ONCE)
    copied, problem = 0, None
    for wanted in missing:
        try:
            copy_commit(turn, wanted)
            copied += 1
        except (Corrupt, NotFound) as error:  # others are not held up by what is wrong in the lake
            problem = f"Commit {wanted.id[:12]} cannot be copied: {error.message}"
            logger.warning("commit_not_copied replica=%s commit=%s %s", turn.replica.name, wanted.id, error.message)
        if deps.clock.now() > ends:
            break
    _copy_records(turn)
    with deps.db.write() as tx:
        if not replica_content.missing_commits(tx, turn.replica.id, limit=1):
            replicas.change(tx, turn.replica.id, synced_at=deps.clock.now())
    if copied == len(missing) == _AT_ONCE or (copied and problem is None and deps.clock.now() > ends):
        deps.events.wake("branches")  # there may be more
    if copied:
        logger.info("replica_synced replica=%s commits=%d", turn.replica.name, copied)
    return copied, problem


def _copy_records(turn: Turn) -> None:
    with turn.deps.db.read() as tx:
        behind = replica_content.behind_records(tx, turn.replica.id)
    for dataset in behind:
        _copy_records_of(turn, dataset)


def _copy_records_of(turn: Turn, dataset: CopiedRecords) -> None:
    """In their order, as far as the commits that they name are there."""
    deps = turn.deps
    prefix = ProjectKeys(dataset.project_id).records(dataset.dataset_id)
    found = [info.key for info in deps.store.list(prefix, after=dataset.last_key or None)]
    records = {key: deps.store.get(key) for key in found}
    named = [_commit_of(data) for data in records.values()]
    with deps.db.read() as tx:
        held = {one for one in named if one and replica_content.holds_commit(tx, turn.replica.id, one)}
    ready = found[: records_ready(named, held)]
    for key in ready:
        turn.keep()
        turn.store.put(key, records[key])
    if ready:
        with deps.db.write() as tx:
            number = record_number(ready[-1]) + 1
            replica_content.note_records(tx, turn.replica.id, dataset.dataset_id, number, ready[-1])


def _commit_of(record: bytes) -> str | None:
    operation = decode_record(record).operation
    return operation.commit if isinstance(operation, Move) else None


def _note(deps: Deps, replica: LakeReplica, problem: str | None) -> None:
    with deps.db.write() as tx:
        replicas.change(tx, replica.id, problem=problem, failed_at=deps.clock.now() if problem else None)
    if problem != replica.problem:
        deps.events.publish("computes", project_id=None, data={"id": replica.id, "what": "replica"})
