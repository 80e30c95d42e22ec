"""What would become of a job, without submitting it: what its template fills in, and what each place would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

from millpond.decide.score_table import PlaceScore
from millpond.model.job_spec import JobSpec
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.jobs import plan_input, submit
from millpond.services.jobs.loaded import load
from millpond.services.jobs.snapshot import commits_of_spec

# Stands for the id and the class of a job that does not exist.
_NONE = ""


@dataclass(frozen=True, slots=True)
class DryRunView:
    """`rule` and `reason`: what would keep it from a place with room; None if nothing would."""

    spec: JobSpec
    template: str | None
    rule: str | None
    reason: str | None
    places: Sequence[PlaceScore]


def dry_run(deps: Deps, actor: Actor, project: Project, spec: JobSpec) -> DryRunView:
    """Raises what submitting it would raise."""
    chosen, choices = submit.check(deps, actor, project, spec)
    now = deps.clock.now()
    with deps.db.read() as tx:
        loaded = load(tx, now, deps.settings, also=commits_of_spec(chosen.spec))
    loaded = replace(
        loaded,
        specs={**loaded.specs, _NONE: chosen.spec},
        choices={**loaded.choices, _NONE: choices},
        projects={**loaded.projects, project.id: project},
    )
    row = SimpleNamespace(
        id=_NONE, class_key=_NONE, project_id=project.id, template=None, queued_at=now, requeued_at=None
    )  # fmt: skip
    scored = plan_input.plan_input(loaded).scored
    table = scored.table(row)
    places = scored.shown(row, None if table.target is None else (table.target.offer.template, table.target.offer.zone))
    starts = any(one.offer.wait == 0 for found in table.starts for one in found)
    kept = None if starts else scored.rule(row)
    name = chosen.use.name if chosen.use else None
    return DryRunView(chosen.spec, name, kept.rule if kept else None, kept.words if kept else None, places)
