"""Reading tools about runs, their metrics, and hyperparameter searches."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.runs import compare_runs, find_run, get_metrics, get_run, list_runs
from millpond.client.searches import get_search, list_searches, list_trials
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Limit, Project, Skip, Tools, reads

Run = Annotated[str, Field(min_length=1, description="Run: its name, id, or the beginning of its id.")]
_BRIEF = ("id", "project", "experiment", "name", "state", "params", "metrics", "tags", "created_by", "started_at",
          "ended_at")  # fmt: skip


class RunTools(Tools):
    @reads("List or search runs")
    def list_runs(
        self,
        project: Annotated[str | None, Field(description="Only this project.")] = None,
        experiment: Annotated[str | None, Field(description="Only this experiment.")] = None,
        filter: Annotated[
            str | None,
            Field(description="Condition, like: metrics.accuracy > 0.9 and params.lr = 0.01 and status = 'FINISHED'"),
        ] = None,
        sort: Annotated[str | None, Field(description="Like -metrics.accuracy for the largest first.")] = None,
        limit: Limit = 20,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List runs with parameters and last metrics, newest first; or those that a condition chooses."""
        found = list_runs(
            self._api, project=project, experiment=experiment, filter=filter, sort=sort, at_most=skip + limit + 1
        )
        brief = ({key: told[key] for key in _BRIEF if key in told} for told in map(document, found))
        return listed(brief, limit=limit, skip=skip)

    @reads("Show a run")
    def show_run(self, run: Run, project: Project = None) -> dict[str, Any]:
        """Show one run: parameters, metrics, tags, notes, inputs, code, machine."""
        named = self._project(project)
        return document(get_run(self._api, named, find_run(self._api, named, run).id))

    @reads("Compare runs")
    def compare_runs(
        self,
        runs: Annotated[list[str], Field(min_length=2, max_length=20, description="Names or ids of runs.")],
        project: Project = None,
    ) -> dict[str, Any]:
        """Say how runs differ: parameters, metrics, code, data."""
        named = self._project(project)
        ids = [find_run(self._api, named, run).id for run in runs]
        return document(compare_runs(self._api, named, ids))

    @reads("Read metrics of a run")
    def read_metrics(
        self,
        run: Run,
        keys: Annotated[list[str] | None, Field(max_length=20, description="Names of metrics; all without it.")] = None,
        points: Annotated[int, Field(ge=4, le=500, description="Most points of each; longer ones are thinned.")] = 50,
        project: Project = None,
    ) -> dict[str, Any]:
        """Read metrics of a run by step, thinned so that least and greatest values stay."""
        named = self._project(project)
        found = get_metrics(self._api, named, find_run(self._api, named, run).id, keys, points)
        series = [{"key": one.key, "steps": one.steps, "values": one.values, "total": one.total} for one in found.items]
        return listed(series, limit=100)

    @reads("List hyperparameter searches")
    def list_searches(self, project: Project = None, limit: Limit = 20, skip: Skip = 0) -> dict[str, Any]:
        """List hyperparameter searches with state and best value."""
        return listed(list_searches(self._api, project=project, at_most=skip + limit + 1), limit=limit, skip=skip)

    @reads("Show a hyperparameter search")
    def show_search(
        self, search: Annotated[str, Field(description="Name or id.")], project: Project = None, trials: Limit = 20
    ) -> dict[str, Any]:
        """Show one hyperparameter search with its trials."""
        named = self._project(project)
        found = document(get_search(self._api, named, search))
        return {**found, "trials": listed(list_trials(self._api, named, search, at_most=trials + 1), limit=trials)}
