"""`mill login` with a browser: loopback and code; scoped tokens, service accounts and sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from millpond.client.http import Api
from millpond.client.machine_login import has_browser, login_in_browser, login_with_code
from millpond.client.people import whoami
from millpond.errors import Forbidden, NotFound, SignInRefused
from millpond.model.people import Role
from millpond.testing.clock import FakeClock
from millpond.testing.server import PASSWORD, RunningServer, add_user, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server"), clock=FakeClock()) as running:
        add_user(running.deps, "ada", password=PASSWORD, roles={"default": Role.MEMBER})
        yield running


@pytest.fixture
def page(server: RunningServer) -> httpx.Client:
    """Ada's browser, signed in."""
    browser = server.client()
    csrf = browser.post("/session", json={"name": "ada", "password": PASSWORD}).json()["csrf"]
    browser.headers["X-Mill-CSRF"] = csrf
    return browser


def asked(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def answering(page: httpx.Client, answer: dict[str, str] | None = None) -> Any:
    """A browser that is opened at the page's address: it allows, or answers as told."""

    def go(url: str) -> None:
        query = asked(url)
        back = answer
        if back is None:
            granted = page.post(
                "/login-grants", json={"machine": query["machine"], "challenge": query["challenge"]}
            ).json()
            back = {"code": granted["code"]}
        address = f"http://127.0.0.1:{query['port']}/"
        # Somebody else's page does not know the state.
        assert httpx.get(address, params={**back, "state": "guessed"}, trust_env=False).status_code == 404
        told = httpx.get(address, params={"state": query["state"], **back}, trust_env=False)
        assert "You can close this page" in told.text

    def open_browser(url: str) -> bool:
        threading.Thread(target=go, args=(url,)).start()
        return True

    return open_browser


def test_a_browser_on_the_same_machine(server: RunningServer, page: httpx.Client) -> None:
    told: list[str] = []
    with Api(server.url) as api:
        token = login_in_browser(api, tell=told.append, open_browser=answering(page))
    with Api(server.url, token.secret) as api:
        assert whoami(api).user.name == "ada"
    assert told[0].startswith(f"{server.url}/command-line?port=")
    assert token.expires_at is not None


def test_who_denies_on_the_page_gives_nothing(server: RunningServer, page: httpx.Client) -> None:
    denying = answering(page, {"error": "denied"})
    with Api(server.url) as api, pytest.raises(Forbidden, match="denied"):
        login_in_browser(api, tell=lambda url: None, open_browser=denying)


def test_a_code_is_of_use_to_who_asked_alone_and_once(server: RunningServer, page: httpx.Client) -> None:
    challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"  # RFC 7636, appendix B
    code = page.post("/login-grants", json={"machine": "lab", "challenge": challenge}).json()["code"]
    nobody = server.client()
    stolen = nobody.post("/login-grants/redeem", json={"code": code, "verifier": "guessed"})
    assert stolen.status_code == 403
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    # Whoever tried has used it up.
    assert nobody.post("/login-grants/redeem", json={"code": code, "verifier": verifier}).status_code == 403
    code = page.post("/login-grants", json={"machine": "lab", "challenge": challenge}).json()["code"]
    assert nobody.post("/login-grants/redeem", json={"code": code, "verifier": verifier}).status_code == 201


def test_a_code_is_confirmed_by_a_browser_anywhere(server: RunningServer, page: httpx.Client) -> None:
    codes: list[str] = []

    def confirm(seconds: float) -> None:
        typed = codes[0].lower().replace("-", " ")
        assert page.get(f"/device-logins/{typed}").json()["user_code"] == codes[0]
        assert page.post(f"/device-logins/{typed}/answer", json={"confirm": True}).status_code == 200

    with Api(server.url) as api:
        token = login_with_code(api, tell=lambda begun: codes.append(begun.user_code), sleep=confirm)
    with Api(server.url, token.secret) as api:
        assert whoami(api).user.name == "ada"
    # It was used: nobody finds it now.
    assert page.get(f"/device-logins/{codes[0]}").status_code == 404


def test_a_code_that_is_denied_or_expired_gives_nothing(server: RunningServer, page: httpx.Client) -> None:
    codes: list[str] = []

    def deny(seconds: float) -> None:
        page.post(f"/device-logins/{codes[-1]}/answer", json={"confirm": False})

    def wait(seconds: float) -> None:
        clock = server.deps.clock
        assert isinstance(clock, FakeClock)
        clock.advance(700)

    with Api(server.url) as api:
        with pytest.raises(SignInRefused):
            login_with_code(api, tell=lambda begun: codes.append(begun.user_code), sleep=deny)
        with pytest.raises(NotFound, match="expired"):
            login_with_code(api, tell=lambda begun: codes.append(begun.user_code), sleep=wait)


def test_a_token_cannot_make_logins(server: RunningServer) -> None:
    token = server.client(server.token_of("ada"))
    body = {"machine": "lab", "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}
    assert token.post("/login-grants", json=body).status_code == 400


def test_browsers_are_opened_only_in_front_of_people() -> None:
    assert has_browser({"DISPLAY": ":0"})
    assert not has_browser({"DISPLAY": ":10", "SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"})


@pytest.mark.parametrize(
    ("scopes", "may", "may_not", "needed"),
    [
        (["read"], ["GET /datasets"], "POST /projects/default/datasets", ["data"]),
        (["read"], ["GET /jobs"], "POST /tokens", ["admin"]),
        (["data"], ["POST /projects/default/datasets"], "POST /projects/default/jobs", ["submit"]),
        (["submit"], ["POST /projects/default/uploads"], "PUT /projects/default/members/ada", ["admin"]),
        (["admin"], ["POST /projects/default/jobs", "GET /tokens"], None, []),
        (None, ["POST /projects/default/jobs", "GET /tokens"], None, []),
    ],
)
def test_scopes_say_what_is_needed(
    server: RunningServer, scopes: list[str] | None, may: list[str], may_not: str | None, needed: list[str]
) -> None:
    made = server.client(server.token_of("ada")).post("/tokens", json={"name": "ci", "scopes": scopes})
    assert made.status_code == 201, made.text
    client = server.client(made.json()["secret"])
    for line in may:
        method, path = line.split()
        # 422: let in, and then the empty body was looked at.
        assert client.request(method, path, **({"json": {}} if method != "GET" else {})).status_code in (
            200,
            201,
            422,
        ), line
    if may_not is not None:
        method, path = may_not.split()
        refused = client.request(method, path, json={"role": "viewer"})
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing"), refused.text
        assert refused.json()["details"]["needed"] == needed
        assert needed[0] in refused.json()["detail"]


def test_points_of_metrics_need_the_scope_too(server: RunningServer) -> None:
    ada = server.client(server.token_of("ada"))
    run = ada.post("/projects/default/runs", json={"name": "train"}).json()["id"]
    body = {"writer": "w", "sequence": 0, "tags": {"a": "b"}}
    codes = []
    for scope in ("read", "submit"):
        secret = ada.post("/tokens", json={"name": scope, "scopes": [scope]}).json()["secret"]
        codes.append(server.client(secret).post(f"/projects/default/runs/{run}/batch", json=body).status_code)
    assert codes == [403, 204]


def test_service_accounts_have_tokens_and_no_password(server: RunningServer) -> None:
    admin = server.admin
    assert admin.post("/users", json={"name": "ci-bot", "is_service": True}).status_code == 201
    admin.put("/projects/default/members/ci-bot", json={"role": "member"})
    made = admin.post("/tokens", json={"name": "nightly", "user": "ci-bot", "scopes": ["submit"]})
    bot = server.client(made.json()["secret"])
    assert bot.get("/session").json()["user"]["name"] == "ci-bot"
    assert admin.get("/tokens?user=ci-bot").json()["items"][0]["scopes"] == ["submit"]
    assert admin.patch("/users/ci-bot", json={"password": PASSWORD}).status_code == 422
    assert server.client().post("/session", json={"name": "ci-bot", "password": ""}).status_code == 401
    # An administrator takes nobody's place.
    assert admin.post("/tokens", json={"name": "as ada", "user": "ada"}).status_code == 403
    assert server.client(server.token_of("ada")).get("/tokens?user=ci-bot").status_code == 404
    assert admin.delete(f"/tokens/{made.json()['id']}?user=ci-bot").status_code == 204
    assert bot.get("/session").status_code == 401


def test_disabling_somebody_ends_their_sessions_and_tokens_for_good(server: RunningServer) -> None:
    add_user(server.deps, "eve", password=PASSWORD)
    browser, token = server.client(), server.client(server.token_of("eve"))
    browser.post("/session", json={"name": "eve", "password": PASSWORD})
    for disabled in (True, False):
        assert server.admin.patch("/users/eve", json={"disabled": disabled}).status_code == 200
        assert (browser.get("/session").status_code, token.get("/session").status_code) == (401, 401)


def test_sessions_are_listed_and_ended(server: RunningServer, page: httpx.Client) -> None:
    other = server.client()
    other.post("/session", json={"name": "ada", "password": PASSWORD}, headers={"User-Agent": "Firefox/144"})
    listed = page.get("/sessions").json()["items"]
    assert [one["current"] for one in listed].count(True) == 1
    theirs = next(one for one in listed if one["user_agent"] == "Firefox/144")
    assert page.delete(f"/sessions/{theirs['id']}").status_code == 204
    assert other.get("/session").status_code == 401
    assert page.delete("/sessions").json()["count"] >= 0
    assert len(page.get("/sessions").json()["items"]) == 1
    assert server.user("stranger").get("/sessions?user=ada").status_code == 404
    assert server.admin.delete("/sessions?user=ada").json()["count"] == 1
    assert page.get("/session").status_code == 401


def test_local_login_is_switched_off_only_if_somebody_can_still_come_in(server: RunningServer, tmp_path: Path) -> None:
    refused = server.admin.put("/auth/local-login", json={"on": False})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    settings = {"issuer": "http://127.0.0.1:9", "client_id": "x"}
    server.admin.post("/auth/providers", json={"name": "corp", "oidc": settings})
    linked = server.admin.post("/users/admin/sign-ins", json={"provider": "corp", "subject": "boss"})
    assert linked.status_code == 201
    assert server.admin.put("/auth/local-login", json={"on": False}).status_code == 204
    told = server.client().post("/session", json={"name": "ada", "password": PASSWORD})
    assert (told.status_code, "switched off" in told.json()["detail"]) == (401, True)
    assert server.client().get("/sign-in").json()["password"] is False
    assert server.admin.delete("/auth/providers/corp").status_code == 409
    assert server.admin.put("/auth/local-login", json={"on": True}).status_code == 204
    assert server.client().post("/session", json={"name": "ada", "password": PASSWORD}).status_code == 201
