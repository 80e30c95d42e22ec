"""For whom the jobs of an endpoint run."""

from __future__ import annotations

from millpond.db import actors, users
from millpond.errors import Forbidden
from millpond.model.endpoint import Endpoint
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.people import access


def actor_of(deps: Deps, endpoint: Endpoint, project: Project) -> Actor:
    """Whoever made the newest revision, with the role they have now."""
    with deps.db.read() as tx:
        user = users.get(tx, endpoint.user_id)
        actor = actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
    if actor is None:
        raise Forbidden(
            "The user that this endpoint runs as no longer exists or cannot sign in.",
            hint=f"Somebody else can take it over: mill endpoint scale {endpoint.name} --min 1",
        )
    access.require(actor, project, Role.MEMBER)
    return actor
