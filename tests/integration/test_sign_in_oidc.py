"""Single sign-on against a certified provider that really runs: accounts, roles by groups, keys, refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest

from millpond.model.people import Role
from millpond.services.deps import SystemClock
from millpond.testing.oidc import CLIENT_ID, CLIENT_SECRET, OidcProvider, running_oidc_provider, sign_in_there, why_not
from millpond.testing.server import PASSWORD, RunningServer, add_user, running_server

FOLDER = Path(__file__).parents[2] / "dev" / "oidc"
pytestmark = [
    pytest.mark.xdist_group("oidc"),
    pytest.mark.skipif(why_not(FOLDER) is not None, reason=why_not(FOLDER) or ""),
]

ADA = {
    "preferred_username": "ada",
    "name": "Ada Lovelace",
    "email": "ada@corp.example",
    "email_verified": True,
    "groups": ["/team/vision"],
}


class ShiftedClock(SystemClock):
    """The server's clock goes wrong by `shift`, and its steady one can be moved on."""

    def __init__(self) -> None:
        self.shift = timedelta(0)
        self.moved_on = 0.0

    def now(self) -> datetime:
        return super().now() + self.shift

    def elapsed(self) -> float:
        return super().elapsed() + self.moved_on


@dataclass
class Corp:
    """A server, and a provider `corp` that it knows."""

    server: RunningServer
    provider: OidcProvider
    clock: ShiftedClock
    accounts: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def know(self, login: str, claims: Mapping[str, Any]) -> None:
        self.accounts[login] = claims
        self.provider.set_accounts(self.accounts)

    @contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        with httpx.Client(trust_env=False, timeout=30, verify=False) as client:
            yield client

    def begin(self, browser: httpx.Client, next: str = "/runs") -> str:
        """The address at the provider that the browser is sent to."""
        answer = browser.get(f"{self.server.url}/api/v1/sign-in/start/corp?next={quote(next, safe='')}")
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def come_back(self, browser: httpx.Client, there: str, login: str) -> httpx.Response:
        callback = sign_in_there(browser, there, login, until=self.server.url)
        return browser.get(callback)

    def sign_in(self, browser: httpx.Client, login: str) -> httpx.Response:
        return self.come_back(browser, self.begin(browser), login)

    def who(self, browser: httpx.Client) -> dict[str, Any]:
        answer = browser.get(f"{self.server.url}/api/v1/session")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def problem(self, answer: httpx.Response) -> dict[str, Any]:
        """What the sign-in page is to show."""
        assert answer.status_code == 303, answer.text
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        ways = httpx.get(f"{self.server.url}/api/v1/sign-in", params={"problem": query["problem"][0]}, trust_env=False)
        return ways.json()["problem"]


@pytest.fixture(scope="module")
def corp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corp]:
    directory, clock = tmp_path_factory.mktemp("oidc"), ShiftedClock()
    with (
        running_server(directory / "data", clock=clock) as server,
        running_oidc_provider(FOLDER, directory, server_url=server.url) as provider,
    ):
        settings = {
            "issuer": provider.issuer,
            "client_id": CLIENT_ID,
            "scopes": ["openid", "profile", "email", "groups"],
        }
        made = server.admin.post(
            "/auth/providers", json={"name": "corp", "title": "Corp", "oidc": settings, "secret": CLIENT_SECRET}
        )
        assert made.status_code == 201, made.text
        assert CLIENT_SECRET not in made.text
        for project in ("vision", "lab"):
            server.project(project)
        yield Corp(server, provider, clock)


@pytest.fixture(autouse=True)
def right_clock(corp: Corp) -> Iterator[None]:
    yield
    corp.clock.shift = timedelta(0)


def rule(corp: Corp, group: str, project: str | None, role: str | None = None) -> str:
    made = corp.server.admin.post("/auth/rules", json={"group": group, "project": project, "role": role})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def test_an_account_is_made_and_gets_what_its_groups_give(corp: Corp) -> None:
    gives = rule(corp, "/team/*", "vision", "member")
    corp.know("s1", ADA)
    with corp.browser() as browser:
        done = corp.sign_in(browser, "s1")
        assert (done.status_code, done.headers["Location"]) == (303, f"{corp.server.url}/runs")
        me = corp.who(browser)
        assert (me["user"]["name"], me["user"]["full_name"], me["has_password"]) == ("ada", "Ada Lovelace", False)
        assert me["projects"] == [{"project": "vision", "role": "member"}]
        sessions = browser.get(f"{corp.server.url}/api/v1/sessions").json()["items"]
        assert [(one["provider"], one["current"], one["address"]) for one in sessions] == [("corp", True, "127.0.0.1")]
    # What people gave by hand stays; what the rule gave goes with the group.
    corp.server.admin.put("/projects/lab/members/ada", json={"role": "viewer"})
    corp.know("s1", {**ADA, "groups": []})
    with corp.browser() as browser:
        corp.sign_in(browser, "s1")
        assert corp.who(browser)["projects"] == [{"project": "lab", "role": "viewer"}]
    corp.server.admin.delete(f"/auth/rules/{gives}")


def test_a_disabled_user_stays_out_and_their_sessions_end(corp: Corp) -> None:
    corp.know("gone", {**ADA, "preferred_username": "gone"})
    with corp.browser() as browser:
        corp.sign_in(browser, "gone")
        corp.server.admin.patch("/users/gone", json={"disabled": True})
        assert browser.get(f"{corp.server.url}/api/v1/session").status_code == 401
    with corp.browser() as browser:
        problem = corp.problem(corp.sign_in(browser, "gone"))
        assert (problem["code"], "disabled" in problem["detail"]) == ("sign_in_refused", True)


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"email_verified": False}, "has not verified the e-mail address ada@corp.example"),
        ({"preferred_username": "admin"}, "belongs to an account that is not linked"),
        ({"preferred_username": "!!!", "name": ""}, "cannot be made a user name"),
    ],
)
def test_who_is_not_let_in_is_told_why(corp: Corp, claims: Mapping[str, Any], told: str) -> None:
    corp.know("refused", {**ADA, **claims})
    with corp.browser() as browser:
        problem = corp.problem(corp.sign_in(browser, "refused"))
        assert problem["code"] == "sign_in_refused"
        assert told in problem["detail"]
        assert browser.get(f"{corp.server.url}/api/v1/session").status_code == 401


def test_an_address_is_no_identity(corp: Corp) -> None:
    """Somebody else at the provider with the same name and address gets an account of their own."""
    corp.know("first", {**ADA, "preferred_username": "grace"})
    corp.know("second", {**ADA, "preferred_username": "grace"})
    names = []
    for login in ("first", "second", "first"):
        with corp.browser() as browser:
            corp.sign_in(browser, login)
            names.append(corp.who(browser)["user"]["name"])
    assert names == ["grace", "grace-2", "grace"]


def test_a_local_account_is_linked_by_whoever_knows_its_password(corp: Corp) -> None:
    add_user(corp.server.deps, "emmy", password=PASSWORD, roles={"lab": Role.MEMBER})
    corp.know("emmy-there", {**ADA, "preferred_username": "emmy"})
    api = f"{corp.server.url}/api/v1"
    with corp.browser() as browser:
        csrf = browser.post(f"{api}/session", json={"name": "emmy", "password": PASSWORD}).json()["csrf"]
        started = browser.post(f"{api}/sign-in/link/corp", headers={"X-Mill-CSRF": csrf})
        done = corp.come_back(browser, started.json()["url"], "emmy-there")
        assert done.headers["Location"].endswith("/account")
    with corp.browser() as browser:
        corp.sign_in(browser, "emmy-there")
        assert corp.who(browser)["user"]["name"] == "emmy"
        assert corp.who(browser)["projects"] == [{"project": "lab", "role": "member"}]
        linked = browser.get(f"{api}/users/emmy/sign-ins").json()["items"]
        assert [(one["provider"], one["subject"]) for one in linked] == [("corp", "emmy-there")]


def test_keys_may_be_rotated(corp: Corp) -> None:
    corp.know("s1", ADA)
    for _ in range(2):
        corp.provider.control("rotate")
        # Forged tokens must not make many requests: unknown keys are looked for again after a while only.
        corp.clock.moved_on += 60
        with corp.browser() as browser:
            corp.sign_in(browser, "s1")
            assert corp.who(browser)["user"]["name"] == "ada"


def test_a_key_that_is_not_published_is_refused(corp: Corp) -> None:
    corp.know("s1", ADA)
    corp.provider.control("hide")
    corp.clock.moved_on += 7200
    with corp.browser() as browser:
        problem = corp.problem(corp.sign_in(browser, "s1"))
    assert problem["code"] == "sign_in_failed"
    assert "does not publish" in problem["detail"]
    corp.provider.control("rotate")
    corp.clock.moved_on += 7200


def test_an_answer_is_of_use_only_in_the_browser_that_asked(corp: Corp) -> None:
    corp.know("s1", ADA)
    with corp.browser() as attacker, corp.browser() as victim:
        callback = sign_in_there(attacker, corp.begin(attacker), "s1", until=corp.server.url)
        problem = corp.problem(victim.get(callback))
        assert "not begun in this browser" in problem["detail"]
        assert victim.get(f"{corp.server.url}/api/v1/session").status_code == 401


@pytest.mark.parametrize(
    ("parameter", "value", "told"),
    [
        ("nonce", "another", "nonce"),
        ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "did not accept the code"),
    ],
)
def test_an_answer_to_another_question_is_refused(corp: Corp, parameter: str, value: str, told: str) -> None:
    corp.know("s1", ADA)
    with corp.browser() as browser:
        there = httpx.URL(corp.begin(browser)).copy_set_param(parameter, value)
        problem = corp.problem(corp.come_back(browser, str(there), "s1"))
        assert (problem["code"], told in problem["detail"]) == ("sign_in_failed", True)


@pytest.mark.parametrize(("seconds", "told"), [(40, None), (-40, None), (300, "has expired"), (-300, "not valid yet")])
def test_clocks_may_differ_a_little(corp: Corp, seconds: int, told: str | None) -> None:
    """The provider's tokens are good for two minutes."""
    corp.know("s1", ADA)
    with corp.browser() as browser:
        callback = sign_in_there(browser, corp.begin(browser), "s1", until=corp.server.url)
        corp.clock.shift = timedelta(seconds=seconds)
        answer = browser.get(callback)
        if told is None:
            assert corp.who(browser)["user"]["name"] == "ada"
        else:
            assert told in corp.problem(answer)["detail"]


def test_addresses_of_others_are_not_gone_to(corp: Corp) -> None:
    corp.know("s1", ADA)
    for next in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        with corp.browser() as browser:
            done = corp.come_back(browser, corp.begin(browser, next), "s1")
            assert done.headers["Location"] == f"{corp.server.url}/"


def test_signing_out_leads_to_the_provider_and_back(corp: Corp) -> None:
    corp.know("s1", ADA)
    api = f"{corp.server.url}/api/v1"
    with corp.browser() as browser:
        corp.sign_in(browser, "s1")
        ended = browser.post(f"{api}/session/end", headers={"X-Mill-CSRF": corp.who(browser)["csrf"]}).json()
        assert ended["url"].startswith(f"{corp.provider.issuer}/session/end?id_token_hint=")
        asked = browser.get(ended["url"])
        assert asked.status_code == 200, asked.text
        assert browser.get(f"{api}/session").status_code == 401


def test_a_provider_that_is_away_says_so(corp: Corp) -> None:
    api = corp.server.admin
    settings = {"issuer": "http://127.0.0.1:9", "client_id": "x"}
    assert api.post("/auth/providers", json={"name": "away", "oidc": settings}).status_code == 201
    tested = api.post("/auth/providers/away/test").json()
    assert (tested["works"], "does not answer" in tested["problem"]) == (False, True)
    with corp.browser() as browser:
        problem = corp.problem(browser.get(f"{corp.server.url}/api/v1/sign-in/start/away"))
        assert problem["code"] == "provider_unavailable"
    assert api.delete("/auth/providers/away").status_code == 204
    assert api.post("/auth/providers/corp/test").json()["works"] is True


def test_rules_are_tried_without_anybody_signing_in(corp: Corp) -> None:
    gives = [rule(corp, "admins", None), rule(corp, "staff", "lab", "viewer")]
    body = {"provider": "corp", "claims": {"preferred_username": "new", "groups": ["admins", "staff"]}}
    tried = corp.server.admin.post("/auth/rules/test", json=body).json()
    assert tried["user"] is None
    assert [(one["project"], one["after"]) for one in tried["reasons"]] == [(None, "admin"), ("lab", "viewer")]
    assert corp.server.admin.get("/users/new").status_code == 404
    for one in gives:
        corp.server.admin.delete(f"/auth/rules/{one}")
