"""Numbers of all clusters, for whoever watches the system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millpond.db import clusters, replicas
from millpond.decide.clusters.numbers import Sample, public_samples
from millpond.model.cluster import ClusterView
from millpond.services.clusters.reports import samples_of
from millpond.services.clusters.views import views
from millpond.services.deps import Deps

# What one scrape takes is bounded.
_MOST_CLUSTERS = 200


@dataclass(frozen=True, slots=True)
class ClusterNumbers:
    """A cluster, and what its scheduler told last, by names and labels that everybody may see."""

    view: ClusterView
    samples: Mapping[Sample, float]


def numbers(deps: Deps) -> list[ClusterNumbers]:
    """Of the newest clusters."""
    with deps.db.read() as tx:
        shown = views(tx, clusters.all_of(tx)[-_MOST_CLUSTERS:])
        placements = {one.cluster.id: _placement(one) for one in shown}
        told = replicas.reports(tx, {one for one in placements.values() if one})
    return [
        ClusterNumbers(view, public_samples(samples_of(report.stats if report else None)))
        for view in shown
        for report in [told.get(placements[view.cluster.id] or "")]
    ]


def _placement(view: ClusterView) -> str | None:
    return view.scheduler.process.placement_id if view.scheduler and view.scheduler.process.ready else None
