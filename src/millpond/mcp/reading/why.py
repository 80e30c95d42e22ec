"""One tool that says why anything is as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from millpond.client.caches import why_cached
from millpond.client.clusters import get_cluster
from millpond.client.endpoints import why_endpoint
from millpond.client.jobs import why_job
from millpond.client.workspaces import why_workspace
from millpond.errors import BadName, NotFound
from millpond.mcp.answers import document
from millpond.mcp.tool import Project, Tools, reads

Noun = Literal["job", "endpoint", "workspace", "cluster", "dataset"]


class WhyTools(Tools):
    @reads("Why is it so")
    def why(
        self,
        name: Annotated[str, Field(min_length=1, description="Job, endpoint, workspace, cluster, or dataset@ref.")],
        noun: Annotated[Noun | None, Field(description="What it is; without it, the first of that name.")] = None,
        project: Project = None,
    ) -> dict[str, Any]:
        """Say why something is in its state: the rule, who holds what it needs, when it may go on. The first thing to
        ask when a job waits, an endpoint does not answer, or data is not cached."""
        asks = self._asks(self._project(project))
        if noun is not None:
            return {"noun": noun, **asks[noun](name)}
        for one, ask in asks.items():
            try:
                return {"noun": one, **ask(name)}
            except (NotFound, BadName):
                continue
        raise NotFound(
            f"No job, endpoint, workspace, cluster or dataset {name!r} in {self._project(project)}.",
            hint="Look for it with the tool find, or name another project.",
        )

    def _asks(self, project: str) -> Mapping[Noun, Callable[[str], dict[str, Any]]]:
        api = self._api

        def cached(name: str) -> dict[str, Any]:
            where = self._place.commit(name)
            return document(why_cached(api, f"{where.dataset}@{where.ref}", where.project if "/" in name else project))

        return {
            "job": lambda name: document(why_job(api, project, name)),
            "endpoint": lambda name: document(why_endpoint(api, project, name)),
            "workspace": lambda name: document(why_workspace(api, project, name)),
            "cluster": lambda name: document(get_cluster(api, project, name)),
            "dataset": cached,
        }
