"""Who may use a route. Every route declares exactly one requirement as a dependency; the app refuses one without.

    def list_tokens(actor: SignedIn, …)                             anybody with an account
    def list_users(actor: SiteAdmin, …)
    def get_dataset(scope: Viewer, …)                               /projects/{project}/…; also Member, Admin
    def create_upload(scope: Annotated[Scope, InProject(Role.MEMBER, placements=True)], …)
    def sync(actor: AgentOnly, …)
    def clear(actor: Annotated[Actor, ByObject(Role.MEMBER)], …)    the service finds the object's project
    @router.post("/session", dependencies=[PUBLIC])

The requirement authenticates, too: a route has an actor only by declaring who may call it.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.dependencies.models import Dependant
from starlette.requests import HTTPConnection

from millpond.api.origins import origin_of
from millpond.decide.token_scopes import allows, needed_scopes
from millpond.decide.token_scopes import written as written_scopes
from millpond.errors import Forbidden, NotSignedIn, ScopeMissing
from millpond.model.people import Actor, ActorKind, Project, Role, Session, TokenScope
from millpond.services.deps import Deps
from millpond.services.endpoints import tokens as endpoint_tokens
from millpond.services.events import EventHub
from millpond.services.people import access, sessions, tokens

COOKIE = "mill_session"
CSRF_HEADER = "X-Mill-CSRF"
_WHO = {
    ActorKind.USER: "people", ActorKind.AGENT: "agents", ActorKind.PLACEMENT: "jobs",
    ActorKind.WORKSPACE: "workspaces",
}  # fmt: skip
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def deps_of(request: HTTPConnection) -> Deps:
    deps: Deps = request.app.state.deps
    return deps


# Asynchronous, because FastAPI sends every other dependency through a thread.
async def _deps(request: Request) -> Deps:
    return deps_of(request)


async def _hub(request: Request) -> EventHub:
    hub: EventHub = request.app.state.hub
    return hub


DepsOf = Annotated[Deps, Depends(_deps)]
# For streams and long polls; everything else publishes through deps.events.
HubOf = Annotated[EventHub, Depends(_hub)]


@dataclass(frozen=True, slots=True)
class Scope:
    """Who is asking, and the project of the path, in which they have the role the route needs."""

    actor: Actor
    project: Project


@dataclass(frozen=True)
class Requirement:
    """What a route needs. `written` is shown in OpenAPI as `x-mill-access`."""

    kinds: frozenset[ActorKind] = frozenset({ActorKind.USER})
    role: Role | None = None
    name: str = "signed in"

    @property
    def written(self) -> str:
        if not self.kinds:
            return self.name
        others = sorted(kind.value for kind in self.kinds - {ActorKind.USER})
        return ", ".join([self.name, *others] if ActorKind.USER in self.kinds else others)

    def actor(self, request: Request) -> Actor:
        actor = authenticate(request)
        if actor.scopes is not None:
            path = request.scope["path"].removeprefix(request.scope.get("root_path", "")).removeprefix("/api/v1")
            is_site_admin = self.name == "site admin"
            needed = needed_scopes(request.method, path, role=self.role, site_admin=is_site_admin)
            check_scopes(actor, needed)
        if actor.kind not in self.kinds:
            wanted = " and ".join(_WHO[kind] for kind in ActorKind if kind in self.kinds)
            raise Forbidden(f"This is only for {wanted}.")
        return actor


class _Public(Requirement):
    def __call__(self) -> None:
        return None


class _Actor(Requirement):
    def __call__(self, request: Request) -> Actor:
        return self.actor(request)


class _SiteAdmin(Requirement):
    def __call__(self, request: Request) -> Actor:
        actor = self.actor(request)
        if not actor.is_admin:
            raise Forbidden("This needs a site administrator.")
        return actor


@dataclass(frozen=True)
class _InProject(Requirement):
    # False for what tells of the quota of calls: it is to be seen also by those who have none left.
    counts: bool = True

    def __call__(self, request: Request, project: Annotated[str, Path(description="The project's name.")]) -> Scope:
        actor = self.actor(request)
        deps = deps_of(request)
        with deps.db.read() as tx:
            found = access.find_project(tx, actor, project, self.role or Role.VIEWER)
        if self.counts:
            deps.calls.count(deps.clock.now(), actor, found.id, found.name)
        return Scope(actor, found)


def _kinds(*, placements: bool, agents: bool, workspaces: bool = False) -> frozenset[ActorKind]:
    chosen = {
        ActorKind.USER: True, ActorKind.PLACEMENT: placements, ActorKind.AGENT: agents, ActorKind.WORKSPACE: workspaces,
    }  # fmt: skip
    return frozenset(kind for kind, wanted in chosen.items() if wanted)


def InProject(role: Role, *, placements: bool = False, agents: bool = False, workspaces: bool = False) -> Any:
    """A role in the project of the path. Jobs, agents and workspaces only where said; their services narrow it to
    their own."""
    kinds = _kinds(placements=placements, agents=agents, workspaces=workspaces)
    return Depends(_InProject(kinds, role, role.value))


def ByObject(role: Role, *, placements: bool = False, agents: bool = False) -> Any:
    """A role in the project of the object the path names: the service finds it, and checks it as `InProject` would."""
    return Depends(_Actor(_kinds(placements=placements, agents=agents), role, f"{role.value} of its project"))


PUBLIC = Depends(_Public(frozenset(), None, "public"))
SignedIn = Annotated[Actor, Depends(_Actor())]
SiteAdmin = Annotated[Actor, Depends(_SiteAdmin(name="site admin"))]
AgentOnly = Annotated[Actor, Depends(_Actor(frozenset({ActorKind.AGENT})))]
Viewer = Annotated[Scope, InProject(Role.VIEWER)]
UncountedViewer = Annotated[
    Scope, Depends(_InProject(frozenset({ActorKind.USER}), Role.VIEWER, Role.VIEWER.value, counts=False))
]
Member = Annotated[Scope, InProject(Role.MEMBER)]
Admin = Annotated[Scope, InProject(Role.ADMIN)]


class _EndpointUse(Requirement):
    """A role in the project, or a token of the endpoint."""

    def __call__(
        self, request: Request, project: Annotated[str, Path()], endpoint: Annotated[str, Path()]
    ) -> None:  # fmt: skip
        secret = bearer_of(request)
        if secret.startswith(endpoint_tokens.PREFIX):
            endpoint_tokens.verify(deps_of(request), secret, project, endpoint)
            return
        actor = self.actor(request)
        with deps_of(request).db.read() as tx:
            access.find_project(tx, actor, project, self.role or Role.VIEWER)


EndpointUse = Annotated[
    None, Depends(_EndpointUse(_kinds(placements=True, agents=False), Role.VIEWER, "viewer or endpoint token"))
]


def is_site_admin(request: Request) -> bool:
    """True if a site administrator asks. False without a sign-in; NotSignedIn for one that is no longer valid."""
    if not bearer_of(request) and not request.cookies.get(COOKIE):
        return False
    actor = authenticate(request)
    return (
        actor.kind is ActorKind.USER and actor.is_admin and (actor.scopes is None or TokenScope.ADMIN in actor.scopes)
    )


def bearer_of(request: HTTPConnection) -> str:
    """The bearer token; empty without one."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def requirements_of(dependant: Dependant) -> list[Requirement]:
    """What a route declared, for the check at start and for the test that walks all routes."""
    found: list[Requirement] = [dependant.call] if isinstance(dependant.call, Requirement) else []
    return [*found, *(item for below in dependant.dependencies for item in requirements_of(below))]


def authenticate(request: HTTPConnection) -> Actor:
    """The actor behind the bearer token or the session cookie; NotSignedIn without either.

    A cookie is sent by a browser whichever page asks: what changes something, and every WebSocket, must come from
    the page's own origin.
    """
    if secret := bearer_of(request):
        return tokens.actor_of(deps_of(request), secret)
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        raise NotSignedIn(hint="Sign in with `mill login`, or send a token.")
    actor, session = sessions.actor_of(deps_of(request), cookie)
    if request.scope["type"] == "websocket":
        check_origin(request, needed=True)
    elif request.scope["method"] not in _READING:
        _check_same_site(request, session)
    request.state.session = session
    return actor


def check_scopes(actor: Actor, needed: frozenset[TokenScope]) -> None:
    """ScopeMissing, saying which, for a token that was made for less."""
    if not allows(actor.scopes, needed):
        raise ScopeMissing(
            f"This token lacks the scope {written_scopes(needed)}.",
            hint=f"Use another token: mill token create NAME --scope {min(scope.value for scope in needed)}",
            needed=sorted(scope.value for scope in needed),
        )


def check_origin(request: HTTPConnection, *, needed: bool = False) -> None:
    """Forbidden for a request that a page of another origin made, or that does not say which, where that is needed."""
    origin = request.headers.get("origin")
    if origin is None and not needed:
        return
    public_url = deps_of(request).settings.public_url
    scheme = {"ws": "http", "wss": "https"}.get(request.url.scheme, request.url.scheme)
    own = {f"{scheme}://{request.url.netloc}", origin_of(public_url) if public_url else ""}
    if origin not in own:
        raise Forbidden("Another site's page made this request.", origin=origin)


def _check_same_site(request: HTTPConnection, session: Session) -> None:
    check_origin(request)
    if not _equal(request.headers.get(CSRF_HEADER, ""), session.csrf):
        raise Forbidden(f"The header {CSRF_HEADER} is missing or wrong.", hint="Load the page again.")


def _equal(sent: str, kept: str) -> bool:
    return hmac.compare_digest(sent.encode(), kept.encode())
