"""What changes of an endpoint make of its specification: scale, canary, promote, roll back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase

from millpond.errors import Conflict, Invalid
from millpond.model.endpoint import Endpoint, EndpointRevision, Rollout
from millpond.model.endpoint_spec import ALL_TRAFFIC, EndpointSite, EndpointSpec, WeightedVersion
from millpond.model.volume import Site

_WILD = frozenset("*?[")


def is_pattern(site: str) -> bool:
    return bool(_WILD & set(site))


def entry_of(spec: EndpointSpec, site: str) -> EndpointSite | None:
    """What the endpoint asks of a site: its own entry, or the first pattern that matches; None: nothing."""
    exact = next((one for one in spec.sites if one.site == site), None)
    return exact or next((one for one in spec.sites if is_pattern(one.site) and fnmatchcase(site, one.site)), None)


def sites_of(spec: EndpointSpec, known: Sequence[Site]) -> list[tuple[Site, EndpointSite]]:
    """Every site that the endpoint has replicas at, by name, with what it asks of it."""
    found = ((site, entry_of(spec, site.name)) for site in sorted(known, key=lambda one: one.name))
    return [(site, asked) for site, asked in found if asked is not None]


def versions_at(endpoint: Endpoint, asked: EndpointSite) -> tuple[WeightedVersion, ...]:
    """Versions with their shares now, at the sites of an entry: what was pushed there, or the endpoint's own."""
    if asked.model is not None:
        return (WeightedVersion(asked.model),)
    spec = endpoint.spec
    return tuple(replace(one, weight=weight) for one, weight in zip(spec.versions, endpoint.weights, strict=True))


def wanted_at_first(before: Mapping[str, int], places: Sequence[tuple[Site, EndpointSite]]) -> dict[str, int]:
    """Replicas by site after a change: as many as before within the limits, at least one to show that it works."""
    return {site.name: min(max(before.get(site.name, 0), one.min, 1), one.max) for site, one in places}


def rollout_of(spec: EndpointSpec, now: datetime) -> Rollout | None:
    """The rollout that the spec begins: of its last version, where there are two and a rule for it."""
    shared = [one for one in spec.versions if one.weight]
    if spec.rollout is None or len(spec.versions) != 2 or len(shared) != 2:
        return None
    return Rollout(canary=spec.versions[-1].model, since=now)


def scaled(spec: EndpointSpec, site: str | None, least: int | None, most: int | None) -> EndpointSpec:
    """Other limits at one site, or at all. Invalid if the endpoint has no such entry, or the limits cross."""
    if site is not None and all(one.site != site for one in spec.sites):
        known = ", ".join(one.site for one in spec.sites)
        raise Invalid(f"Endpoint {spec.name!r} has no site {site!r}.", hint=f"Its sites: {known}.", fields=["site"])
    return replace(
        spec, sites=tuple(_limited(one, least, most) if site in (None, one.site) else one for one in spec.sites)
    )


def _limited(one: EndpointSite, least: int | None, most: int | None) -> EndpointSite:
    low = one.min if least is None else least
    high = max(one.max, low, 1) if most is None else most
    if high < low or high < 1:
        raise Invalid(f"The maximum ({high}) is below the minimum ({low}).", hint="Raise --max or lower --min.",
                      fields=["max"])  # fmt: skip
    return replace(one, min=low, max=high)


def with_canary(endpoint: Endpoint, model: str, weight: int) -> EndpointSpec:
    """The version beside the one that serves now. Conflict while another canary is under way."""
    spec = endpoint.spec
    serving = [one for one in spec.versions if one.weight]
    if len(serving) > 1 and model not in [one.model for one in serving]:
        canary = serving[-1].model
        raise Conflict(
            f"Endpoint {endpoint.name!r} already splits its traffic: {canary} has {serving[-1].weight}.",
            hint=f"First: mill endpoint promote {endpoint.name}, or mill endpoint rollback {endpoint.name}",
        )
    stable = next((one for one in serving if one.model != model), None)
    if stable is None:
        raise Conflict(f"Endpoint {endpoint.name!r} already serves {model} alone.", hint="Choose another version.")
    return replace(spec, versions=(replace(stable, weight=ALL_TRAFFIC - weight), WeightedVersion(model, weight)))


def promoted(endpoint: Endpoint) -> EndpointSpec:
    """All traffic for the canary. Conflict if there is none."""
    if len(endpoint.spec.versions) < 2:
        raise Conflict(
            f"Endpoint {endpoint.name!r} has no canary: {endpoint.spec.versions[0].model} gets all requests.",
            hint=f"Start one: mill endpoint canary {endpoint.name} --model NAME@VERSION",
        )
    return replace(endpoint.spec, versions=(WeightedVersion(endpoint.spec.versions[-1].model),))


def without_canary(endpoint: Endpoint) -> EndpointSpec:
    """All traffic for the version beside the canary."""
    return replace(endpoint.spec, versions=(WeightedVersion(endpoint.spec.versions[0].model),))


def number_to_restore(endpoint: Endpoint, newest: EndpointRevision, to: int | None) -> int:
    """The revision that a rollback brings back: the one before, of a rollback the one before what that brought back."""
    number = (newest.restores or newest.number) - 1 if to is None else to
    if not 1 <= number <= newest.number:
        said = "has no revision before this one" if to is None else f"has no revision {to}"
        raise Conflict(f"Cannot roll back endpoint {endpoint.name!r}: it {said}.",
                       hint=f"List them: mill endpoint revisions {endpoint.name}")  # fmt: skip
    return number
