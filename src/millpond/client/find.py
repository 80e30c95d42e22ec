"""`millpond.find`: find anything by a part of its name or the beginning of its id."""

from __future__ import annotations

from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.wire.find import FindResult, Found


def find_everything(api: Api, text: str, at_most: int = 20) -> list[Found]:
    """The best matches first, over every noun."""
    return api.get("/find", FindResult, q=text, limit=at_most).items


def find(text: str, *, limit: int = 20, server: str | None = None) -> list[Found]:
    """Find projects, datasets, commits, jobs, runs, computes, volumes and more, best matches first.

    `text` is a part of a name, `project/name`, `job#7`, or the first four or more characters of an id.
    """
    target = resolve_target(server)
    with Api(target.server, target.token) as api:
        return find_everything(api, text, limit)
