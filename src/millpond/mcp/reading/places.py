"""Reading tools about sites, computes, clusters and workspaces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.clusters import list_clusters
from millpond.client.computes import get_top, list_computes
from millpond.client.topology import get_topology
from millpond.client.workspaces import get_workspace, list_snapshots, list_workspaces
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Limit, Project, Skip, Tools, reads


class PlaceTools(Tools):
    @reads("Show the topology")
    def show_topology(self) -> dict[str, Any]:
        """Show sites with their volumes, computes, and the links between them."""
        return document(get_topology(self._api))

    @reads("List computes")
    def list_computes(self, limit: Limit = 50, skip: Skip = 0) -> dict[str, Any]:
        """List computes (machines and clusters that run jobs): state, nodes, CPUs, memory, GPUs."""
        return listed(list_computes(self._api), limit=limit, skip=skip)

    @reads("Show load")
    def show_load(self) -> dict[str, Any]:
        """Show nodes and running jobs with the GPUs, CPUs and memory they have and use."""
        return document(get_top(self._api))

    @reads("List clusters of Dask and Ray")
    def list_clusters(
        self,
        project: Annotated[str | None, Field(description="Only this project.")] = None,
        limit: Limit = 20,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List clusters of Dask and Ray with their state and workers."""
        found = list_clusters(self._api, project=project, at_most=skip + limit + 1)
        return listed(found, limit=limit, skip=skip)

    @reads("List workspaces")
    def list_workspaces(
        self,
        project: Annotated[str | None, Field(description="Only this project.")] = None,
        limit: Limit = 50,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List workspaces (writable trees on volumes) that you may see."""
        return listed(list_workspaces(self._api, project, at_most=skip + limit + 1), limit=limit, skip=skip)

    @reads("Show a workspace")
    def show_workspace(
        self, workspace: Annotated[str, Field(min_length=1, description="Its name.")], project: Project = None
    ) -> dict[str, Any]:
        """Show one workspace with its snapshots."""
        named = self._project(project)
        snapshots = listed(list_snapshots(self._api, named, workspace), limit=50)
        return {**document(get_workspace(self._api, named, workspace)), "snapshots": snapshots}
