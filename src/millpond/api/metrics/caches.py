"""Prometheus numbers of volumes and caches, read from the database at each scrape.

Labels are names of volumes and sites and causes of evictions: no project, dataset or person ever appears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import gauge
from millpond.db import counts
from millpond.model.topology import CacheUses
from millpond.model.volume import Cause
from millpond.services.deps import Deps
from millpond.services.places import volume_usage
from millpond.services.places.volume_usage import VolumeNumbers, throughput
from millpond.services.places.volume_views import VolumeView

_GAUGES: tuple[tuple[str, str, Callable[[VolumeView], float | None]], ...] = (
    ("capacity_bytes", "What a volume may hold, its reserve included.", lambda v: v.volume.capacity_bytes),
    ("reserve_bytes", "Head-room of a volume that is never used.", lambda v: v.volume.reserve_bytes),
    ("used_bytes", "Taken by cached commits, fills under way not included.", lambda v: v.used_bytes - v.filling_bytes),
    ("reserved_bytes", "Promised to fills that are not whole yet.", lambda v: v.filling_bytes),
    ("free_bytes", "What may still be cached on a volume.", lambda v: v.free_bytes),
    ("foreign_bytes", "Other files on the volume's file system.", lambda v: v.foreign_bytes),
    (
        "leftover_bytes",
        "Open files of evicted commits on NFS, request logs that wait.",
        lambda v: v.volume.leftover_bytes,
    ),
    ("inodes_free", "Free inodes of the volume's file system, where it has a limit.", lambda v: v.volume.inodes_free),
    ("cached_commits", "Commits that are ready on a volume.", lambda v: v.cached_commits),
    ("connected", "1 while a volume is well and its agent looks at it.", lambda v: float(v.connected)),
)
_COUNTERS: tuple[tuple[str, str, Callable[[CacheUses], float]], ...] = (
    ("hits", "Requests and jobs whose commit was there already.", lambda u: u.hits),
    ("misses", "Requests and jobs whose commit had to be fetched.", lambda u: u.misses),
    ("saved_bytes", "Bytes that hits did not fetch again.", lambda u: u.saved_bytes),
    ("saved_seconds", "Time those would have taken, by the bandwidth measured then.", lambda u: u.saved_seconds),
    ("fills", "Fills that became whole.", lambda u: u.fills),
    ("fill_bytes", "Bytes that fills brought over the network.", lambda u: u.filled_bytes),
    ("fill_seconds", "Time those fills took.", lambda u: u.fill_seconds),
)


class CacheCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = volume_usage.numbers(self._deps)
        for name, help_text, value in _GAUGES:
            family = GaugeMetricFamily(f"millpond_volume_{name}", help_text, labels=["volume", "site"])
            for view in found.volumes:
                if (number := value(view)) is not None:
                    family.add_metric([view.volume.name, view.volume.site], number)
            yield family
        for name, help_text, count in _COUNTERS:
            yield _counter(name, help_text, count, found)
        yield from _kept(found)
        yield _refused(self._deps, found)
        yield from _traffic(found)
        yield _evictions(found)


def _counter(name: str, help_text: str, count: Callable[[CacheUses], float], found: VolumeNumbers) -> Metric:
    counter = CounterMetricFamily(f"millpond_cache_{name}", help_text, labels=["volume"])
    for view in found.volumes:
        counter.add_metric([view.volume.name], count(found.uses.get(view.volume.id, CacheUses())))
    return counter


def _refused(deps: Deps, found: VolumeNumbers) -> Metric:
    with deps.db.read() as tx:
        refused = counts.refused_commits(tx)
    text = "Commits that a volume had no room for when they were last asked for."
    rows = [((view.volume.name,), float(refused.get(view.volume.id, 0))) for view in found.volumes]
    return gauge("cache_refused_commits", text, ["volume"], rows)


def _kept(found: VolumeNumbers) -> Iterator[Metric]:
    kinds = (
        ("pinned", "Commits that are pinned on a volume.", found.pinned),
        ("leased", "Commits on a volume that a job, a reader or somebody's wish keeps.", found.leased),
    )
    for name, help_text, numbers in kinds:
        family = GaugeMetricFamily(f"millpond_volume_{name}_commits", help_text, labels=["volume", "site"])
        for view in found.volumes:
            family.add_metric([view.volume.name, view.volume.site], numbers.get(view.volume.id, 0))
        yield family


def _traffic(found: VolumeNumbers) -> Iterator[Metric]:
    running = GaugeMetricFamily("millpond_cache_fills_running", "Fills under way.", labels=["volume"])
    rate = GaugeMetricFamily(
        "millpond_cache_fill_bytes_per_second", "Throughput of the fills under way.", labels=["volume"]
    )
    left = GaugeMetricFamily(
        "millpond_cache_fill_seconds_left", "Until the last of the fills under way is whole.", labels=["volume"]
    )
    for view in found.volumes:
        fills = found.fills.get(view.volume.id, ())
        running.add_metric([view.volume.name], len(fills))
        rate.add_metric([view.volume.name], throughput(fills))
        known = [one.seconds_left for one in fills if one.seconds_left is not None]
        if len(known) == len(fills):
            left.add_metric([view.volume.name], max(known, default=0.0))
    yield running
    yield rate
    yield left
    names = {view.volume.id: view.volume.name for view in found.volumes}
    speed = GaugeMetricFamily(
        "millpond_bandwidth_bytes_per_second",
        "Measured by fills, by where they came from.",
        labels=["volume", "source"],
    )
    for one in found.bandwidths:
        if one.volume_id in names:
            speed.add_metric(
                [names[one.volume_id], found.sites.get(one.source_id, one.source_id)], one.bytes_per_second
            )
    yield speed


def _evictions(found: VolumeNumbers) -> Metric:
    names = {view.volume.id: view.volume.name for view in found.volumes}
    counter = CounterMetricFamily("millpond_cache_evictions", "Evictions by cause.", labels=["volume", "cause"])
    none = {(volume_id, cause.value): 0 for volume_id in names for cause in Cause}
    for (volume_id, cause), number in sorted({**none, **found.evictions}.items()):
        if volume_id in names:
            counter.add_metric([names[volume_id], cause or "unknown"], number)
    return counter
