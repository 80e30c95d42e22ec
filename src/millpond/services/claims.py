"""Work that one server at a time does: it holds a claim that others take over when it is no longer renewed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import actors, users
from millpond.model.people import Actor
from millpond.services.deps import Deps

logger = getLogger(__name__)

# Nobody else takes it for so long after its server was last heard of; it says so every `_RENEW_SECONDS`.
HELD = timedelta(seconds=120)
_RENEW_SECONDS = 30.0


@contextmanager
def held(
    deps: Deps, name: str, renew: Callable[[Connection, datetime], bool]
) -> Iterator[threading.Event]:  # fmt: skip
    """Keeps others from it for as long as the block lasts; the event is set if somebody takes it all the same.

    `renew` moves the end of the claim to the moment it is given; False if it is somebody else's by now.
    """
    lost, over = threading.Event(), threading.Event()

    def keep() -> None:
        while not over.wait(_RENEW_SECONDS):
            try:
                with deps.db.write() as tx:
                    if not renew(tx, deps.clock.now() + HELD):
                        lost.set()
                        return
            except Exception:  # the edge of a thread: the next time may succeed, before the claim is over
                logger.exception("claim_not_renewed name=%s", name)

    thread = threading.Thread(target=keep, name=name, daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        over.set()
        thread.join()


def actor_of(deps: Deps, user_id: str | None) -> Actor | None:
    """A user with the roles they have now; None for one who is gone or cannot sign in."""
    with deps.db.read() as tx:
        user = users.get(tx, user_id) if user_id is not None else None
        return actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
