"""Where an imported commit comes from: what the commit of another server says of itself, kept as its claim.

Author, time and parents of the commit that is made here are this server's word, as of every other one.
"""

from __future__ import annotations

from typing import Any

from millpond.errors import BadRequest, Forbidden
from millpond.lake.commits import decode_commit
from millpond.lake.documents import encode_time
from millpond.model.people import Actor, ActorKind

ORIGIN = "origin"


def lineage_of_origin(actor: Actor, document: str, tree: str) -> dict[str, Any]:
    """The lineage of an imported commit. BadFormat unless `document` is a commit; BadRequest if of another tree."""
    if actor.kind is ActorKind.PLACEMENT:
        raise Forbidden("A job cannot import commits of other servers.")
    commit = decode_commit(document.encode())
    if commit.tree != tree:
        raise BadRequest("The origin of an imported commit must have the same tree.", hint="Export it again.")
    return {
        ORIGIN: {
            "author": commit.author,
            "commit": commit.id,
            "dataset": commit.dataset_id,
            "lineage": dict(commit.lineage),
            "message": commit.message,
            "parents": list(commit.parents),
            "time": encode_time(commit.time),
        }
    }
