"""Browsers: cookies, CSRF, rate limit. Programs: tokens and how they end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from millpond.db import tokens
from millpond.db.tables import session
from millpond.testing.clock import FakeClock
from millpond.testing.server import PASSWORD, RunningServer, add_user


@pytest.fixture
def browser(server: RunningServer) -> httpx.Client:
    """Maria's, who is not signed in yet."""
    add_user(server.deps, "maria", password=PASSWORD)
    return server.client()


def sign_in(browser: httpx.Client, password: str = PASSWORD) -> httpx.Response:
    return browser.post("/session", json={"name": "maria", "password": password})


def test_sign_in_and_out(browser: httpx.Client) -> None:
    response = sign_in(browser)
    assert response.status_code == 201
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie
    session = browser.get("/session").json()
    assert session["user"]["name"] == "maria"
    assert browser.delete("/session").status_code == 403, "without the CSRF value"
    assert browser.delete("/session", headers={"X-Mill-CSRF": session["csrf"]}).status_code == 204
    assert browser.get("/session").status_code == 401


def test_changes_need_the_csrf_value_and_our_own_origin(browser: httpx.Client, server: RunningServer) -> None:
    csrf = sign_in(browser).json()["csrf"]
    body = {"name": "laptop"}
    assert browser.post("/tokens", json=body).status_code == 403
    assert browser.post("/tokens", json=body, headers={"X-Mill-CSRF": "wrong"}).status_code == 403
    foreign = {"X-Mill-CSRF": csrf, "Origin": "https://evil.example"}
    assert browser.post("/tokens", json=body, headers=foreign).status_code == 403
    own = {"X-Mill-CSRF": csrf, "Origin": server.url}
    assert browser.post("/tokens", json=body, headers=own).status_code == 201


def test_csrf_values_cannot_be_read_from_the_database(browser: httpx.Client, server: RunningServer) -> None:
    csrf = sign_in(browser).json()["csrf"]
    with server.deps.db.read() as tx:
        stored = tx.execute(select(session)).one()
    assert stored.csrf != csrf
    body = {"name": "laptop"}
    assert browser.post("/tokens", json=body, headers={"X-Mill-CSRF": stored.csrf}).status_code == 403
    with server.deps.db.write() as tx:
        tx.execute(session.update().values(csrf="of a server of 0.2"))
    assert browser.get("/session").json()["csrf"] == "of a server of 0.2"
    assert browser.post("/tokens", json=body, headers={"X-Mill-CSRF": "of a server of 0.2"}).status_code == 201


def test_another_sites_page_cannot_sign_in(browser: httpx.Client) -> None:
    body = {"name": "maria", "password": PASSWORD}
    assert browser.post("/session", json=body, headers={"Origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize("name", ["maria", "nobody"])
def test_wrong_name_and_wrong_password_look_alike(browser: httpx.Client, name: str) -> None:
    response = browser.post("/session", json={"name": name, "password": "wrong password"})
    assert response.status_code == 401
    assert (response.json()["code"], response.json()["detail"]) == (
        "bad_login",
        "The user name or the password is wrong.",
    )


def test_too_many_wrong_passwords(browser: httpx.Client, clock: FakeClock) -> None:
    for _ in range(10):
        assert sign_in(browser, "wrong password").status_code == 401
    refused = sign_in(browser)
    assert refused.status_code == 429
    wait = int(refused.headers["Retry-After"])
    clock.advance(wait)
    assert sign_in(browser).status_code == 201


def test_session_ends_by_itself(browser: httpx.Client, clock: FakeClock) -> None:
    sign_in(browser)
    clock.advance(timedelta(days=31).total_seconds())
    assert browser.get("/session").status_code == 401


def test_new_password_ends_other_sessions(browser: httpx.Client, server: RunningServer) -> None:
    other = server.client()
    sign_in(other)
    csrf = {"X-Mill-CSRF": sign_in(browser).json()["csrf"]}
    change = {"password": "another password", "old_password": PASSWORD}
    refused = browser.patch("/users/maria", json={**change, "old_password": "wrong"}, headers=csrf)
    assert refused.status_code == 401
    assert browser.patch("/users/maria", json=change, headers=csrf).status_code == 200
    assert browser.get("/session").status_code == 200
    assert other.get("/session").status_code == 401
    assert sign_in(other).status_code == 401
    assert sign_in(other, "another password").status_code == 201


def test_new_password_revokes_other_tokens(browser: httpx.Client, server: RunningServer) -> None:
    asking, other = (server.client(server.token_of("maria")) for _ in range(2))
    change = {"password": "another password", "old_password": PASSWORD}
    assert asking.patch("/users/maria", json={**change, "revoke_tokens": False}).status_code == 200
    assert other.get("/session").status_code == 200, "they were to stay"
    again = {"password": PASSWORD, "old_password": "another password"}
    assert asking.patch("/users/maria", json=again).status_code == 200
    assert asking.get("/session").status_code == 200
    assert other.get("/session").status_code == 401


def test_password_set_by_an_administrator_revokes_all_tokens(browser: httpx.Client, server: RunningServer) -> None:
    program, admin = server.client(server.token_of("maria")), server.admin
    assert admin.patch("/users/maria", json={"password": "another password"}).status_code == 200
    assert program.get("/session").status_code == 401
    assert admin.get("/session").status_code == 200


def test_guessing_the_old_password_is_limited_like_signing_in(
    browser: httpx.Client, server: RunningServer, clock: FakeClock
) -> None:
    thief = server.client(server.token_of("maria"))
    change = {"password": "another password", "old_password": "a guess"}
    for _ in range(10):
        assert thief.patch("/users/maria", json=change).status_code == 401
    refused = thief.patch("/users/maria", json={**change, "old_password": PASSWORD})
    assert refused.status_code == 429
    clock.advance(int(refused.headers["Retry-After"]))
    assert thief.patch("/users/maria", json={**change, "old_password": PASSWORD}).status_code == 200


def test_disabled_user_is_out_at_once(browser: httpx.Client, server: RunningServer) -> None:
    sign_in(browser)
    program = server.client(server.token_of("maria"))
    assert server.admin.patch("/users/maria", json={"disabled": True}).status_code == 200
    assert browser.get("/session").status_code == 401
    assert program.get("/session").status_code == 401
    assert sign_in(browser).status_code == 401


def test_token_is_shown_once_and_expires(server: RunningServer, clock: FakeClock) -> None:
    maria = server.user("maria")
    made = maria.post("/tokens", json={"name": "laptop", "expires_seconds": 60}).json()
    program = server.client(made["secret"])
    assert program.get("/session").json()["user"]["name"] == "maria"
    listed = {token["name"]: token for token in maria.get("/tokens").json()["items"]}
    assert "secret" not in listed["laptop"] and listed["laptop"]["last_used_at"] is not None
    clock.advance(61)
    expired = program.get("/session")
    assert (expired.status_code, expired.json()["code"]) == (401, "token_expired")


def test_last_use_is_noted_once_a_minute(server: RunningServer, clock: FakeClock) -> None:
    maria = server.user("maria")

    def last_used() -> str:
        return str(maria.get("/tokens").json()["items"][0]["last_used_at"])

    maria.get("/session")
    first = last_used()
    clock.advance(30)
    assert last_used() == first
    clock.advance(31)
    maria.get("/session")
    assert last_used() > first


def test_a_disk_without_room_keeps_nobody_from_reading(
    server: RunningServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    maria = server.user("maria")

    def full(*_: object) -> None:
        raise OperationalError("UPDATE", {}, Exception("database or disk is full"))

    monkeypatch.setattr(tokens, "used", full)
    clock.advance(120)
    assert maria.get("/session").status_code == 200


def test_token_taken_back(server: RunningServer) -> None:
    maria, eve = server.user("maria"), server.user("eve")
    made = maria.post("/tokens", json={"name": "laptop"}).json()
    assert eve.delete(f"/tokens/{made['id']}").status_code == 404
    assert maria.delete(f"/tokens/{made['id']}").status_code == 204
    assert server.client(made["secret"]).get("/session").status_code == 401


def test_behind_a_proxy_under_a_path(server: RunningServer) -> None:
    """The page's origin has no path, and the cookie is for the API below that path alone."""
    server.app.state.deps = replace(
        server.deps, settings=replace(server.deps.settings, public_url="https://lab.example.com/mill/")
    )
    add_user(server.deps, "paula", password=PASSWORD)
    body = {"name": "paula", "password": PASSWORD}
    answer = server.client().post("/session", json=body, headers={"Origin": "https://lab.example.com"})
    assert answer.status_code == 201
    assert "Path=/mill/api;" in answer.headers["set-cookie"] and "Secure" in answer.headers["set-cookie"]
    assert server.client().post("/session", json=body, headers={"Origin": "https://lab.example"}).status_code == 403
