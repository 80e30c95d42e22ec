"""Datasets that the runs of experiments have read."""

from __future__ import annotations

from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint, one_text
from millpond.api.mlflow.shapes import experiment_id
from millpond.errors import Invalid
from millpond.model.people import Role
from millpond.services.runs import experiments, run_inputs

_MOST_EXPERIMENTS = 20


def search(call: Call) -> dict[str, Any]:
    wanted = {one_text(item) for item in call.many("experiment_ids")}
    if not wanted:
        raise Invalid("SearchDatasets request must specify at least one experiment_id.", fields=["experiment_ids"])
    if len(wanted) > _MOST_EXPERIMENTS:
        raise Invalid(
            f"SearchDatasets request cannot specify more than {_MOST_EXPERIMENTS} experiment_ids.",
            fields=["experiment_ids"],
        )
    known = experiments.list_experiments(call.deps, call.project)
    names = {one.name: experiment_id(one) for one in known if experiment_id(one) in wanted}
    found = run_inputs.datasets_of(call.deps, call.project, list(names)) if names else []
    return {
        "dataset_summaries": [
            {
                "experiment_id": names[one.experiment],
                "name": one.name,
                "digest": one.digest,
                **({"context": one.context} if one.context else {}),
            }
            for one in found
        ]
    }


ENDPOINTS = (Endpoint("POST", "experiments/search-datasets", Role.VIEWER, search, for_jobs=False),)
