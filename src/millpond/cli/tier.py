"""`mill tier`: classes of service of volumes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.caches import list_tiers, put_tier, remove_tier
from millpond.errors import BadRequest
from millpond.model.quantity import format_rate, parse_bandwidth
from millpond.wire.cache import Tier, TierPut

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the tier, like premium.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List tiers with their throughput and price.

    Example: mill tier list
    """
    mill.out.items(
        list_tiers(mill.api),
        [
            ("TIER", lambda t: t.name),
            ("THROUGHPUT", lambda t: f"{t.throughput:g} ×"),
            ("PRICE", lambda t: f"{t.price:g} ×"),
            ("RATE", _rate),
            ("VOLUMES", lambda t: ", ".join(t.volumes)),
        ],
        empty="No tiers.",
    )


@command(app, "set")
def put(
    mill: Session,
    name: Name,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Throughput of each of its volumes, like 100MB/s; or `none`.")
    ] = None,
    throughput: Annotated[
        float | None, typer.Option(metavar="N", help="Relative speed; the standard tier has 1.", min=0.001)
    ] = None,
    price: Annotated[
        float | None, typer.Option(metavar="N", help="Relative price; the standard tier has 1.", min=0)
    ] = None,
) -> None:
    """Add or change a tier. Without a rate of its own it has that of the standard tier times its speed.

    Example: mill tier set standard --rate 100MB/s
    """
    given: dict[str, Any] = {"throughput": throughput, "price": price}
    given = {key: value for key, value in given.items() if value is not None}
    if rate is not None:
        given["bytes_per_second"] = None if rate == "none" else parse_bandwidth(rate) // 8
    if not given:
        raise BadRequest("Nothing to change.", hint="See: mill tier set --help")
    tier = put_tier(mill.api, name, TierPut(**given))
    mill.out.shape(
        tier,
        [
            ("tier", tier.name),
            ("throughput", f"{tier.throughput:g} ×"),
            ("price", f"{tier.price:g} ×"),
            ("rate", _rate(tier)),
            ("volumes", tier.volumes),
        ],
    )


@command(app, "rm")
def remove(mill: Session, name: Name) -> None:
    """Remove a tier. Refused while volumes have it; standard, premium and ultra are reset.

    Example: mill tier rm archive
    """
    remove_tier(mill.api, name)
    mill.out.note(f"Tier {name} removed.")


def _rate(tier: Tier) -> str:
    return "unlimited" if tier.rate is None else format_rate(tier.rate)
