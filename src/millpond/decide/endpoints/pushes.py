"""Versions pushed to sites: what a push makes of an endpoint's sites, and what a rollback brings back there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from millpond.decide.endpoints.changes import entry_of, is_pattern
from millpond.errors import Conflict, Invalid
from millpond.model.endpoint import EndpointRevision
from millpond.model.endpoint_spec import EndpointSite, EndpointSpec

ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class Pushed:
    """A version that a site was told to serve (None: the endpoint's own), and the revision that said so."""

    model: str | None
    number: int


def pushed(spec: EndpointSpec, sites: Sequence[str], model: str | None) -> EndpointSpec:
    """The spec with this version at sites and patterns of sites; None: with the endpoint's own versions there."""
    for written in sites:
        spec = _pushed_to(spec, written, model)
    return spec


def _pushed_to(spec: EndpointSpec, written: str, model: str | None) -> EndpointSpec:
    """Entries that the pattern covers get the version. A new entry asks for as many replicas as the wider one that
    covered it before, and comes before that: of several patterns, the first one counts."""
    covered = [_covers(written, one.site) for one in spec.sites]
    found = [replace(one, model=model) if is_in else one for one, is_in in zip(spec.sites, covered, strict=True)]
    if all(one.site != written for one in spec.sites):
        wider = entry_of(spec, written)
        entry = replace(wider, site=written, model=model) if wider else EndpointSite(written, model=model)
        place = 1 + max((place for place, is_in in enumerate(covered) if is_in), default=-1)
        found.insert(place, entry)
    return replace(spec, sites=tuple(found))


def _covers(pattern: str, site: str) -> bool:
    return site == pattern or (is_pattern(pattern) and fnmatchcase(site, pattern))


def history_at(revisions: Sequence[EndpointRevision], site: str) -> list[Pushed]:
    """The versions that an entry (or a site) was told to serve, oldest first. `revisions` are oldest first.

    A rollback takes back what came after the version that it restored, so that the next one goes further back.
    """
    found: list[Pushed] = []
    for revision in revisions:
        entry = entry_of(revision.spec, site)
        if entry is None or (found and found[-1].model == entry.model):
            continue
        known = [one.model for one in found]
        if revision.action == ROLLBACK and entry.model in known:
            del found[known.index(entry.model) + 1 :]
        else:
            found.append(Pushed(entry.model, revision.number))
    return found


def pushed_back(spec: EndpointSpec, revisions: Sequence[EndpointRevision], sites: Sequence[str]) -> EndpointSpec:
    """The version before at these sites; without sites, at those that the newest push went to.

    Conflict where there is no version before, Invalid for a site that the endpoint has not.
    """
    for written in sites:
        if entry_of(spec, written) is None:
            known = ", ".join(one.site for one in spec.sites)
            raise Invalid(f"Endpoint {spec.name!r} has no site {written!r}.", hint=f"Its sites: {known}.",
                          fields=["sites"])  # fmt: skip
    histories = {site: history_at(revisions, site) for site in sites or [one.site for one in spec.sites]}
    able = {site: history for site, history in histories.items() if len(history) > 1}
    missing = [site for site in sites if site not in able]
    if missing or not able:
        where = f" at {missing[0]}" if missing else ""
        raise Conflict(
            f"Cannot roll back endpoint {spec.name!r}{where}: no version was pushed there before this one.",
            hint=f"See what was asked for: mill endpoint revisions {spec.name}",
        )
    newest = max(history[-1].number for history in able.values())
    for site, history in able.items():
        if sites or history[-1].number == newest:
            spec = pushed(spec, [site], history[-2].model)
    return spec
