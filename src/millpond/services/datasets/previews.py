"""Documents that may carry scripts (HTML, SVG), shown by the second origin: a ticket, a grant for one file, its bytes.

The page asks for a ticket; the second origin takes it once and answers with a grant: the address of this one file for
a quarter of an hour, so that the browser may load it again. A script in the document can learn its own address and
tell it to others; it leads to nothing but the document itself, which the script's author knew.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

from millpond.db import actors, users
from millpond.errors import BadRequest, Forbidden
from millpond.model.dataset import Commit, Dataset
from millpond.model.people import Actor
from millpond.services.datasets import datasets, files, reading
from millpond.services.datasets.file_types import document_type
from millpond.services.deps import Deps
from millpond.services.people import access, tickets

GRANT_SECONDS = 900

_TICKET = "preview ticket"
_GRANT = "preview grant"


@dataclass(frozen=True, slots=True)
class ShownPreview:
    """One document for one person: `host` is the second origin's, `page` the origin that may frame it."""

    user: str
    project: str
    dataset: str
    commit: str
    path: str
    host: str
    page: str | None


def issue(deps: Deps, actor: Actor, dataset: Dataset, commit: Commit, path: str, *, host: str, page: str | None) -> str:
    """A ticket for a document of a commit that the actor is known to see. NotFound, or BadRequest for other files."""
    file = files.open_file(deps, dataset, commit, path)
    if document_type(file.name) is None:
        raise BadRequest(f"{path!r} is not HTML or SVG.", hint="Open it on the page, or download it.")
    if actor.user_id is None:
        raise Forbidden("Only people can open previews.")
    shown = ShownPreview(actor.user_id, dataset.project, dataset.name, commit.id, path, host, page)
    return tickets.issue(deps.secret, _TICKET, asdict(shown), deps.clock.now())


def redeem(deps: Deps, ticket: str, *, host: str) -> str:
    """The grant for a ticket. Forbidden the second time, after a minute, and at another host."""
    now = deps.clock.now()
    shown = _at_host(ShownPreview(**tickets.redeem(deps.secret, _TICKET, ticket, deps.db, now)), host)
    return tickets.seal(deps.secret, _GRANT, asdict(shown), expires=now + timedelta(seconds=GRANT_SECONDS))


def granted(deps: Deps, grant: str, *, host: str) -> tuple[ShownPreview, files.OpenFile]:
    """The file, as long as the one it was granted to may see it."""
    shown = _at_host(ShownPreview(**tickets.unseal(deps.secret, _GRANT, grant, deps.clock.now())), host)
    with deps.db.read() as tx:
        user = users.get(tx, shown.user)
        if user is None or user.disabled_at is not None:
            raise Forbidden("The user who opened this can no longer sign in.")
        project = access.find_project(tx, actors.of_user(tx, user), shown.project)
        dataset = datasets.find(tx, project, shown.dataset)
    commit = reading.get_commit(deps, dataset, shown.commit)
    return shown, files.open_file(deps, dataset, commit, shown.path)


def _at_host(shown: ShownPreview, host: str) -> ShownPreview:
    if shown.host != host:
        raise Forbidden("This address belongs to another host.")
    return shown
