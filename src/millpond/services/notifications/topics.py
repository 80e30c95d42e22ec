"""What wakes the loops of notifications, and where pages hear of their user's."""

from __future__ import annotations

from millpond.services.deps import Deps

NOTICES = "notices"
DELIVERIES = "deliveries"
# Followed by the id of the user, who alone may follow it.
OF_USER = "notifications:"


def tell_pages(deps: Deps, user_id: str) -> None:
    """Call after the transaction. Only that something changed: pages ask for the rest."""
    deps.events.publish(f"{OF_USER}{user_id}", project_id=None, data={"what": "notifications"})


def may_follow(topic: str, user_id: str | None) -> bool:
    """True for all topics but those of other users."""
    return not topic.startswith(OF_USER) or topic == f"{OF_USER}{user_id}"
