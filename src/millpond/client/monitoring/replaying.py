"""Logged requests asked again of a candidate: an endpoint that serves another version. Its answers are compared."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from millpond.client.http import Api, segment
from millpond.client.monitoring.logged import logged_requests, open_log
from millpond.client.monitoring.recording import begin_run
from millpond.errors import BadRequest, MillError
from millpond.model.endpoint import replay_experiment
from millpond.model.ids import new_job_id
from millpond.serve.monitoring.agreement import Agreement
from millpond.serve.monitoring.logged import Window
from millpond.serve.monitoring.tables import Row, sampled
from millpond.serve.monitoring.values import inputs_of, tensors_of
from millpond.wire.endpoints import Endpoint

MOST_REQUESTS = 1000


@dataclass(slots=True)
class ReplayReport(Agreement):
    """What was found; `ms` has the way through the server in it. Kept as the run `run_id`."""

    endpoint: str = ""
    candidate: str = ""
    run_id: str = field(default_factory=new_job_id)


def replay(
    api: Api, endpoint: Endpoint, candidate: Endpoint, window: Window, *, version: int | None = None,
    most: int = MOST_REQUESTS,
) -> ReplayReport:  # fmt: skip
    """Ask again, compare, and keep the result as a run of the experiment `replay-ENDPOINT`.

    `version` chooses requests that this version of the endpoint answered.
    """
    report = ReplayReport(endpoint=endpoint.name, candidate=candidate.name)
    with open_log(api, endpoint) as log:
        kept, report.of = sampled(logged_requests(log, endpoint, window, version=version), most, dict)
        for row in kept:
            _ask_again(api, candidate, row, report)
        if not report.requests:
            raise BadRequest(
                f"No requests of endpoint {endpoint.name} in this time can be asked again.",
                hint="Inputs are kept with log: {level: full} in its endpoint.yaml; redacted and large ones are not.",
            )
        with begin_run(api, endpoint.project, report.run_id, replay_experiment(endpoint.name), [log]) as run:
            versions = " ".join(f"{one.model}@{one.version}" for one in candidate.versions)
            told = {"endpoint": endpoint.name, "candidate": candidate.name, "candidate_versions": versions}
            run.log_params({**told, "since": window.since.isoformat(), "until": window.until.isoformat()})
            run.log_metrics(report.metrics)
    return report


def _ask_again(api: Api, candidate: Endpoint, row: Row, report: ReplayReport) -> None:
    inputs = inputs_of(row.get("request"))
    if not inputs:
        report.skipped += 1
        return
    report.requests += 1
    name = segment(candidate.name)
    path = f"/projects/{segment(candidate.project)}/endpoints/{name}/v2/models/{name}/infer"
    body = json.dumps({"inputs": inputs}).encode()
    began = time.monotonic()
    try:
        answer = api.request("POST", path, body=body, headers={"Content-Type": "application/json"})
    except MillError as error:
        report.note_failure(error.message)
        return
    took = (time.monotonic() - began) * 1000
    now = dict(tensors_of(answer.content.decode(), "outputs"))
    report.take(tensors_of(row.get("response"), "outputs"), now, ms=took, then=row.get("ms"))
