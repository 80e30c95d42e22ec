"""Sessions, users, tokens, projects, members and the audit table, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.model.people import Role
from millpond.wire.people import (
    Activity,
    AuditRecord,
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


def list_tokens(api: Api) -> Iterator[Token]:
    return api.items("/tokens", Token)


def create_token(api: Api, name: str, expires_seconds: int | None) -> NewToken:
    return api.send("POST", "/tokens", NewToken, TokenCreate(name=name, expires_seconds=expires_seconds))


def revoke_token(api: Api, token_id: str) -> None:
    api.request("DELETE", f"/tokens/{segment(token_id)}")


def list_projects(api: Api) -> Iterator[Project]:
    return api.items("/projects", Project)


def get_project(api: Api, name: str) -> Project:
    return api.get(f"/projects/{segment(name)}", Project)


def create_project(api: Api, request: ProjectCreate) -> Project:
    return api.send("POST", "/projects", Project, request)


def change_project(api: Api, name: str, change: ProjectChange) -> Project:
    return api.send("PATCH", f"/projects/{segment(name)}", Project, change)


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


def list_audit(api: Api, at_most: int) -> Iterator[AuditRecord]:
    return api.items("/audit", AuditRecord, at_most=at_most)
