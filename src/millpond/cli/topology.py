"""`mill topology`: which storage is near which compute, and how fast the ways between them are."""

from __future__ import annotations

import typer

from millpond.cli.command import command
from millpond.cli.link import link_text
from millpond.cli.session import Session
from millpond.client.topology import get_topology
from millpond.model.quantity import format_bandwidth, format_bytes, format_count, format_rate
from millpond.wire.topology import Topology, TopologyCompute, TopologyVolume

app = typer.Typer()


@command(app, "topology")
def topology(mill: Session) -> None:
    """Show sites with their volumes, computes and links.

    Also shows which volume serves which compute, and why.

    Example: mill topology
    """
    found = get_topology(mill.api)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    near = format_bandwidth(found.near_bits_per_second)
    for line in _lines(found):
        mill.out.line(line)
    mill.out.note(f"Near: the same site, or a link of at least {near} with at most {found.near_latency_ms:g} ms.")


def _lines(found: Topology) -> list[str]:
    lines: list[str] = []
    for site in found.sites:
        lines.append(f"site {site.name}{f': limit {site.limit.text}' if site.limit else ''}")
        lines += [f"  volume {_volume(one)}" for one in found.volumes if one.volume.site == site.name]
        for compute in found.computes:
            if compute.site == site.name:
                lines += [f"  compute {_compute(compute)}", *(f"    {text}" for text in _served(compute))]
    lines += [f"link {link.a} – {link.b}: {link_text(link) or 'no values set'}" for link in found.links]
    return lines


def _volume(one: TopologyVolume) -> str:
    volume = one.volume
    state = volume.problem or ("connected" if volume.connected else "not connected")
    used = f"{format_bytes(volume.used_bytes)} of {format_bytes(volume.capacity_bytes)} used"
    measured = [f"{format_rate(way.bytes_per_second)} from {way.source}" for way in one.bandwidth]
    return ", ".join([f"{volume.name} ({volume.path}): {state}", used, *measured])


def _compute(compute: TopologyCompute) -> str:
    state = "connected" if compute.connected else "not connected"
    return (
        f"{compute.name}: {state}, {format_count(compute.cpus, 'CPU')}, "
        f"{format_count(compute.gpus, 'GPU')}, {format_count(compute.jobs, 'job')}"
    )


def _served(compute: TopologyCompute) -> list[str]:
    return [
        f"{'served by' if volume.serves else 'not served by'} {volume.volume}: {volume.reason}"
        for volume in compute.volumes
    ]
