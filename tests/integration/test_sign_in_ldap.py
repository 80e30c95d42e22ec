"""Signing in with a real directory: slapd."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from millpond.testing.server import PASSWORD as LOCAL_PASSWORD
from millpond.testing.server import RunningServer, add_user, running_server
from millpond.testing.slapd import ADMIN_DN, ADMIN_PASSWORD, BASE, PASSWORD, Slapd, running_slapd, why_not

pytestmark = [
    pytest.mark.xdist_group("slapd"),
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
]


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with running_slapd(tmp_path_factory.mktemp("slapd")) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server") / "data") as running:
        for name in ("vision", "lab"):
            running.project(name)
        yield running


def settings(slapd: Slapd) -> dict[str, Any]:
    return {
        "url": slapd.url,
        "bind_dn": ADMIN_DN,
        "user_base": f"ou=people,{BASE}",
        "group_base": f"ou=groups,{BASE}",
        "timeout": 5,
    }


@contextmanager
def directory(server: RunningServer, given: Mapping[str, Any], secret: str = ADMIN_PASSWORD) -> Iterator[httpx.Client]:
    made = server.admin.post("/auth/providers", json={"name": "lab", "ldap": given, "secret": secret})
    assert made.status_code == 201, made.text
    try:
        yield server.client()
    finally:
        assert server.admin.delete("/auth/providers/lab").status_code == 204


def sign_in(client: httpx.Client, name: str, password: str = PASSWORD) -> httpx.Response:
    return client.post("/session", json={"name": name, "password": password})


def test_people_of_a_directory_sign_in_with_their_password(server: RunningServer, slapd: Slapd) -> None:
    for group, project in (("vision", "vision"), ("research", "lab")):
        server.admin.post("/auth/rules", json={"group": group, "project": project, "role": "member"})
    with directory(server, settings(slapd)) as client:
        tested = server.admin.post("/auth/providers/lab/test").json()
        assert tested["works"], tested
        assert tested["found"][-2:] == [f"people below ou=people,{BASE}: 2", f"groups below ou=groups,{BASE}: 2"]
        signed_in = sign_in(client, "ada")
        assert signed_in.status_code == 201, signed_in.text
        me = signed_in.json()
        assert (me["user"]["name"], me["user"]["full_name"], me["user"]["email"]) == (
            "ada", "Ada Lovelace", "ada@lab.example",
        )  # fmt: skip
        assert me["projects"] == [{"project": "vision", "role": "member"}]
        for password in ("wrong", ""):
            assert sign_in(server.client(), "ada", password).status_code == 401
    # Groups of groups, over TLS; the account is the same one.
    nested = {**settings(slapd), "url": slapd.tls_url, "ca": slapd.ca.read_text(), "nested": True}
    with directory(server, nested) as client:
        again = sign_in(client, "ada")
        assert again.status_code == 201, again.text
        me = again.json()
        assert me["user"]["name"] == "ada"
        assert [one["project"] for one in me["projects"]] == ["lab", "vision"]


def test_what_is_typed_is_no_filter(server: RunningServer, slapd: Slapd) -> None:
    with directory(server, settings(slapd)) as client:
        for name in ("*", "a*", "ada)(uid=*", "ada\0", "z*oe", "*)(objectClass=*"):
            assert sign_in(client, name).json()["code"] in ("bad_login", "invalid"), name
        # One whose name holds such characters is found by it.
        assert sign_in(client, "z*oe (x)").json()["user"]["name"] == "z-oe-x"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"start_tls": True}, None),
        ({"url": "ldap://127.0.0.1:9"}, "does not answer as it should"),
        ({"bind_dn": f"cn=nobody,{BASE}"}, "does not let"),
        ({"user_base": f"ou=nothing,{BASE}"}, "ou=nothing"),
    ],
)
def test_what_is_wrong_with_a_directory_is_told(
    server: RunningServer, slapd: Slapd, change: Mapping[str, Any], told: str | None
) -> None:
    given = {**settings(slapd), "ca": slapd.ca.read_text(), **change}
    with directory(server, given) as client:
        tested = server.admin.post("/auth/providers/lab/test").json()
        if told is None:
            assert tested["works"], tested
            assert sign_in(client, "ada").status_code == 201
        else:
            assert (tested["works"], told in tested["problem"]) == (False, True), tested


def test_a_certificate_that_nobody_trusts_is_refused(server: RunningServer, slapd: Slapd) -> None:
    with directory(server, {**settings(slapd), "url": slapd.tls_url}) as client:
        away = sign_in(client, "ada")
        assert (away.status_code, away.json()["code"]) == (503, "provider_unavailable")


def test_passwords_kept_here_go_to_no_directory(server: RunningServer, slapd: Slapd) -> None:
    """Not even one that is away keeps people with an account of their own out."""
    add_user(server.deps, "grace", password=LOCAL_PASSWORD)
    with directory(server, {**settings(slapd), "url": "ldap://127.0.0.1:9"}) as client:
        assert sign_in(client, "grace", LOCAL_PASSWORD).status_code == 201
        assert sign_in(server.client(), "ada").status_code == 503


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "http://lab"}, "url"),
        ({"user_filter": "(uid=ada)"}, "user_filter"),
        ({"ca": "no certificate"}, "ca"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_settings_that_cannot_work_are_refused(server: RunningServer, change: Mapping[str, Any], field: str) -> None:
    given = {"url": "ldap://lab", "user_base": "dc=lab", **change}
    refused = server.admin.post("/auth/providers", json={"name": "bad", "ldap": given})
    assert (refused.status_code, refused.json()["details"]["fields"]) == (422, [field])
