"""Templates: named sizes that administrators offer and jobs run on (`--on`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import computes, jobs, queues, templates
from millpond.decide.templates import conflict, filled, unfilled
from millpond.errors import InUse, NameTaken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.model.quantity import format_count
from millpond.model.template import Queue, Template, TemplateSpec
from millpond.services.computes import elastic
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.jobs.options import check_gpus, check_options, check_selector, check_variables
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit

_NAMED = 5


def create(deps: Deps, actor: Actor, name: str, spec: TemplateSpec) -> Template:
    """NameTaken if a template or queue has the name."""
    with deps.db.read() as tx:
        if templates.find(tx, name) is not None:
            raise NameTaken(f"Template {name!r} already exists.", hint=f"Change it: mill template update {name}")
    return put(deps, actor, name, spec)


def put(deps: Deps, actor: Actor, name: str, spec: TemplateSpec) -> Template:
    """Create or replace it. Queued jobs that are planned with it follow; jobs that run keep what they have."""
    _check(name, spec)
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            _check_compute(tx, spec.compute)
            before = templates.find(tx, name)
            if before is None:
                check_free(tx, name, "queue")
                value = Template(new_id(), name, spec, now, actor.name, now, actor.name)
                templates.insert(tx, value)
            else:
                value = replace(before, spec=spec, changed_at=now, changed_by=actor.name)
                templates.change(tx, value)
                _fill_again(tx, value, now)
            action = "template.create" if before is None else "template.update"
            audit.record(
                tx, now=now, actor=actor, action=action, subject=name,
                before=_told(before.spec) if before else None, after=_told(spec),
            )  # fmt: skip
    except IntegrityError as error:
        raise NameTaken(f"Template {name!r} is being created by somebody else.", hint="Try again.") from error
    deps.events.wake("schedule")
    return value


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """InUse, naming them, while a queue holds it or queued jobs wait for it."""
    with deps.db.write() as tx:
        found = find(tx, name)
        holding = [one.name for one in queues.with_template(tx, name)]
        if holding:
            raise InUse(
                f"Template {name!r} is in {'queue' if len(holding) == 1 else 'queues'} {', '.join(holding)}.",
                hint="Take it out of the queue first: mill queue update",
                depends=[f"queue {one}" for one in holding],
            )
        refuse_waiting(tx, "Template", name)
        templates.delete(tx, found.id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="template.delete", subject=name,
                     before=_told(found.spec))  # fmt: skip


def _told(spec: TemplateSpec) -> dict[str, object]:
    """Of a template, for the audit log. Variables may hold secrets: only their names."""
    return {**audit.values_of(spec), "env": sorted(spec.env)}


def get(deps: Deps, name: str) -> Template:
    with deps.db.read() as tx:
        return find(tx, name)


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[Template]:
    with deps.db.read() as tx:
        found = templates.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda item: item.name)


def find(tx: Connection, name: str) -> Template:
    found = templates.find(tx, name)
    if found is None:
        raise access.not_found("template", name, templates.by_name(tx))
    return found


def find_named(tx: Connection, name: str) -> Template | Queue:
    """What a job's `on` names: a template or a queue. NotFound with the nearest of either."""
    found = templates.find(tx, name) or queues.find(tx, name)
    if found is None:
        raise access.not_found("template or queue", name, [*templates.by_name(tx), *queues.by_name(tx)])
    return found


def check_named(tx: Connection, on: str) -> None:
    """NotFound unless `on` names a template or queue, or templates as `T1,T2`."""
    names = on.split(",")
    if len(names) == 1:
        find_named(tx, on)
    for name in names if len(names) > 1 else ():
        if templates.find(tx, name) is None:
            raise access.not_found("template", name, templates.by_name(tx))


def check_free(tx: Connection, name: str, noun: str) -> None:
    """NameTaken if something of the other kind has the name: a job names either."""
    other = queues.find(tx, name) if noun == "queue" else templates.find(tx, name)
    if other is not None:
        raise NameTaken(f"A {noun} is named {name!r}.", hint="Templates and queues share their names: choose another.")


def refuse_waiting(tx: Connection, noun: str, name: str) -> None:
    """InUse if queued jobs name this template or queue."""
    waiting = [written for _, _, written in templates.jobs_waiting_on(tx, name)]
    if waiting:
        shown = ", ".join(waiting[:_NAMED]) + (" …" if len(waiting) > _NAMED else "")
        raise InUse(
            f"{noun} {name!r} is needed by {format_count(len(waiting), 'queued job')}: {shown}.",
            hint="Wait until they have started, or stop them: mill stop JOB",
            depends=[f"job {one}" for one in waiting],
        )


def _fill_again(tx: Connection, template: Template, now: datetime) -> None:
    """Queued jobs that are planned with it ask for what it says now."""
    for job_id, _, _ in templates.jobs_waiting_on(tx, template.name):
        job = jobs.lock(tx, job_id)
        if job is None or job.status.template is None or job.status.template.name != template.name:
            continue
        asked = unfilled(job.spec, job.status.template)
        if conflict(asked, template) is None:
            spec, use = filled(asked, template)
            job_changes.save(tx, job, replace(job.changed(template=use), spec=spec), now)


def _check(name: str, spec: TemplateSpec) -> None:
    check_name(name, "template")
    check_gpus(spec.gpu_hundredths)
    check_variables(spec.env, {})
    check_options(spec.options)
    check_selector(spec.node_selector)


def _check_compute(tx: Connection, name: str | None) -> None:
    if name is not None and computes.find(tx, name) is None and name not in elastic.known_names(tx):
        known = [compute.name for compute in computes.all_computes(tx)]
        raise access.not_found("compute", name, [*known, *elastic.known_names(tx)])
