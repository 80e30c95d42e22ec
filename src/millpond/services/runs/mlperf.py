"""What was measured of model servers in a project, as the tables of TR-4886."""

from __future__ import annotations

from millpond.decide.mlperf_tables import measurement_of, tables
from millpond.model.mlperf import MLPERF_EXPERIMENT, MlperfTable
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.runs.run_lists import RunListAsked, list_runs

# Of the newest runs: a whole matrix of all tasks and both protocols has about 200.
_RUNS = 1000


def mlperf_tables(deps: Deps, actor: Actor, project: Project) -> list[MlperfTable]:
    asked = RunListAsked(project=project.name, experiments=[MLPERF_EXPERIMENT])
    newest_first = list_runs(deps, actor, asked, limit=_RUNS).items
    found = [measurement_of(view) for view in newest_first]
    return tables([one for one in reversed(found) if one is not None])
