"""Ports of jobs in a browser: a ticket from the page, then a grant in a cookie of the job's own host.

docs/design/007-two-origins.md has the whole story.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

from millpond.db import actors, users
from millpond.errors import Forbidden
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.jobs import job_streams
from millpond.services.jobs.job_streams import JobPlace, StreamTarget
from millpond.services.people import tickets

GRANT_SECONDS = 12 * 3600

_TICKET = "job port ticket"
_GRANT = "job port grant"


@dataclass(frozen=True, slots=True)
class Opened:
    """A port of a job, opened for one user at one host. `rank`: the process of a distributed job."""

    user: str
    project: str
    job: str
    port: int
    host: str
    rank: int = 0

    @property
    def place(self) -> JobPlace:
        return JobPlace(self.project, self.job, self.rank)


def issue(deps: Deps, actor: Actor, opened: Opened) -> str:
    """Issue a ticket for a port of a running job to a member of its project."""
    if actor.user_id is None or actor.user_id != opened.user:
        raise Forbidden("Only users can open ports of jobs.")
    job_streams.port_target(deps, actor, opened.place, opened.port)
    return tickets.issue(deps.secret, _TICKET, asdict(opened), deps.clock.now())


def redeem(deps: Deps, ticket: str, *, host: str) -> str:
    """Exchange a ticket for a grant. Raises Forbidden the second time, after a minute, and at another host."""
    now = deps.clock.now()
    opened = _at_host(Opened(**tickets.redeem(deps.secret, _TICKET, ticket, deps.db, now)), host)
    return tickets.seal(deps.secret, _GRANT, asdict(opened), expires=now + timedelta(seconds=GRANT_SECONDS))


def granted(deps: Deps, grant: str, *, host: str) -> Opened:
    """Read a grant for this host. Access is checked again with every connection."""
    return _at_host(Opened(**tickets.unseal(deps.secret, _GRANT, grant, deps.clock.now())), host)


def target(deps: Deps, opened: Opened) -> StreamTarget:
    """Where to forward a connection. Raises if the user has lost access or the job has ended."""
    with deps.db.read() as tx:
        user = users.get(tx, opened.user)
        if user is None or user.disabled_at is not None:
            raise Forbidden("The user who opened this can no longer sign in.")
        actor = actors.of_user(tx, user)
    return job_streams.port_target(deps, actor, opened.place, opened.port, note=False)


def _at_host(opened: Opened, host: str) -> Opened:
    if opened.host != host:
        raise Forbidden("This address belongs to another host.", hint="Open it again from Millpond's page.")
    return opened
