"""What a dataset says about its cached commits."""

from __future__ import annotations

from millpond.db import datasets
from millpond.model.dataset import Dataset
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.people import audit


def set_idle(deps: Deps, actor: Actor, dataset: Dataset, seconds: int | None) -> None:
    """After how long unused its cached commits go, wherever they are; None leaves that to each volume."""
    with deps.db.write() as tx:
        before = datasets.settings_of(tx, dataset.id)[1]
        datasets.change(tx, dataset.id, cache_idle_seconds=seconds)
        audit.record_setting(tx, deps, actor, "dataset.cache_idle", dataset, "seconds", before, seconds)
    data = {"project": dataset.project, "id": dataset.id, "what": "changed", "dataset": dataset.name}
    deps.events.publish("datasets", project_id=dataset.project_id, data=data)
    deps.events.publish("caches", project_id=dataset.project_id, data=data)
