"""The lake, mirrors, sources and workspaces; of projects by their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import by_key, gauge, one
from millpond.db import counts, mirrors, sources, volumes
from millpond.db.counts import LakeRow, WorkspaceRow
from millpond.model.cluster import ClusterState
from millpond.model.endpoint import EndpointState
from millpond.model.workspace import WorkspaceState
from millpond.services.deps import Deps
from millpond.services.mirrors.lag import lag_of

_LAKE: tuple[tuple[str, str, Callable[[LakeRow], int]], ...] = (
    ("lake_bytes", "Bytes of packs in the lake", lambda row: row.bytes),
    ("lake_condemned_bytes", "Bytes of packs in the lake that nothing uses", lambda row: row.condemned_bytes),
    ("lake_packs", "Packs in the lake", lambda row: row.packs),
)
_WORKSPACES: tuple[tuple[str, str, Callable[[WorkspaceRow], int]], ...] = (
    ("reserved_bytes", "Sizes that workspaces may grow to", lambda row: row.size_bytes),
    ("unique_bytes", "Bytes that workspaces alone have on disk", lambda row: row.unique_bytes),
    ("shared_bytes", "Bytes that workspaces share with what they were cloned from", lambda row: row.shared_bytes),
)


_STATES = {
    "endpoints": [state.value for state in EndpointState],
    "clusters": [state.value for state in ClusterState],
    "workspaces": [state.value for state in WorkspaceState],
}


class DataCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            lake, spaces, nouns = counts.lake(tx), counts.workspaces(tx), counts.nouns(tx)
            states = {noun: counts.by_state(tx, noun) for noun in _STATES}
            brought = {noun: counts.brought(tx, noun) for noun in ("mirrors", "sources")}
            names = {volume.id: volume.name for volume in volumes.all_of(tx)}
        for name, text, value in _LAKE:
            yield one(name, f"{text}.", sum(map(value, lake)))
        yield one("datasets", "Datasets, those in the bin included.", nouns["datasets"])
        yield one("commits", "Commits of datasets, code, outputs and models.", nouns["commits"])
        yield one("runs", "Runs.", nouns["runs"])
        for noun, known in _STATES.items():
            yield gauge(noun, f"{noun.title()}, by state.", ["state"], by_key(states[noun], known))
        for noun, found in brought.items():
            text = f"{noun.title()}, by state: ok, failing, paused."
            yield gauge(noun, text, ["state"], by_key(found, ("ok", "failing", "paused")))
        for name, text, size in _WORKSPACES:
            sums = Counter[str]()
            for row in spaces:
                sums[names.get(row.volume_id, "")] += size(row)
            yield gauge(f"workspace_{name}", f"{text}, by volume.", ["volume"], by_key(sums))


class ProjectDataCollector(Collector):
    """By project."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        now = self._deps.clock.now()
        with self._deps.db.read() as tx:
            lake, spaces = counts.lake(tx), counts.workspaces(tx)
            outwards, inwards = mirrors.all_mirrors(tx), sources.all_of(tx)
        yield gauge(
            "project_lake_bytes", "Bytes of packs of a project in the lake.", ["project_id"],
            [((row.project_id,), row.bytes) for row in lake],
        )  # fmt: skip
        yield _workspace_bytes(spaces)
        labels = ["project_id", "mirror_id"]
        lags = [((mirror.project_id, mirror.id), lag_of(mirror, now)) for mirror in outwards]
        seconds = [(place, lag.seconds if lag else None) for place, lag in lags]
        yield gauge(
            "mirror_lag_seconds", "Age of the oldest commit that the target of a mirror lacks.", labels, seconds
        )
        behind = [(place, float(lag.bytes) if lag else None) for place, lag in lags]
        yield gauge("mirror_lag_bytes", "Bytes of files that the target of a mirror lacks.", labels, behind)
        failures = [((mirror.project_id, mirror.id), float(mirror.failures)) for mirror in outwards]
        yield gauge("mirror_failures", "Runs of a mirror that failed since one succeeded.", labels, failures)
        labels = ["project_id", "source_id"]
        ages = [
            ((one.project_id, one.id), max(0.0, (now - one.ended_at).total_seconds()) if one.ended_at else None)
            for one in inwards
        ]
        yield gauge("source_last_run_age_seconds", "Time since the last run of a source ended.", labels, ages)
        failed = [((one.project_id, one.id), float(one.failures)) for one in inwards]
        yield gauge("source_failures", "Runs of a source that failed since one succeeded.", labels, failed)


def _workspace_bytes(found: Sequence[WorkspaceRow]) -> Metric:
    sums = Counter[str]()
    for row in found:
        sums[row.project_id] += row.unique_bytes
    return gauge(
        "project_workspace_bytes",
        "Bytes that workspaces of a project alone have on disk.",
        ["project_id"],
        by_key(sums),
    )
