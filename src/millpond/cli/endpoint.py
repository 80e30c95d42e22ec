"""`mill endpoint`: models behind an address, served by replicas at sites. Changes are in `endpoint_changes`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli import endpoint_changes, endpoint_drift, endpoint_monitoring, endpoint_token
from millpond.cli.command import command
from millpond.cli.endpoint_arguments import (
    EndpointName,
    Timeout,
    Wait,
    asked_document,
    read_asked,
    show_changed,
    show_endpoint,
    waiting,
)
from millpond.cli.output import Column
from millpond.cli.report import json_text
from millpond.cli.session import Session
from millpond.client import endpoints as calls
from millpond.client.logs import read_all
from millpond.errors import BadRequest, NotFound
from millpond.model.endpoint import EndpointState
from millpond.model.quantity import parse_seconds
from millpond.wire.endpoints import Endpoint, EndpointPoint, EndpointReplica, EndpointRevision

app = typer.Typer()
app.registered_commands += endpoint_changes.app.registered_commands
app.registered_commands += endpoint_drift.app.registered_commands
app.registered_commands += endpoint_monitoring.app.registered_commands
app.add_typer(endpoint_token.app, name="token")

_TROUBLED = (EndpointState.FAILING, EndpointState.DEGRADED)
_EMPTY = "No endpoints yet. Create one: mill endpoint create NAME --model MODEL@VERSION"


@command(app, "create")
def create(
    mill: Session,
    name: Annotated[str | None, typer.Argument(help="Name of the endpoint (default: as the file says).")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="What to serve and how: endpoint.yaml.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL@VERSION", help="Version to serve: a number, an alias or latest.")
    ] = None,
    site: Annotated[
        list[str] | None, typer.Option(help="Site, or pattern of sites; may be repeated (default: the only one).")
    ] = None,
    min: Annotated[int | None, typer.Option(min=0, help="Least replicas at each site (default: 1).")] = None,
    max: Annotated[int | None, typer.Option(min=1, help="Most replicas at each site (default: as --min).")] = None,
    template: Annotated[str | None, typer.Option(help="Template that replicas run on.")] = None,
    environment: Annotated[
        str | None, typer.Option(help="Packages of the model server: auto, or none for those of the machine.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65533, help="HTTP port at the site; gRPC and metrics use the next two.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Answer everybody who reaches the site.")] = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Serve versions that have not passed `mill model check`, too.")
    ] = False,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Create an endpoint: replicas of a model's version, and one address for them at each site.

    Example: mill endpoint create xray --model chest-xray@3 --site berlin --min 1 --max 4
    """
    asked_wait = waiting(wait, timeout)
    if file is not None:
        given = (model, site, min, max, template, environment, port, public or None)
        if any(one is not None for one in given):
            raise BadRequest("Give either --file or options.", hint="Write the options into the file.")
        asked: str | dict[str, Any] = read_asked(file, name)
    else:
        only = None if site else calls.only_site(mill.api)
        places = site or ([only] if only else None)
        asked = asked_document(name, model, places, min, max, template, environment, port, public=public)
    made = calls.create_endpoint(mill.api, mill.project, asked, unchecked=unchecked)
    mill.out.note(f"Endpoint {made.name} created. See: mill endpoint show {made.name}")
    show_changed(mill, made, asked_wait)


@command(app, "list")
def list_all(
    mill: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most endpoints to show.", min=1)] = 100,
) -> None:
    """List endpoints of the project.

    Example: mill endpoint list
    """
    columns: list[Column[Endpoint]] = [
        ("ENDPOINT", lambda e: e.name),
        ("STATE", lambda e: e.state.value),
        ("VERSIONS", lambda e: " ".join(_share(one) for one in e.versions)),
        ("READY", lambda e: f"{sum(s.ready for s in e.sites)}/{sum(s.wanted for s in e.sites)}"),
        ("SITES", lambda e: " ".join(s.site for s in e.sites)),
        ("REVISION", lambda e: e.revision),
        ("CHANGED", lambda e: e.changed_at),
        ("BY", lambda e: e.created_by),
        ("REASON", _trouble),
    ]
    found = calls.list_endpoints(mill.api, project=mill.project, at_most=limit)
    mill.out.items(found, columns, empty=_EMPTY, drop=["BY", "REVISION", "CHANGED"])


@command(app, "show")
def show(
    mill: Session,
    endpoint: EndpointName,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print its endpoint.yaml.")] = False,
) -> None:
    """Show an endpoint: addresses, versions, replicas, and how long each part of their start took.

    Example: mill endpoint show xray
    """
    if yaml:
        mill.out.verbatim(calls.endpoint_yaml(mill.api, mill.project, endpoint).rstrip("\n"))
        return
    found = calls.get_endpoint(mill.api, mill.project, endpoint)
    show_endpoint(mill, found)
    if not mill.out.as_json and found.replicas:
        mill.out.line("")
        _show_replicas(mill, found)


@command(app, "revisions")
def revisions(mill: Session, endpoint: EndpointName) -> None:
    """List the revisions of an endpoint, newest first.

    Example: mill endpoint revisions xray
    """
    columns: list[Column[EndpointRevision]] = [
        ("REVISION", lambda r: r.number),
        ("ACTION", lambda r: r.action if r.restores is None else f"{r.action} to {r.restores}"),
        ("VERSIONS", lambda r: " ".join(f"{one['model']}:{one['weight']}" for one in r.spec["versions"])),
        ("CREATED", lambda r: r.created_at),
        ("BY", lambda r: r.created_by),
        ("REASON", lambda r: r.reason),
    ]
    found = calls.list_revisions(mill.api, mill.project, endpoint)
    mill.out.items(found, columns, empty="No revisions.", drop=["REASON"])


@command(app, "metrics")
def metrics(
    mill: Session,
    endpoint: EndpointName,
    since: Annotated[str, typer.Option(metavar="TIME", help="How far to look back, like 30m or 2d.")] = "1h",
    step: Annotated[str | None, typer.Option(metavar="TIME", help="Length of each line, like 1m.")] = None,
) -> None:
    """Show requests, errors, latency, batches and replicas of an endpoint over time, by version.

    BATCH is how many rows replicas computed at once, QUEUE how long requests waited for that there, on average.

    Example: mill endpoint metrics xray --since 2h --step 5m
    """
    columns: list[Column[EndpointPoint]] = [
        ("TIME", lambda p: p.at),
        ("VERSION", lambda p: p.version),
        ("REQUESTS", lambda p: p.requests),
        ("PER SECOND", lambda p: f"{p.requests_per_second:.1f}"),
        ("ERRORS", lambda p: p.errors),
        ("P50", lambda p: _milliseconds(p.p50_ms)),
        ("P95", lambda p: _milliseconds(p.p95_ms)),
        ("P99", lambda p: _milliseconds(p.p99_ms)),
        ("BATCH", lambda p: "" if p.batch_size is None else f"{p.batch_size:.1f}"),
        ("QUEUE", lambda p: _milliseconds(p.queue_ms)),
        ("HELD", lambda p: p.held),
        ("REPLICAS", lambda p: p.replicas),
    ]
    seconds = None if step is None else parse_seconds(step, least=15, most=86400)
    found = calls.endpoint_metrics(
        mill.api,
        mill.project,
        endpoint,
        since_seconds=parse_seconds(since, least=60, most=14 * 86400),
        step_seconds=seconds,
    )
    mill.out.items(
        found.points, columns, empty="No requests in this time.", drop=["HELD", "PER SECOND", "BATCH", "QUEUE"]
    )


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} ms"


@command(app, "logs")
def logs(
    mill: Session,
    endpoint: EndpointName,
    replica: Annotated[
        str | None, typer.Option(metavar="JOB", help="Only the replica with this job (default: all).")
    ] = None,
) -> None:
    """Print the logs of an endpoint's replicas. Where they are several, each line begins with the replica's job.
    With --json, each line is a document with its replica, version, site and text.

    Example: mill endpoint logs xray
    """
    found = calls.get_endpoint(mill.api, mill.project, endpoint)
    wanted = [one for one in found.replicas if replica in (None, one.job, one.job_name, one.id)]
    if replica is not None and not wanted:
        known = ", ".join(one.job_name for one in found.replicas)
        raise NotFound(f"Endpoint {found.name} has no replica {replica!r}.", hint=f"Its replicas: {known or 'none'}.")
    if not wanted:
        mill.out.note(f"No replicas of {found.name} now.")
    for one in wanted:
        prefix = f"{one.job_name} | ".encode() if len(wanted) > 1 else b""
        for line in _log_lines(mill, found.project, one):
            if mill.out.as_json:
                mill.out.verbatim(json_text(_line_document(one, line)))
            else:  # raw bytes: a model may write anything
                mill.out.raw.write(prefix + line + b"\n")


def _log_lines(mill: Session, project: str, replica: EndpointReplica) -> Iterator[bytes]:
    rest = b""
    for piece in read_all(mill.api, project, replica.job, 0, None, None):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _line_document(replica: EndpointReplica, line: bytes) -> dict[str, str]:
    text = line.decode("utf-8", "replace")
    version = f"{replica.model}@{replica.version}"
    return {
        "replica": replica.job_name, "job": replica.job, "version": version, "site": replica.site, "text": text
    }  # fmt: skip


def _show_replicas(mill: Session, found: Endpoint) -> None:
    columns: list[Column[EndpointReplica]] = [
        ("REPLICA", lambda r: r.job_name),
        ("STATE", lambda r: r.state.value),
        ("VERSION", lambda r: f"{r.model}@{r.version}"),
        ("SITE", lambda r: r.site),
        ("COMPUTE", lambda r: r.compute),
        ("STARTED IN", lambda r: " ".join(f"{part} {seconds:.1f}s" for part, seconds in r.started.items())),
        ("REASON", lambda r: "" if r.state.value == "ready" else r.reason),
    ]
    mill.out.table(found.replicas, columns, ["COMPUTE", "STARTED IN"])


def _trouble(endpoint: Endpoint) -> str:
    """Why it does not serve as it should; nothing where it does."""
    return " ".join(endpoint.reasons) if endpoint.state in _TROUBLED else ""


def _share(version: Any) -> str:
    return f"{version.model}@{version.version}:{version.weight}"
