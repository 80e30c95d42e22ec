"""Sessions, users, tokens, projects, members and the audit table, over the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millpond.client.http import Api, segment
from millpond.model.people import Role, TokenScope
from millpond.wire.people import (
    Activity,
    Happening,
    Login,
    Member,
    MemberPut,
    NewToken,
    Project,
    ProjectChange,
    ProjectCreate,
    Session,
    Token,
    TokenCreate,
    User,
    UserChange,
    UserCreate,
)
from millpond.wire.quotas import ProjectUsage, QuotaChange


def login(api: Api, name: str, password: str, *, token_name: str) -> NewToken:
    """Sign in with a password and bring home a token; the browser session made on the way is ended again."""
    response = api.request("POST", "/session", body=Login(name=name, password=password))
    session = Session.model_validate_json(response.content)
    cookies = [cookie.partition(";")[0] for cookie in response.headers.getlist("Set-Cookie")]
    signed_in = {"X-Mill-CSRF": session.csrf or "", "Cookie": "; ".join(cookies)}
    made = api.request("POST", "/tokens", body=TokenCreate(name=token_name), headers=signed_in)
    api.request("DELETE", "/session", headers=signed_in)
    return NewToken.model_validate_json(made.content)


def whoami(api: Api) -> Session:
    return api.get("/session", Session)


def list_users(api: Api) -> Iterator[User]:
    return api.items("/users", User)


def create_user(api: Api, request: UserCreate) -> User:
    return api.send("POST", "/users", User, request)


def change_user(api: Api, name: str, change: UserChange) -> User:
    return api.send("PATCH", f"/users/{segment(name)}", User, change)


def delete_user(api: Api, name: str) -> None:
    api.request("DELETE", f"/users/{segment(name)}")


def list_tokens(api: Api, user: str | None = None) -> Iterator[Token]:
    """One's own; of `user`, for site administrators."""
    return api.items("/tokens", Token, user=user)


def create_token(
    api: Api,
    name: str,
    expires_seconds: int | None,
    *,
    scopes: Sequence[TokenScope] | None = None,
    user: str | None = None,
) -> NewToken:
    """Without scopes, it may do everything its owner may. `user`: a service account."""
    body: dict[str, Any] = {"name": name, "expires_seconds": expires_seconds}
    # A server that is older than scopes does not know these fields.
    body |= {"scopes": list(scopes)} if scopes else {}
    body |= {"user": user} if user else {}
    return api.send("POST", "/tokens", NewToken, TokenCreate.model_validate(body))


def revoke_token(api: Api, token_id: str, user: str | None = None) -> None:
    api.request("DELETE", f"/tokens/{segment(token_id)}", params={"user": user})


def list_projects(api: Api) -> Iterator[Project]:
    return api.items("/projects", Project)


def get_project(api: Api, name: str) -> Project:
    return api.get(f"/projects/{segment(name)}", Project)


def create_project(api: Api, request: ProjectCreate) -> Project:
    return api.send("POST", "/projects", Project, request)


def change_project(api: Api, name: str, change: ProjectChange) -> Project:
    return api.send("PATCH", f"/projects/{segment(name)}", Project, change)


def project_usage(api: Api, name: str) -> ProjectUsage:
    """What a project uses of the lake, caches, jobs and API calls, its quotas, and who has most of it."""
    return api.get(f"/projects/{segment(name)}/usage", ProjectUsage)


def change_quota(api: Api, name: str, change: QuotaChange) -> ProjectUsage:
    return api.send("PATCH", f"/projects/{segment(name)}/quota", ProjectUsage, change)


def delete_project(api: Api, name: str) -> None:
    api.request("DELETE", f"/projects/{segment(name)}")


def list_members(api: Api, project: str) -> Iterator[Member]:
    return api.items(f"/projects/{segment(project)}/members", Member)


def put_member(api: Api, project: str, user: str, role: Role) -> Member:
    path = f"/projects/{segment(project)}/members/{segment(user)}"
    return api.send("PUT", path, Member, MemberPut(role=role))


def remove_member(api: Api, project: str, user: str) -> None:
    api.request("DELETE", f"/projects/{segment(project)}/members/{segment(user)}")


def list_activity(api: Api, at_most: int, project: str | None = None) -> list[Happening]:
    """What happened lately where one may look, newest first."""
    return api.get("/activity", Activity, project=project, limit=at_most).items
