"""What `find` answers with."""

from __future__ import annotations

from millpond.model.find import Match, Noun
from millpond.wire.base import Response, Time


class Found(Response):
    """One match: a noun, what it is called, and where it is."""

    noun: Noun
    id: str
    name: str  # as people write it: `train#3` for a job, the whole id for a commit
    match: Match
    project: str | None = None
    dataset: str | None = None
    # The state of a job or run, the message of a commit, the description of a dataset or project, the site of a
    # compute or volume, the full name of a user.
    detail: str | None = None
    at: Time | None = None


class FindResult(Response):
    items: list[Found]
