"""`mill cache why` and `mill cache plan`: the reasons behind what is cached, and what goes next."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.cache_arguments import On, Written
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Bytes, CommitId, Seconds
from millpond.client.caches import list_offers, list_refusals, plan_evictions, why_cached
from millpond.model.names import DatasetRef
from millpond.model.quantity import format_bytes, format_count
from millpond.wire.cache_plans import CacheOffer, VolumePlan


def add_reason_commands(app: typer.Typer) -> None:
    command(app, "why")(why)
    command(app, "plan")(plan)
    command(app, "refusals")(refusals)


def why(mill: Session, dataset: Written) -> None:
    """Explain where a commit is cached, who uses it and when it expires; or why it was evicted or refused.

    Example: mill cache why x-ray@v1
    """
    found = why_cached(mill.api, dataset, DatasetRef.parse(dataset).project or mill.project)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    mill.out.line(f"{found.dataset}@{found.commit_id[:12]}: {'; '.join(found.reasons)}")
    for place in found.volumes:
        mill.out.line(f"{place.volume}:")
        for reason in place.reasons:
            mill.out.line(f"  {reason}")


def plan(
    mill: Session,
    volume: Annotated[str | None, typer.Option("--volume", "--on", metavar="VOLUME", help="Only this volume.")] = None,
    stays: Annotated[bool, typer.Option("--stays", help="Include commits that stay, with the reason.")] = False,
) -> None:
    """Show what would be evicted next, when and why, if nothing were used until then. Evicts nothing.

    Example: mill cache plan --on nfs
    """
    plans = plan_evictions(mill.api, volume)
    if mill.out.as_json:
        mill.out.json({"items": [one.model_dump(mode="json") for one in plans]})
        return
    if mill.out.for_people:
        for one in plans:
            mill.out.note(_full(one))
            if one.stays and not stays:
                more = format_count(len(one.stays), "cached commit")
                mill.out.note(f"{one.volume} keeps {more}; why: mill cache plan --stays")
    steps = [(one.volume, step) for one in plans for step in [*one.goes, *(one.stays if stays else [])]]
    mill.out.items(
        steps,
        [
            ("GOES", lambda s: s[1].at or "stays"),
            ("VOLUME", lambda s: s[0]),
            ("DATASET", lambda s: s[1].dataset),
            ("COMMIT", lambda s: CommitId(s[1].commit_id)),
            ("FREES", lambda s: Bytes(s[1].bytes)),
            ("WHY", lambda s: s[1].reason),
        ],
        empty="No evictions planned.",
    )


def refusals(mill: Session, on: On = None) -> None:
    """List refused requests that have not succeeded since, with the reason, newest first.

    Example: mill cache refusals
    """
    mill.out.items(
        list_refusals(mill.api, volume=on),
        [
            ("WHEN", lambda r: r.at),
            ("VOLUME", lambda r: r.volume),
            ("DATASET", lambda r: r.dataset),
            ("COMMIT", lambda r: CommitId(r.commit_id)),
            ("ASKED BY", lambda r: r.by),
            ("WHY", lambda r: r.reason),
        ],
        empty="No refused requests.",
    )


def show_offers(mill: Session, dataset: str, *, project: str, volume: str | None, near: str | None) -> None:
    """What each volume would answer who asked for this commit, the best first."""
    offers = list_offers(mill.api, dataset, project=project, volume=volume, near=near)
    mill.out.items(
        offers,
        [
            ("VOLUME", lambda o: o.volume),
            ("ANSWER", _answer),
            ("TAKES", lambda o: Bytes(o.needed_bytes) if o.needed_bytes else None),
            ("FETCHES", lambda o: Bytes(o.fetch_bytes) if o.answer in ("fits", "evicts") else None),
            ("TIME", lambda o: Seconds(o.seconds) if o.seconds is not None else None),
            ("WHY", lambda o: "; ".join([*o.reasons, *(f"blocked by: {one}" for one in o.blockers)])),
        ],
        empty="No volumes yet. Add one: mill volume add NAME DIRECTORY",
    )


def _answer(offer: CacheOffer) -> str:
    words = {"there": "cached", "coming": "being cached", "fits": "fits", "refused": "refused"}
    if offer.answer != "evicts":
        return words[offer.answer]
    named = ", ".join(f"{one.dataset}@{one.commit_id[:8]}" for one in offer.evicted)
    others = offer.evicts - len(offer.evicted)
    return f"evicts {' and '.join(part for part in (named, f'{others} of other projects' if others else '') if part)}"


def _full(plan: VolumePlan) -> str:
    foreign = f", other files take {format_bytes(plan.foreign_bytes)}" if plan.foreign_bytes else ""
    return (
        f"{plan.volume}: {format_bytes(plan.used_bytes)} of {format_bytes(plan.usable_bytes)} "
        f"used{foreign}; above {format_bytes(plan.high_bytes)} it is evicted down to "
        f"{format_bytes(plan.low_bytes)}."
    )
