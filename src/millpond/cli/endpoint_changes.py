"""`mill endpoint`: commands that change an endpoint. Each change is a revision, and a rollback brings one back.

With --wait, the exit code is 0 for ready, 100 for a version that failed to start again and again, 101 for not ready in
time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.endpoint_arguments import EndpointName, Timeout, Wait, Waiting, read_asked, show_changed, waiting
from millpond.cli.session import Session
from millpond.client import endpoints as calls
from millpond.errors import BadRequest
from millpond.wire.endpoints import Endpoint

app = typer.Typer()

Unchecked = Annotated[
    bool, typer.Option("--unchecked", help="Serve versions that have not passed `mill model check`, too.")
]


@command(app, "update")
def update(
    mill: Session,
    endpoint: EndpointName,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="New endpoint.yaml.")] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL@VERSION", help="Version that gets all requests.")] = None,
    template: Annotated[str | None, typer.Option(help="Template that replicas run on, at all sites.")] = None,
    environment: Annotated[str | None, typer.Option(help="Packages of the model server: auto or none.")] = None,
    public: Annotated[
        bool | None, typer.Option("--public/--private", help="Answer everybody, or only who may use it.")
    ] = None,
    unchecked: Unchecked = False,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Change an endpoint. New replicas are ready before old ones are drained.

    Example: mill endpoint update xray --model chest-xray@4
    """
    asked_wait = waiting(wait, timeout)
    changes = (model, template, environment, public)
    if (file is None) == all(one is None for one in changes):
        raise BadRequest("Give either --file or what to change.", hint="For example: --model chest-xray@4")
    if file is not None:
        after = calls.update_endpoint(mill.api, mill.project, endpoint, read_asked(file, endpoint), unchecked=unchecked)
    else:
        before = calls.get_endpoint(mill.api, mill.project, endpoint)
        asked = _changed(before.spec, *changes)
        after = calls.update_endpoint(
            mill.api, mill.project, endpoint, asked, expected=before.revision, unchecked=unchecked
        )
    _told(mill, after, "updated", asked_wait)


@command(app, "scale")
def scale(
    mill: Session,
    endpoint: EndpointName,
    min: Annotated[int | None, typer.Option(min=0, help="Least replicas; 0 lets it scale to zero.")] = None,
    max: Annotated[int | None, typer.Option(min=1, help="Most replicas.")] = None,
    site: Annotated[str | None, typer.Option(help="Only this entry of its sites (default: all).")] = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Set how many replicas an endpoint has at least and at most.

    Example: mill endpoint scale xray --min 2 --max 6
    """
    asked = waiting(wait, timeout)
    after = calls.scale_endpoint(mill.api, mill.project, endpoint, least=min, most=max, site=site)
    _told(mill, after, "scaled", asked)


@command(app, "canary")
def canary(
    mill: Session,
    endpoint: EndpointName,
    model: Annotated[str, typer.Option(metavar="MODEL@VERSION", help="Version that gets a share of requests.")],
    weight: Annotated[int, typer.Option(min=1, max=99, help="Its share in hundredths (default: 5).")] = 5,
    unchecked: Unchecked = False,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Give a share of the requests to another version. With `rollout` in endpoint.yaml the share then grows by itself.

    Example: mill endpoint canary xray --model chest-xray@5 --weight 5
    """
    asked = waiting(wait, timeout)
    after = calls.start_canary(mill.api, mill.project, endpoint, model, weight, unchecked=unchecked)
    _told(mill, after, f"sends {weight}% to {model}", asked)


@command(app, "promote")
def promote(mill: Session, endpoint: EndpointName, wait: Wait = False, timeout: Timeout = None) -> None:
    """Give all requests to the canary.

    Example: mill endpoint promote xray
    """
    asked = waiting(wait, timeout)
    _told(mill, calls.promote_endpoint(mill.api, mill.project, endpoint), "promoted", asked)


@command(app, "rollback")
def rollback(
    mill: Session,
    endpoint: EndpointName,
    to: Annotated[int | None, typer.Option(min=1, help="Revision (default: the one before).")] = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Bring back the revision before this one, or another.

    Example: mill endpoint rollback xray
    """
    asked = waiting(wait, timeout)
    _told(mill, calls.roll_back_endpoint(mill.api, mill.project, endpoint, to), "rolled back", asked)


@command(app, "delete")
def delete(
    mill: Session,
    endpoint: EndpointName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Delete an endpoint and stop its replicas. The jobs of its replicas stay in the list of jobs.

    Example: mill endpoint delete xray
    """
    mill.confirm(f"Delete the endpoint {endpoint}?", yes=yes)
    calls.delete_endpoint(mill.api, mill.project, endpoint)
    mill.out.note(f"Endpoint {endpoint} is being deleted: its replicas finish what they are doing.")


def _changed(
    spec: dict[str, Any], model: str | None, template: str | None, environment: str | None, public: bool | None
) -> dict[str, Any]:
    found = dict(spec)
    if model is not None:
        found["versions"] = [{"model": model, "weight": 100}]
    if template is not None:
        found["sites"] = {site: {**entry, "template": template} for site, entry in spec["sites"].items()}
    if environment is not None:
        found["environment"] = environment
    if public is not None:
        found["access"] = {**spec["access"], "public": public}
    return found


def _told(mill: Session, after: Endpoint, done: str, asked: Waiting) -> None:
    mill.out.note(f"Endpoint {after.name} {done}: revision {after.revision}.")
    show_changed(mill, after, asked)
