"""One stream of server-sent events a browser (docs/design/004): what changed, in the projects one may see."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import StreamingResponse

from millpond.api.access import HubOf, SignedIn
from millpond.services.notifications.topics import may_follow
from millpond.services.people import access

router = APIRouter(tags=["events"])

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("/events", response_class=StreamingResponse)
async def stream_events(
    actor: SignedIn,
    hub: HubOf,
    topics: Annotated[str, Query(max_length=4000, description="Comma-separated topics.")],
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> StreamingResponse:
    """Events of the topics, from now on or behind `Last-Event-ID`; `reset` when those are no longer held."""
    asked = [topic.strip() for topic in topics.split(",") if topic.strip()]
    wanted = [topic for topic in asked if may_follow(topic, actor.user_id)]
    events = hub.stream(
        wanted, sees=lambda project_id: access.sees(actor, project_id), user_id=actor.user_id, last_id=last_event_id
    )
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)
