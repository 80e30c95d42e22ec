"""What an endpoint asks for, held against what there is: versions become numbers, sites and templates must exist."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection

from millpond.db import commits, computes, endpoints, sites
from millpond.decide.endpoints.changes import is_pattern, sites_of
from millpond.decide.endpoints.reader import read_endpoint
from millpond.decide.models import facts_of
from millpond.errors import Conflict, Invalid
from millpond.model.endpoint_spec import EndpointSite, EndpointSpec
from millpond.model.model import split_written
from millpond.model.model_check import CheckState
from millpond.model.people import Project
from millpond.model.quantity import format_count
from millpond.services.computes.templates import check_named
from millpond.services.models import models, versions
from millpond.services.places import sites as site_service


def read(text: str) -> EndpointSpec:
    """The spec that a text asks for. Invalid names every problem, with line and column, in `details["problems"]`."""
    spec, problems = read_endpoint(text)
    if spec is not None and not problems:
        return spec
    first = problems[0]
    raise Invalid(
        f"The endpoint has {format_count(len(problems), 'problem')}. "
        f"Line {first.line}, column {first.column}: {first.message}",
        hint=first.hint or None,
        problems=[
            {key: getattr(one, key) for key in ("line", "column", "path", "code", "message", "hint")}
            for one in problems
        ],
    )


def resolved(tx: Connection, project: Project, spec: EndpointSpec, endpoint_id: str | None = None) -> EndpointSpec:
    """The spec as it is stored. Raises what stands in its way, in words for people."""
    spec = replace(
        spec,
        versions=tuple(replace(one, model=numbered(tx, project, one.model)) for one in spec.versions),
        shadow=replace(spec.shadow, model=numbered(tx, project, spec.shadow.model)) if spec.shadow else None,
        sites=tuple(_numbered_site(tx, project, one) for one in spec.sites) or _only_site(tx),
    )
    if len({one.model for one in spec.versions}) < len(spec.versions):
        raise Invalid("Two of the versions are the same.", hint="Remove one of them.", fields=["versions"])
    for one in spec.sites:
        if not is_pattern(one.site):
            site_service.find(tx, one.site)
        if one.template is not None:
            check_named(tx, one.template)
    if spec.drift is not None and spec.drift.on is not None:
        check_named(tx, spec.drift.on)
    places = sites_of(spec, sites.all_of(tx))
    if not places:
        raise Invalid("No site matches.", hint="List them: mill site list", fields=["sites"])
    _check_ports(tx, project, spec, endpoint_id)
    return spec


def numbered(tx: Connection, project: Project, written: str) -> str:
    """NAME@NUMBER of a version that can be served. NotFound, or Conflict for one whose files are elsewhere."""
    name, version = split_written(written)
    model = models.find(tx, project, name)
    found = versions.resolve(tx, model, version)
    commit = commits.get(tx, found.commit_id)
    if commit is None or facts_of(commit).is_elsewhere:
        raise Conflict(
            f"Cannot serve {name}@{found.number}: its files are not in the lake.",
            hint=f"Register it from a folder: mill model register {name} --from DIRECTORY",
        )
    return f"{name}@{found.number}"


def require_checked(tx: Connection, project: Project, models_written: Iterable[str]) -> None:
    """Conflict for a version, written NAME@NUMBER, that has not passed its check."""
    for written in sorted(set(models_written)):
        name, number = split_written(written)
        check = versions.resolve(tx, models.find(tx, project, name), number).check
        if check is not None and check.state is CheckState.PASSED:
            continue
        said = {
            CheckState.FAILED: f"failed its check: {check.error}" if check else "",
            CheckState.RUNNING: "is being checked",
        }
        found = said[check.state] if check is not None else "has not been checked"
        raise Conflict(
            f"Cannot serve {written}: it {found}".rstrip(".") + ".",
            hint=f"Check it: mill model check {written}. Or serve it as it is: --unchecked",
        )


def _numbered_site(tx: Connection, project: Project, site: EndpointSite) -> EndpointSite:
    return replace(site, model=numbered(tx, project, site.model)) if site.model else site


def _only_site(tx: Connection) -> tuple[EndpointSite, ...]:
    """The one site that has a compute. Invalid where there is none, or more than one."""
    names = sites.by_id(tx)
    found = sorted({names[one.site_id] for one in computes.all_computes(tx)})
    if len(found) == 1:
        return (EndpointSite(found[0]),)
    said = f"Choose among: {', '.join(found)}." if found else "Attach a compute first: mill compute attach"
    raise Invalid("No site given.", hint=said, fields=["sites"])


def _check_ports(tx: Connection, project: Project, spec: EndpointSpec, endpoint_id: str | None) -> None:
    """Conflict where another router listens on one of the ports: each project has its own."""
    known = sites.all_of(tx)
    here = {site.name for site, _ in sites_of(spec, known)}
    mine = {spec.ports.http, spec.ports.grpc, spec.ports.metrics}
    for other in endpoints.all_of(tx):
        if other.id == endpoint_id or (other.project_id == project.id and other.spec.ports == spec.ports):
            continue
        taken = mine & {other.spec.ports.http, other.spec.ports.grpc, other.spec.ports.metrics}
        shared = here & {site.name for site, _ in sites_of(other.spec, known)}
        if taken and shared:
            whose = f"endpoint {other.name}" if other.project_id == project.id else "another project"
            raise Conflict(
                f"Port {min(taken)} at site {min(shared)} is used by {whose}.",
                hint="Choose others with `ports` in endpoint.yaml, or --port.",
            )
