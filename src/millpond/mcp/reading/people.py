"""Reading tools about oneself, projects, and what happened."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond import __version__
from millpond.client.find import find_everything
from millpond.client.people import list_activity, list_projects, project_usage, whoami
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Limit, Project, Skip, Tools, reads


class PeopleTools(Tools):
    @reads("Who am I")
    def whoami(self) -> dict[str, Any]:
        """Say which server, project and user these tools work with: roles, scopes of the token, versions."""
        session = whoami(self._api)
        told = document(session)
        told.pop("csrf", None)
        return {"server": self._api.base_url, "project": self._place.project, "client_version": __version__, **told}

    @reads("List projects")
    def list_projects(self, limit: Limit = 50, skip: Skip = 0) -> dict[str, Any]:
        """List the projects that you may see."""
        return listed(list_projects(self._api), limit=limit, skip=skip)

    @reads("Show usage and quotas")
    def show_usage(self, project: Project = None) -> dict[str, Any]:
        """Show what a project uses of the lake, caches, jobs and API calls, its quotas, and who uses most."""
        return document(project_usage(self._api, self._project(project)))

    @reads("List activity")
    def list_activity(
        self, project: Annotated[str | None, Field(description="Only this project.")] = None, limit: Limit = 30
    ) -> dict[str, Any]:
        """List what happened lately, newest first: commits, jobs, caches, models."""
        return listed(list_activity(self._api, limit, project), limit=limit)

    @reads("Find anything by name")
    def find(
        self,
        text: Annotated[
            str, Field(min_length=1, description="Part of a name, project/name, job#7, or start of an id.")
        ],
        limit: Limit = 20,
    ) -> dict[str, Any]:
        """Find projects, datasets, branches, tags, commits, jobs, runs, computes, volumes, sites by name or id."""
        return listed(find_everything(self._api, text, limit), limit=limit)
