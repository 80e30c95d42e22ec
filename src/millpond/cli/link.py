"""`mill link`: the ways between sites, and from the lake: how fast, how far, at which price."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.limit_arguments import Between, Limits, NoLimit, Zones, check_together, limit_of
from millpond.cli.session import Session
from millpond.client.topology import limit_link, list_links, put_link, remove_link, unlimit_link
from millpond.errors import BadRequest
from millpond.model.quantity import format_bandwidth, format_rate, parse_bandwidth, parse_milliseconds
from millpond.wire.topology import Link, LinkPut

app = typer.Typer()

End = Annotated[str, typer.Argument(metavar="SITE", help="Site, or `lake`.")]


@command(app, "set")
def put(
    mill: Session,
    a: End,
    b: End,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Bandwidth, like 10Gbit/s or 400Mbit/s.")
    ] = None,
    latency: Annotated[str | None, typer.Option(metavar="TIME", help="Latency, like 0.5ms.")] = None,
    price: Annotated[float | None, typer.Option("--price-per-gb", min=0, help="Price per gigabyte, like 0.09.")] = None,
    limits: Limits = None,
    between: Between = None,
    no_limit: NoLimit = False,
    zones: Zones = None,
) -> None:
    """Set bandwidth, latency, price and limit of the link between two sites, or a site and the lake.

    Of bandwidth, latency and price, values that you leave out are cleared, unless you set only a limit. A limit holds
    for what fills bring over the link in both directions together, and stays until you change it. A volume serves
    computes at its own site, and at sites linked to it by at least 10 Gbit/s (`mill up --near`) where it is mounted at
    the same path.

    Example: mill link set lab lake --limit 100Mbit/s --between 08:00-18:00 Europe/Berlin
    """
    limit = limit_of(limits, between, zones)
    check_together(limit, no_limit)
    says_values = not (bandwidth is None and latency is None and price is None)
    if not says_values and limit is None and not no_limit:
        raise BadRequest(
            "No value given for the link.", hint=f"For example: mill link set {a} {b} --bandwidth 10Gbit/s"
        )
    if no_limit:
        unlimit_link(mill.api, a, b)
    link = limit_link(mill.api, a, b, limit) if limit else None
    if says_values:
        said = LinkPut(
            bits_per_second=parse_bandwidth(bandwidth) if bandwidth else None,
            latency_ms=parse_milliseconds(latency) if latency else None,
            price_per_gb=price,
        )
        link = put_link(mill.api, a, b, said)
    if link is None:
        mill.out.note(f"Link {a} – {b} has no limit.")
        return
    mill.out.note(f"Link {link.a} – {link.b}: {link_text(link)}.")
    mill.out.shape(
        link,
        [
            ("between", f"{link.a}, {link.b}"),
            ("bandwidth", _declared(link)),
            ("latency", None if link.latency_ms is None else f"{link.latency_ms:g} ms"),
            ("price per GB", link.price_per_gb),
            ("limit", link.limit.text if link.limit else None),
            ("measured", _measured(link)),
            ("near", link.near),
            ("why", link.reason),
        ],
    )


@command(app, "list")
def list_all(mill: Session) -> None:
    """List links with their set and measured bandwidth.

    Example: mill link list
    """
    mill.out.items(
        list_links(mill.api),
        [
            ("FROM", lambda link: link.a),
            ("TO", lambda link: link.b),
            ("BANDWIDTH", _declared),
            ("LATENCY MS", lambda link: link.latency_ms),
            ("PRICE PER GB", lambda link: link.price_per_gb),
            ("LIMIT", lambda link: link.limit.text if link.limit else None),
            ("MEASURED", _measured),
            ("NEAR", lambda link: link.near),
            ("WHY", lambda link: link.reason),
        ],
        empty="No links yet. Set one: mill link set SITE SITE --bandwidth 10Gbit/s",
    )


@command(app, "rm")
def remove(mill: Session, a: End, b: End) -> None:
    """Clear the values set for a link.

    Example: mill link rm lab cloud
    """
    remove_link(mill.api, a, b)
    mill.out.note(f"Link {a} – {b} removed.")


def link_text(link: Link) -> str:
    """`10 Gbit/s, 0.5 ms, 0.09 per GB, 940.0 MB/s measured, near`."""
    said = [_declared(link)]
    said += [f"{link.latency_ms:g} ms"] if link.latency_ms is not None else []
    said += [f"{link.price_per_gb:g} per GB"] if link.price_per_gb is not None else []
    measured = _measured(link)
    said += [f"{measured} measured"] if measured else []
    said += [f"limit {link.limit.text}"] if link.limit else []
    said += ["near"] if link.near else []
    return ", ".join(part for part in said if part)


def _declared(link: Link) -> str | None:
    return None if link.bits_per_second is None else format_bandwidth(link.bits_per_second)


def _measured(link: Link) -> str | None:
    return None if link.measured_bytes_per_second is None else format_rate(link.measured_bytes_per_second)
