"""Arguments of `mill endpoint`, and an endpoint as its commands show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.follow import NOT_FINISHED
from millpond.cli.session import Session
from millpond.client.endpoints import SETTLED, new_document, start_failed, wait_until_ready
from millpond.client.flows.flow_file import problem_line
from millpond.decide.endpoints.log_rules import describe_log
from millpond.decide.endpoints.reader import read_endpoint
from millpond.errors import BadRequest, Invalid
from millpond.model.quantity import parse_seconds
from millpond.wire.endpoints import Endpoint

EndpointName = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Name or id of the endpoint.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until all replicas are ready.")]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="With --wait: maximum time to wait, like 10m.")
]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether to wait for an endpoint, and for how many seconds; None: as long as it takes."""

    wait: bool
    timeout: float | None = None


def waiting(wait: bool, timeout: str | None) -> Waiting:
    """What --wait and --timeout say. To be read before anything is changed."""
    if timeout is not None and not wait:
        raise BadRequest("--timeout is for --wait.", hint="Add --wait.")
    return Waiting(wait, parse_seconds(timeout) if timeout is not None else None)


def read_asked(file: Path, name: str | None = None) -> str:
    """The text of an endpoint.yaml. Invalid names every problem with its line; `name` must be the file's, if given."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"Cannot read {file}: {error}.") from error
    spec, problems = read_endpoint(text)
    if spec is None or problems:
        listed = "\n".join(f"  {problem_line(file, one)}" for one in problems)
        raise Invalid(f"The endpoint has problems:\n{listed}", hint="See docs/endpoints.md")
    if name not in (None, spec.name):
        raise BadRequest(f"{file} names the endpoint {spec.name!r}, not {name!r}.", hint="Leave the name out.")
    return text


def asked_document(
    name: str | None, model: str | None, site: Sequence[str] | None, least: int | None, most: int | None,
    template: str | None, environment: str | None, port: int | None, *, public: bool,
) -> dict[str, Any]:  # fmt: skip
    if name is None or model is None:
        raise BadRequest("No model given." if name else "No name given.",
                         hint="mill endpoint create NAME --model MODEL@VERSION, or --file endpoint.yaml")  # fmt: skip
    low = 1 if least is None else least
    entry: dict[str, Any] = {"min": low, "max": max(low, 1) if most is None else most}
    if template is not None:
        entry["template"] = template
    more: dict[str, Any] = {"access": {"public": True}} if public else {}
    if environment is not None:
        more["environment"] = environment
    if port is not None:
        more["ports"] = {"http": port, "grpc": port + 1, "metrics": port + 2}
    return new_document(name, model, sites=dict.fromkeys(site, entry) if site else None, **more)


def show_changed(mill: Session, after: Endpoint, asked: Waiting) -> None:
    """An endpoint that was changed, once it is ready if that is asked for. Exit code 100 if a version failed to start
    again and again, 101 if time ran out."""
    if not asked.wait:
        show_endpoint(mill, after)
        return
    after = wait_until_ready(
        mill.api, after.project, after.name, timeout=asked.timeout, changed=lambda one: _say_state(mill, one)
    )
    show_endpoint(mill, after)
    if after.state in SETTLED:
        return
    if after.failure:
        raise start_failed(after)
    mill.out.note(f"Not ready in time. It goes on; see: mill why {after.name}")
    raise typer.Exit(NOT_FINISHED)


def _say_state(mill: Session, endpoint: Endpoint) -> None:
    """A line about the state of an endpoint, while a command waits."""
    mill.out.note(f"{endpoint.state.value}: {' '.join(endpoint.reasons)}")


def show_endpoint(mill: Session, found: Endpoint) -> None:
    shares = ", ".join(f"{one.model}@{one.version} {one.weight}%" for one in found.versions)
    mill.out.shape(
        found,
        [
            ("endpoint", f"{found.project}/{found.name}"),
            ("id", found.id),
            ("state", found.state.value),
            *(("reason", reason) for reason in found.reasons),
            ("versions", shares),
            *((f"site {one.site}", _site(one)) for one in found.sites),
            ("rollout", f"{found.rollout.canary}: {found.rollout.reason}" if found.rollout else None),
            ("through the server", f"{mill.api.base_url}{found.url}"),
            ("public", "yes" if found.public else "no"),
            ("request log", describe_log(found.spec.get("log") or {})),
            ("revision", found.revision),
            ("changed", found.changed_at),
            ("by", found.created_by),
        ],
    )


def _site(one: Any) -> str:
    why = f" {one.reason}" if one.reason else ""
    pushed = f" Pushed: {' '.join(one.desired)}." if one.is_pushed else ""
    return f"{one.http}, gRPC {one.grpc}: {one.ready} of {one.wanted} ready ({one.min} to {one.max}).{pushed}{why}"
