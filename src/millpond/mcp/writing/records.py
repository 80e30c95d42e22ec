"""Tools that write down what is known: tags and notes of runs, aliases of models, snapshots of workspaces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.models import set_alias
from millpond.client.runs import edit_run, find_run
from millpond.client.workspaces import take_snapshot
from millpond.mcp.answers import document
from millpond.mcp.reading.models import Model, Version
from millpond.mcp.reading.runs import Run
from millpond.mcp.tool import Project, Tools, changes
from millpond.wire.runs import RunEdit


class RecordChanges(Tools):
    @changes("Tag a run", destroys=True, repeatable=True)
    def tag_run(
        self,
        run: Run,
        tags: Annotated[dict[str, str | None], Field(description="Tags to set; null removes one.")] = {},  # noqa: B006
        notes: Annotated[str | None, Field(max_length=100_000, description="New notes, in place of the old.")] = None,
        project: Project = None,
    ) -> dict[str, Any]:
        """Set tags and notes of a run."""
        named = self._project(project)
        change = RunEdit(tags=tags, notes=notes)
        return document(edit_run(self._api, named, find_run(self._api, named, run, unique=True).id, change))

    @changes("Move an alias of a model", destroys=True, repeatable=True)
    def set_model_alias(
        self,
        model: Model,
        alias: Annotated[str, Field(min_length=1, description="Like champion.")],
        version: Version,
        project: Project = None,
    ) -> dict[str, Any]:
        """Let an alias point to a version, wherever it pointed before. Endpoints that serve the alias follow it."""
        return document(set_alias(self._api, self._project(project), model, alias, version))

    @changes("Take a snapshot")
    def take_snapshot(
        self,
        workspace: Annotated[str, Field(min_length=1, description="Its name.")],
        name: Annotated[str | None, Field(description="Name of the snapshot; made if left out.")] = None,
        project: Project = None,
    ) -> dict[str, Any]:
        """Take a snapshot of a workspace: near at once, kept as a commit in the background."""
        return document(take_snapshot(self._api, self._project(project), workspace, name=name))
