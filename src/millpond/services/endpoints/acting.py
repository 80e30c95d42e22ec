"""For whom the jobs of an endpoint run."""

from __future__ import annotations

from millpond.model.endpoint import Endpoint
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.jobs import service_life


def actor_of(deps: Deps, endpoint: Endpoint, project: Project) -> Actor:
    """Whoever made the newest revision, with the role they have now."""
    hint = f"Somebody else can take it over: mill endpoint scale {endpoint.name} --min 1"
    return service_life.actor_of(deps, endpoint.user_id, project, noun="endpoint", hint=hint)
