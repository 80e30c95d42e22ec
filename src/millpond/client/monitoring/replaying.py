"""Logged requests asked again of a candidate: an endpoint that serves another version. Its answers are compared."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from millpond.client.http import Api, segment
from millpond.client.monitoring.logged import Window, logged_requests, open_log
from millpond.client.monitoring.recording import begin_run
from millpond.client.monitoring.tables import Row, sampled
from millpond.client.monitoring.values import Array, inputs_of, predictions_of, tensors_of
from millpond.errors import BadRequest, MillError
from millpond.model.ids import new_job_id
from millpond.wire.endpoints import Endpoint

MOST_REQUESTS = 1000
# Numbers with a fraction agree if they differ by less than this part.
_CLOSE = 1e-3


@dataclass(slots=True)
class ReplayReport:
    """`requests` were asked again `of` those logged; `skipped` could not be, as parts of them were not logged.

    `logged_ms` is the median at the router then, `ms` the median now, with the way through the server.
    """

    endpoint: str
    candidate: str
    run_id: str
    of: int = 0
    requests: int = 0
    skipped: int = 0
    failed: int = 0
    # Of the first that failed.
    failure: str = ""
    samples: int = 0
    agreed: int = 0
    largest_difference: float = 0.0
    times: list[float] = field(default_factory=list, repr=False)
    logged_times: list[float] = field(default_factory=list, repr=False)

    @property
    def agreement(self) -> float | None:
        return self.agreed / self.samples if self.samples else None

    @property
    def ms(self) -> float | None:
        return median(self.times) if self.times else None

    @property
    def logged_ms(self) -> float | None:
        return median(self.logged_times) if self.logged_times else None

    def compare(self, before: Array, now: Array) -> None:
        """Samples of one output, as they were answered then and now."""
        self.samples += len(before)
        if before.shape != now.shape:
            return
        is_number = before.dtype.kind in "iuf" and now.dtype.kind in "iuf"
        if is_number:
            self.largest_difference = max(self.largest_difference, float(np.abs(before - now.astype(float)).max()))
        if is_number and before.shape[1] == 1:
            self.agreed += int(np.isclose(before[:, 0], now[:, 0], rtol=_CLOSE, atol=1e-6).sum())
        else:
            pairs = zip(predictions_of(before), predictions_of(now), strict=True)
            self.agreed += sum(one == two for one, two in pairs)


def replay(
    api: Api, endpoint: Endpoint, candidate: Endpoint, window: Window, *, version: int | None = None,
    most: int = MOST_REQUESTS,
) -> ReplayReport:  # fmt: skip
    """Ask again, compare, and keep the result as a run of the experiment `replay-ENDPOINT`.

    `version` chooses requests that this version of the endpoint answered.
    """
    report = ReplayReport(endpoint.name, candidate.name, new_job_id())
    with open_log(api, endpoint) as log:
        kept, report.of = sampled(logged_requests(log, endpoint, window, version=version), most, dict)
        for row in kept:
            _ask_again(api, candidate, row, report)
        if not report.requests:
            raise BadRequest(
                f"No requests of endpoint {endpoint.name} in this time can be asked again.",
                hint="Inputs are kept with log: {level: full} in its endpoint.yaml; redacted and large ones are not.",
            )
        with begin_run(api, endpoint.project, report.run_id, f"replay-{endpoint.name}", [log]) as run:
            versions = " ".join(f"{one.model}@{one.version}" for one in candidate.versions)
            told = {"endpoint": endpoint.name, "candidate": candidate.name, "candidate_versions": versions}
            run.log_params({**told, "since": window.since.isoformat(), "until": window.until.isoformat()})
            counts = {"requests": report.requests, "skipped": report.skipped, "failed": report.failed}
            found = {"agreement": report.agreement, "ms": report.ms, "logged_ms": report.logged_ms}
            measured = {key: value for key, value in found.items() if value is not None}
            run.log_metrics({**counts, **measured, "largest_difference": report.largest_difference})
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
        report.failed += 1
        report.failure = report.failure or error.message
        return
    report.times.append((time.monotonic() - began) * 1000)
    if row.get("ms") is not None:
        report.logged_times.append(row["ms"])
    now = dict(tensors_of(answer.content.decode(), "outputs"))
    for output, before in tensors_of(row.get("response"), "outputs"):
        if output in now:
            report.compare(before, now[output])
        else:
            report.samples += len(before)
