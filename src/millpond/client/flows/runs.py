"""Runs of flows over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from millpond.client.http import Api, segment
from millpond.model.flow_run import FlowRunPhase
from millpond.wire.flows import FlowAnswer, FlowRetry, FlowRun, FlowRunCreate, FlowRunSummary

# Between looks at a run: quick at first, seldom for those that take long.
_FIRST_SECONDS, _MOST_SECONDS = 0.1, 1.0


def start_run(api: Api, project: str, flow: str, request: FlowRunCreate) -> FlowRun:
    return api.send("POST", f"/projects/{segment(project)}/flows/{segment(flow)}/runs", FlowRun, request)


def list_runs(
    api: Api, project: str, *, flow: str | None = None, states: Sequence[str] = (), at_most: int | None = None
) -> Iterator[FlowRunSummary]:
    """Newest first, of one flow or of the whole project."""
    base = f"/projects/{segment(project)}"
    path = f"{base}/flow-runs" if flow is None else f"{base}/flows/{segment(flow)}/runs"
    return api.items(path, FlowRunSummary, state=list(states) or None, at_most=at_most)


def get_run(api: Api, project: str, run: str) -> FlowRun:
    """By id or NAME#NUMBER; NAME alone is the newest run of the flow."""
    return api.get(_path(project, run), FlowRun)


def cancel_run(api: Api, project: str, run: str) -> FlowRun:
    """End every step. No effect if it has ended."""
    return api.send("POST", f"{_path(project, run)}:cancel", FlowRun, idempotent=True)


def retry_run(api: Api, project: str, run: str, from_step: str | None = None) -> FlowRun:
    """Run the steps again that did not succeed, or all from one step on. Conflict if the run goes on."""
    return api.send("POST", f"{_path(project, run)}:retry", FlowRun, FlowRetry.model_validate({"from": from_step}))


def approve_step(api: Api, project: str, run: str, step: str, comment: str = "") -> FlowRun:
    path = f"{_path(project, run)}/steps/{segment(step)}:approve"
    return api.send("POST", path, FlowRun, FlowAnswer(comment=comment))


def reject_step(api: Api, project: str, run: str, step: str, comment: str = "") -> FlowRun:
    path = f"{_path(project, run)}/steps/{segment(step)}:reject"
    return api.send("POST", path, FlowRun, FlowAnswer(comment=comment))


def wait_for_run(
    api: Api,
    project: str,
    run: str,
    *,
    timeout: float | None = None,
    seen: Callable[[FlowRun], None] = lambda run: None,
    sleep: Callable[[float], None] = time.sleep,
) -> FlowRun:
    """The run when it has ended, or after `timeout` seconds. `seen` is called at every look."""
    began = time.monotonic()
    while True:
        asked = time.monotonic()
        found = get_run(api, project, run)
        seen(found)
        now = time.monotonic()
        if has_ended(found) or (timeout is not None and now - began >= timeout):
            return found
        # A run of a thousand steps is not asked for again at once.
        sleep(min(max(_FIRST_SECONDS, (now - began) / 20, 3 * (now - asked)), _MOST_SECONDS))


def has_ended(run: FlowRunSummary) -> bool:
    return FlowRunPhase(run.state).is_finished


def _path(project: str, run: str) -> str:
    return f"/projects/{segment(project)}/flow-runs/{segment(run)}"
