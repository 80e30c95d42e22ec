"""Channels of a project: where its notifications go, whoever caused them."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import Admin, DepsOf, Viewer
from millpond.api.shapes import notifications as shapes
from millpond.services.notifications import channels
from millpond.wire import notifications as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}/channels", tags=["notifications"])


@router.get("")
def list_project_channels(scope: Viewer, deps: DepsOf) -> Page[wire.Channel]:
    found = channels.list_all(deps, channels.owner_of(scope.actor, scope.project))
    return Page(items=[shapes.channel(one, scope.project.name) for one in found])


@router.post("", status_code=201)
def add_project_channel(body: wire.ChannelCreate, scope: Admin, deps: DepsOf) -> wire.ChannelCreated:
    """The secret of a webhook is in this answer, and is not shown again."""
    made = channels.add(
        deps, scope.actor, scope.project, name=body.name, email=body.email, url=body.webhook, kinds=body.kinds
    )
    return shapes.created(made, scope.project.name)


@router.patch("/{channel}")
def change_project_channel(channel: str, body: wire.ChannelChange, scope: Admin, deps: DepsOf) -> wire.Channel:
    changed = channels.change(deps, scope.actor, scope.project, channel, body.kinds)
    return shapes.channel(changed, scope.project.name)


@router.delete("/{channel}", status_code=204)
def remove_project_channel(channel: str, scope: Admin, deps: DepsOf) -> None:
    """What waits for it is not sent."""
    channels.remove(deps, scope.actor, scope.project, channel)


@router.post("/{channel}/test")
def test_project_channel(channel: str, scope: Admin, deps: DepsOf) -> wire.TestResult:
    """Send a test message now."""
    return shapes.tested(channels.test(deps, scope.actor, scope.project, channel))


@router.get("/{channel}/deliveries")
def list_project_deliveries(channel: str, scope: Viewer, deps: DepsOf) -> Page[wire.Delivery]:
    """The last 50, newest first."""
    found = channels.deliveries(deps, scope.actor, scope.project, channel)
    return Page(items=[shapes.delivery(one) for one in found])
