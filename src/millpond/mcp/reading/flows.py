"""Reading tools about flows and the library of components."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.flows.flow_file import problem_document
from millpond.client.flows.flows import get_flow, list_flows, validate_flow
from millpond.client.flows.runs import get_run, list_runs
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Limit, Project, Skip, Tools, reads

Flow = Annotated[str, Field(min_length=1, description="Name of the flow.")]
FlowRun = Annotated[str, Field(min_length=1, description="Run of a flow: NAME#N, or id.")]


class FlowTools(Tools):
    @reads("List flows")
    def list_flows(self, project: Project = None, limit: Limit = 50, skip: Skip = 0) -> dict[str, Any]:
        """List flows (graphs of steps) with their newest version and run."""
        found = list_flows(self._api, self._project(project), at_most=skip + limit + 1)
        return listed(found, limit=limit, skip=skip)

    @reads("Show a flow")
    def show_flow(
        self,
        flow: Flow,
        version: Annotated[int | None, Field(ge=1, description="The newest without it.")] = None,
        project: Project = None,
    ) -> dict[str, Any]:
        """Show one flow: its parameters, and its flow.yaml."""
        return document(get_flow(self._api, self._project(project), flow, version))

    @reads("List runs of flows")
    def list_flow_runs(
        self,
        flow: Annotated[str | None, Field(description="Only of this flow.")] = None,
        project: Project = None,
        limit: Limit = 20,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List runs of flows, newest first."""
        found = list_runs(self._api, self._project(project), flow=flow, at_most=skip + limit + 1)
        return listed(found, limit=limit, skip=skip)

    @reads("Show a run of a flow")
    def show_flow_run(self, run: FlowRun, project: Project = None) -> dict[str, Any]:
        """Show one run of a flow with the state, reason, job and outputs of each step."""
        found = document(get_run(self._api, self._project(project), run))
        found.pop("text", None)
        return found

    @reads("Check a flow.yaml")
    def validate_flow(
        self,
        text: Annotated[str, Field(max_length=200_000, description="The whole flow.yaml.")],
        project: Project = None,
    ) -> dict[str, Any]:
        """List what is wrong with a flow.yaml, with lines, columns and hints. Nothing is saved."""
        problems = validate_flow(self._api, self._project(project), text.encode())
        found = listed(map(problem_document, problems), limit=100)
        return {"valid": not found["items"], **found}
