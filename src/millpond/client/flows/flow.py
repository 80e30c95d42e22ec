"""`millpond.Flow` and `millpond.FlowRun`: flows of a project and their runs, for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.client.credentials import ServerTarget, resolve_target
from millpond.client.flows import flows as calls
from millpond.client.flows import runs as run_calls
from millpond.client.flows.flow_file import FlowFile, read_flow_file
from millpond.client.flows.flow_steps import find_steps
from millpond.client.flows.outputs import OutputFiles, read_output
from millpond.client.flows.run_logs import read_step_log, step_logs
from millpond.client.flows.triggering import Triggering
from millpond.client.http import Api
from millpond.errors import BadRequest
from millpond.model.quantity import parse_seconds
from millpond.wire.flows import Flow as FlowInfo
from millpond.wire.flows import FlowRun as FlowRunInfo
from millpond.wire.flows import FlowRunCreate, FlowRunSummary, FlowStep, FlowVersion


class Flow(Triggering):
    """A flow of the project: `words`, or `words@2` for one of its versions.

    What is known of it (`version`, `steps`, `text`, `newest_run` …) are attributes, as they were when it was read.
    """

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        flow, at, version = name.partition("@")
        if at and not version.isdecimal():
            raise BadRequest(f"{name!r} names no version.", hint="Write it as NAME@VERSION, like words@3.")
        self._target = resolve_target(server, project)
        self._api = Api(self._target.server, self._target.token)
        self.info: FlowInfo = calls.get_flow(self._api, self._target.project, flow, int(version) if at else None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        return getattr(self.info, name)

    @classmethod
    def save(
        cls, file: Path | str | FlowFile, *, expected: int | None = None, server: str | None = None,
        project: str | None = None,
    ) -> Flow:  # fmt: skip
        """Save a flow file (YAML or Python) with its code; a new version only if something changed.

        `expected` is the version that was changed, 0 for a new flow: Conflict if there is a newer one.
        """
        target = resolve_target(server, project)
        found = file if isinstance(file, FlowFile) else read_flow_file(Path(file))
        with Api(target.server, target.token) as api:
            saved = calls.save_flow(api, target.project, found, expected=expected)
        return cls(f"{saved.name}@{saved.version}", server=target.server, project=target.project)

    @classmethod
    def all(cls, *, server: str | None = None, project: str | None = None) -> list[FlowInfo]:
        """The flows of the project, by name, each with its newest run."""
        target = resolve_target(server, project)
        with Api(target.server, target.token) as api:
            return [*calls.list_flows(api, target.project)]

    def run(
        self, params: Mapping[str, Any] | None = None, *, on: str | None = None, from_step: str | None = None,
        only: str | None = None, remember: bool = True, wait: bool = False, timeout: str | None = None,
    ) -> FlowRun:  # fmt: skip
        """Start a run of this version. `params`: by name, `STEP.NAME` for one of a step.

        `on`: template or queue for every step. `from_step`, `only`: with outputs of an earlier run before it. With
        `wait`, the run when it has ended, or after `timeout` (like `90m`).
        """
        asked = {"version": self.info.version, "params": dict(params or {}), "on": on, "from": from_step, "only": only}
        request = FlowRunCreate.model_validate({**asked, "remember": remember})
        run = FlowRun.of(self._target, run_calls.start_run(self._api, self.info.project, self.info.name, request))
        return run.wait(timeout) if wait else run

    def runs(self, *, state: str | None = None, limit: int | None = None) -> list[FlowRunSummary]:
        """Runs of all versions, newest first."""
        states = [state] if state else []
        return [*run_calls.list_runs(self._api, self.info.project, flow=self.info.name, states=states, at_most=limit)]

    def versions(self) -> list[FlowVersion]:
        """Newest first."""
        return calls.list_versions(self._api, self.info.project, self.info.name)

    def export(self, folder: Path | str) -> list[Path]:
        """Write everything that was saved as this version into a folder."""
        return calls.export_flow(self._api, self.info.project, self.info.name, Path(folder), self.info.version)

    def __repr__(self) -> str:
        return f"Flow('{self.info.project}/{self.info.name}@{self.info.version}')"


class FlowRun:
    """A run of a flow: `words#3`, an id, or `words` for the newest run.

    What is known of it (`state`, `reason`, `params`, `steps` …) are attributes, as they were when it was last read.
    """

    info: FlowRunInfo

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        target = resolve_target(server, project)
        with Api(target.server, target.token) as api:
            info = run_calls.get_run(api, target.project, name)
        self._take(target, info)

    @classmethod
    def of(cls, target: ServerTarget, info: FlowRunInfo) -> FlowRun:
        """One that was read already."""
        made = cls.__new__(cls)
        made._take(target, info)
        return made

    def _take(self, target: ServerTarget, info: FlowRunInfo) -> None:
        self._api = Api(target.server, target.token)
        self.info = info

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        return getattr(self.info, name)

    def refresh(self) -> FlowRun:
        """Read it again."""
        self.info = run_calls.get_run(self._api, self.info.project, self.info.id)
        return self

    def wait(self, timeout: str | None = None) -> FlowRun:
        """Until it has ended, or for `timeout` (like `90m`)."""
        limit = None if timeout is None else parse_seconds(timeout)
        self.info = run_calls.wait_for_run(self._api, self.info.project, self.info.id, timeout=limit)
        return self

    def step(self, step: str) -> FlowStep:
        """One execution: STEP, or STEP-INDEX of a step that runs over a list."""
        found = find_steps(self.info, step)
        if len(found) != 1:
            raise BadRequest(f"Step {step!r} has {len(found)} executions.", hint=f"Name one of them, like {step}-0.")
        return found[0]

    def outputs(self, step: str) -> dict[str, Any | OutputFiles]:
        """By name: values as they are, everything else as files of a dataset."""
        return {name: read_output(value, server=self._api.base_url) for name, value in self.step(step).outputs.items()}

    def logs(self, step: str) -> str:
        """The log of one execution so far. Of a remembered step, that of the step which made its outputs."""
        logs = step_logs(self._api, self.info, [self.step(step)])
        found = [b"".join(read_step_log(self._api, self.info.project, log)) for log in logs]
        return b"".join(found).decode("utf-8", "replace")

    def cancel(self) -> FlowRun:
        """End every step. No effect if it has ended."""
        self.info = run_calls.cancel_run(self._api, self.info.project, self.info.id)
        return self

    def retry(self, from_step: str | None = None) -> FlowRun:
        """Go on with a run that has ended: steps that did not succeed run again, or all from one step on."""
        self.info = run_calls.retry_run(self._api, self.info.project, self.info.id, from_step)
        return self

    def approve(self, step: str, comment: str = "") -> FlowRun:
        self.info = run_calls.approve_step(self._api, self.info.project, self.info.id, step, comment)
        return self

    def reject(self, step: str, comment: str = "") -> FlowRun:
        self.info = run_calls.reject_step(self._api, self.info.project, self.info.id, step, comment)
        return self

    def __repr__(self) -> str:
        return f"FlowRun('{self.info.project}/{self.info.written}', {self.info.state})"
