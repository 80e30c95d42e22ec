"""Tools that run flows. Steps that wait for an approval wait for a person: there is no tool for it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.flows.runs import cancel_run, retry_run, start_run
from millpond.mcp.answers import document
from millpond.mcp.reading.flows import Flow, FlowRun
from millpond.mcp.tool import Project, Tools, changes
from millpond.wire.flows import FlowRun as StartedRun
from millpond.wire.flows import FlowRunCreate


class FlowChanges(Tools):
    @changes("Run a flow")
    def run_flow(
        self,
        flow: Flow,
        params: Annotated[dict[str, Any], Field(description="Parameters by name, or by STEP.NAME.")] = {},  # noqa: B006
        version: Annotated[int | None, Field(ge=1, description="The newest without it.")] = None,
        project: Project = None,
    ) -> dict[str, Any]:
        """Start a run of a flow. See how it goes with show_flow_run."""
        asked = FlowRunCreate(params=params, version=version)
        return _told(start_run(self._api, self._project(project), flow, asked))

    @changes("Cancel a run of a flow", destroys=True, repeatable=True)
    def cancel_flow_run(self, run: FlowRun, project: Project = None) -> dict[str, Any]:
        """Cancel a run of a flow and stop its steps."""
        return _told(cancel_run(self._api, self._project(project), run))

    @changes("Retry a run of a flow")
    def retry_flow_run(
        self,
        run: FlowRun,
        from_step: Annotated[str | None, Field(description="From this step; without it, what did not succeed.")] = None,
        project: Project = None,
    ) -> dict[str, Any]:
        """Run the steps of a flow's run again that did not succeed, or all from one step on."""
        return _told(retry_run(self._api, self._project(project), run, from_step))


def _told(run: StartedRun) -> dict[str, Any]:
    found = document(run)
    found.pop("text", None)
    return found
