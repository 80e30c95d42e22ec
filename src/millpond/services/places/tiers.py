"""Tiers of volumes: set by administrators, and given to volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import tiers, volumes
from millpond.decide.tiers import rate_of
from millpond.errors import InUse, MillError, NotFound
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.model.tier import BUILT_IN, STANDARD, Tier, TierEnforced
from millpond.model.volume import Volume
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.services.places.tier_setters import TierAsked, open_setter

TIERS_TOPIC = "tiers"
# Between two tries of a plug-in that has failed.
AGAIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TierView:
    """A tier, what its volumes have in bytes per second (None: no limit), and their names."""

    tier: Tier
    rate: int | None
    volumes: Sequence[str]


def list_all(deps: Deps) -> list[TierView]:
    with deps.db.read() as tx:
        return _views(tx)


def put(deps: Deps, actor: Actor, name: str, **changes: Any) -> TierView:
    """Make a tier or change it; what is left out stays. Its volumes follow, but for numbers of their own."""
    now = deps.clock.now()
    check_name(name, "tier")
    with deps.db.write() as tx:
        before = tiers.all_of(tx).get(name) or Tier(name)
        value = replace(before, **changes)
        tiers.put(tx, value)
        for volume in volumes.all_of(tx):
            if (volume.tier, volume.tier_throughput, volume.tier_price) == (name, before.throughput, before.price):
                volumes.change(tx, volume.id, tier_throughput=value.throughput, tier_price=value.price)
        audit.record(tx, now=now, actor=actor, action="tier.put", subject=name,
                     before=audit.values_of(before), after=audit.values_of(value))  # fmt: skip
        view = next(one for one in _views(tx) if one.tier.name == name)
    _tell(deps)
    return view


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """Remove a tier without volumes; one that was there from the beginning is as it was then."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = next((one for one in _views(tx) if one.tier.name == name), None)
        if found is None:
            raise _unknown(tx, name)
        if found.volumes and name not in {one.name for one in BUILT_IN}:
            raise InUse(
                f"Tier {name!r} is that of {', '.join(found.volumes[:10])}.",
                hint="Give them another: mill volume set VOLUME --tier standard",
            )
        tiers.delete(tx, name)
        audit.record(tx, now=now, actor=actor, action="tier.remove", subject=name, before=audit.values_of(found.tier))
    _tell(deps)


def numbers_of(tx: Connection, tier: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Throughput and price of a volume that gets this tier, unless they are given. NotFound for an unknown tier, unless
    its throughput is given."""
    known = tiers.all_of(tx).get(tier)
    if known is None and "tier_throughput" not in given:
        raise _unknown(tx, tier)
    known = known or Tier(tier)
    return {
        "tier_throughput": given.get("tier_throughput", known.throughput),
        "tier_price": given.get("tier_price", known.price),
    }


def check_setter(deps: Deps, written: str) -> None:
    """BadRequest or Invalid for a plug-in that is not there."""
    open_setter(written, deps.settings.tier_commands)


def set_all(deps: Deps, now: datetime) -> None:
    """Have plug-ins set the tiers of their volumes, where that was not done yet or has failed a while ago."""
    with deps.db.read() as tx:
        known = tiers.all_of(tx)
        asked = [(volume, before, _asked(volume, known)) for volume, before in volumes.set_by_plugins(tx)]
    for volume, before, wanted in asked:
        if _is_due(volume, before, _said(volume, wanted), now):
            _set(deps, volume, wanted, now)


def _set(deps: Deps, volume: Volume, wanted: TierAsked, now: datetime) -> None:
    try:
        has = open_setter(volume.tier_by or "", deps.settings.tier_commands).set_tier(wanted)
        found = TierEnforced("plugin", has)
    except MillError as error:
        found = TierEnforced("none", problem=f"Not set: {error.message}{f' {error.hint}' if error.hint else ''}")
    except Exception as error:  # noqa: BLE001 - of somebody else's package
        found = TierEnforced("none", problem=f"Not set: {type(error).__name__}: {error}")
    said = {"by": found.by, "bytes_per_second": found.bytes_per_second, "problem": found.problem}
    with deps.db.write() as tx:
        done = {"asked": _said(volume, wanted), "at": now.timestamp()}
        volumes.change(tx, volume.id, tier_enforced=said, tier_set=done)
    data = {"id": volume.id, "what": "volume", "volume": volume.name, "change": "tier"}
    deps.events.publish("caches", project_id=None, data=data)


def _asked(volume: Volume, known: Mapping[str, Tier]) -> TierAsked:
    return TierAsked(
        volume=volume.name,
        site=volume.site,
        path=volume.path,
        tier=volume.tier,
        throughput=volume.tier_throughput,
        bytes_per_second=rate_of(volume, known),
        capacity_bytes=volume.capacity_bytes,
    )


def _said(volume: Volume, asked: TierAsked) -> list[Any]:
    return [volume.tier_by, asked.tier, asked.throughput, asked.bytes_per_second, asked.capacity_bytes]


def _is_due(volume: Volume, before: Mapping[str, Any] | None, wanted: list[Any], now: datetime) -> bool:
    if before is None or before["asked"] != wanted:
        return True
    failed = volume.tier_enforced is None or volume.tier_enforced.problem is not None
    return failed and now.timestamp() >= before["at"] + AGAIN_SECONDS


def _views(tx: Connection) -> list[TierView]:
    known = tiers.all_of(tx)
    used = {name: [one.name for one in volumes.all_of(tx) if one.tier == name] for name in known}
    standard = known[STANDARD].bytes_per_second
    found = []
    for name, one in known.items():
        times = None if standard is None else round(standard * one.throughput)
        found.append(TierView(one, one.bytes_per_second or times, used[name]))
    return found


def _unknown(tx: Connection, name: str) -> NotFound:
    known = ", ".join(tiers.all_of(tx))
    return NotFound(
        f"Tier {name[:63]!r} does not exist.", hint=f"There are {known}. Add one: mill tier set NAME --throughput 2"
    )


def _tell(deps: Deps) -> None:
    deps.events.publish("caches", project_id=None, data={"what": "tiers"})
    deps.events.wake("agents")
    deps.events.wake(TIERS_TOPIC)
