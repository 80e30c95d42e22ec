"""Steps that the server does itself, because jobs never write refs: registering a model."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from typing import Any

from millpond.db import datasets
from millpond.decide.flows.next_steps import StepStart
from millpond.errors import BadRequest
from millpond.model.component import REGISTER
from millpond.model.flow_run import Files, FlowRun, FlowStep, StepState
from millpond.model.model import FromCommit, NewModelVersion
from millpond.model.names import DatasetRef
from millpond.model.people import Project
from millpond.services.datasets.files import open_file
from millpond.services.deps import Deps
from millpond.services.flows import lake_files, publishing
from millpond.services.flows.lake_files import Part
from millpond.services.flows.step_jobs import StepMaker, lineage_of
from millpond.services.models import registration

# Where the library's components write their metrics, below the output.
_METRICS_FILE = "metrics.json"
_MOST_METRICS_BYTES = 10 << 20


def carry_out(
    deps: Deps, project: Project, run: FlowRun, maker: StepMaker, row: FlowStep, start: StepStart, now: datetime
) -> FlowStep:  # fmt: skip
    """The step as it ended. Whoever the flow runs as needs the right to do it now.

    Called again after a crash, or by two servers at once, it is done once.
    """
    step = maker.context.flow.steps[row.step]
    component = maker.context.component(step)
    if component is None or component.category != REGISTER:
        raise BadRequest(f"This server cannot carry out {step.component!r}.", hint="Update the server.")
    params = maker.params(step, component, start.params)
    actor = publishing.actor_of(deps, project, run)
    metrics = start.inputs.get("metrics")
    asked = NewModelVersion(
        model=str(params["model"]),
        source=FromCommit(start.inputs["model"].place),
        description=params.get("description") or f"Registered by flow {run.written}.",
        aliases=[params["alias"]] if params.get("alias") else [],
        metrics=_metrics(deps, project, metrics) if isinstance(metrics, Files) else None,
        lineage=lineage_of(run, row.label),
        once=row.id,
    )
    made = registration.register(deps, actor, project, asked)
    return replace(
        row, state=StepState.SUCCEEDED, params=params, outputs={"version": made.version.number}, started_at=now,
        ended_at=deps.clock.now(),
    )  # fmt: skip


def _metrics(deps: Deps, project: Project, files: Files) -> dict[str, float]:
    """The numbers of a JSON object, which is the output itself or lies in its folder."""
    ref = DatasetRef.parse(files.place)
    commit = lake_files.find_commit(deps, ref.ref or "")
    with deps.db.read() as tx:
        dataset = datasets.get(tx, commit.dataset_id)
    assert dataset is not None  # commits have a foreign key
    path = ref.path or ""
    if not lake_files.is_file(deps, project, Part(commit, path.encode())):
        path = f"{path}/{_METRICS_FILE}".lstrip("/")
    file = open_file(deps, dataset, commit, path)
    if file.size > _MOST_METRICS_BYTES:
        raise BadRequest(f"The metrics in {path} have {file.size:,} bytes.", hint="Write the summary only.")
    try:
        told = json.loads(b"".join(file.read(deps, 0, file.size)))
    except ValueError as error:
        raise BadRequest(f"The metrics in {path} are not JSON: {error}.") from error
    return {key: float(value) for key, value in told.items() if _is_number(value)} if isinstance(told, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
