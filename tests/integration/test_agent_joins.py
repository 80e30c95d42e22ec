"""Agents that come in with a join token: once, with a credential of their own, through TLS and proxies."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from millpond.model.people import SYSTEM
from millpond.services import setup
from millpond.services.places import sites
from millpond.services.setup import InstalledAgent
from millpond.testing.builders_work import add_agent
from millpond.testing.proxies import connect_proxy, tls_front
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until
from millpond.wire.agent import PROTOCOL_HEADER

SITE = "lab"


class Lab:
    def __init__(self, root: Path, server: RunningServer) -> None:
        self.root, self.server, self.admin = root, server, server.admin
        sites.create(server.deps, SYSTEM, SITE)

    def token(self, name: str = "token", **asked: object) -> Path:
        made = self.admin.post("/join-tokens", json={"site": SITE, **asked})
        assert made.status_code == 201, made.text
        file = self.root / name
        file.write_text(made.json()["secret"] + "\n")
        file.chmod(0o600)
        return file

    @contextmanager
    def agent(
        self, *options: str, state: str = "state", url: str | None = None, env: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "millpond", "agent", "--server", url or self.server.url]
        command += ["--state-dir", str(self.root / state), *options]
        environment = {**os.environ, **(env or {})}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
            try:
                yield process
            finally:
                process.kill()
                process.communicate()

    def refused(self, *options: str, state: str = "state") -> tuple[int, str]:
        with self.agent(*options, state=state) as process:
            _, errors = process.communicate(timeout=60)
            return process.returncode, errors

    def computes(self) -> dict[str, dict[str, object]]:
        return {one["name"]: one for one in self.admin.get("/computes").json()["items"]}

    def wait_for(self, name: str, health: str = "ok") -> dict[str, object]:
        wait_until(lambda: self.computes().get(name, {}).get("health") == health, what=f"{name} {health}", within=60)
        return self.computes()[name]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with running_server(tmp_path / "data") as server:
        yield Lab(tmp_path, server)


def test_a_token_lets_one_agent_in_once_and_its_credential_stays(lab: Lab) -> None:
    token = lab.token()
    told = ["--node", "Rack_7", "--gpus", "2", "--cpus", "64", "--memory", "1TB", "--label", "rack=7"]
    with lab.agent("--token-file", str(token), "--site", SITE, *told):
        found = lab.wait_for("rack_7")
    assert (found["site"], found["gpus"], found["cpus"], found["declared"]) == (SITE, 2, 64, True)
    assert found["capabilities"]["containers"] is False
    assert found["trust"]["shared"] is found["capabilities"]["shared_trust"] is (os.geteuid() != 0)
    (node,) = lab.admin.get("/computes/rack_7").json()["nodes"]
    assert (node["name"], node["labels"], node["declared"]) == ("Rack_7", {"rack": "7"}, True)
    kept = lab.root / "state/credential.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert token.read_text().strip() not in kept.read_text()
    # Again, without the token: the same compute.
    token.rename(lab.root / "used")
    with lab.agent("--token-file", str(token)):
        wait_until(lambda: lab.computes()["rack_7"]["declared"] is False, what="the second start", within=60)
    assert list(lab.computes()) == ["rack_7"]
    # An empty disk is a new agent, and needs a token of its own.
    used = join(lab.server.client(), lab.root / "used", "mill_new")
    assert used.status_code == 401 and "was used at" in used.json()["detail"]
    listed = lab.admin.get("/join-tokens")
    assert [(one["compute"], one["used_at"] is not None) for one in listed.json()["items"]] == [("rack_7", True)]
    assert "mill_" not in listed.text


@pytest.mark.long
def test_several_agents_of_one_machine_get_names_of_their_own(lab: Lab) -> None:
    nobody, (first, second, third) = lab.server.client(), (lab.token(f"token{n}") for n in range(3))
    with lab.agent("--token-file", str(first), state="a"), lab.agent("--token-file", str(second), state="b"):
        wait_until(lambda: [one["health"] for one in lab.computes().values()] == ["ok", "ok"], what="both", within=60)
    name, numbered = sorted(lab.computes(), key=len)
    assert numbered == f"{name}-2"
    taken = join(nobody, third, "mill_c", name=name, exact=True).json()
    assert taken["code"] == "name_taken" and "--node" in taken["hint"]
    elsewhere = join(nobody, third, "mill_c", site="elsewhere").json()
    assert elsewhere["code"] == "bad_request" and f"is for site '{SITE}'" in elsewhere["detail"]


@pytest.mark.long
def test_a_revoked_credential_ends_the_agent_with_words(lab: Lab) -> None:
    with lab.agent("--token-file", str(lab.token()), "--node", "gone") as agent:
        lab.wait_for("gone")
        assert lab.admin.post("/computes/gone/revoke").json()["health"] == "revoked"
        _, errors = agent.communicate(timeout=60)
    assert agent.returncode == 4
    assert re.search("refused.*: Credential of compute gone revoked", errors)
    assert errors.count("revoked") == 1, "said once, and nothing is asked again"
    # It does not come back by itself; with a token for its compute, a new agent speaks for that.
    code, words = lab.refused("--token-file", str(lab.root / "token"), "--node", "gone")
    assert code == 4 and "was used at" in words
    before = lab.computes()["gone"]
    with lab.agent("--token-file", str(lab.token("new", site=None, compute="gone")), "--node", "gone"):
        after = lab.wait_for("gone")
    assert after["revoked_at"] is None
    assert (after["id"], after["created_at"]) == (before["id"], before["created_at"])


def test_through_tls_of_ones_own_authority_and_a_proxy(lab: Lab) -> None:
    port = int(lab.server.url.rpartition(":")[2])
    url = "https://files.test"
    with tls_front(port, lab.root) as front, connect_proxy({"files.test:443": front.port}) as proxy:
        through = {"ALL_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "127.0.0.1"}
        token = ["--token-file", str(lab.token()), "--node", "far"]
        with lab.agent(*token, url=url, env=through) as agent:
            line = ""
            while "CERTIFICATE_VERIFY_FAILED" not in line:
                assert agent.stderr is not None
                line = agent.stderr.readline()
                assert line, "it ended instead of saying what is wrong"
        with lab.agent(*token, "--ca-file", str(front.certificate), url=url, env=through):
            lab.wait_for("far")
            # The lake is reached the same way: everything a test of the compute does goes through the proxy.
            started = lab.admin.post("/computes/far/tests").json()
            path = f"/computes/far/tests/{started['id']}"
            checks = wait_until(lambda: lab.admin.get(path).json()["checks"], what="the test", within=60)
    assert {check["name"]: check["state"] for check in checks} == {
        "server": "ok", "clock": "ok", "lake write": "ok", "lake read": "ok", "gpus": "skipped",
    }  # fmt: skip
    assert set(proxy.asked) == {"files.test:443"}
    assert not list(lab.server.deps.store.list("doctor/")), "what was written for the test is removed"


def test_an_agent_of_another_version_is_told_so(lab: Lab) -> None:
    newer = lab.server.client(add_agent(lab.server.deps.db).token)
    for path in ("/agents/join", "/agents/sync"):
        answer = newer.post(path, json={"what": "nobody knows"}, headers={PROTOCOL_HEADER: "99"})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
        assert "uses version 99 of the protocol, this server version 1" in answer.json()["detail"]


def join(client: httpx.Client, token: Path, secret: str, **more: object) -> httpx.Response:
    body = {
        "token": token.read_text().strip(), "credential_sha256": hashlib.sha256(secret.encode()).hexdigest(),
        "version": "1", "name": "quick", **more,
    }  # fmt: skip
    return client.post("/agents/join", json=body)


def test_an_answer_that_was_lost_is_given_again(lab: Lab) -> None:
    nobody, token = lab.server.client(), lab.token()
    first, again = join(nobody, token, "mill_mine"), join(nobody, token, "mill_mine")
    assert first.status_code == 200 and first.json() == again.json()
    other = join(nobody, token, "mill_another")
    assert (other.status_code, other.json()["code"]) == (401, "not_signed_in")
    assert [one["name"] for one in lab.admin.get("/computes").json()["items"]] == ["quick"]


def test_a_compute_is_re_attached_by_a_token_of_its_own(lab: Lab) -> None:
    nobody = lab.server.client()
    first = join(nobody, lab.token(), "mill_first").json()
    assert lab.admin.post("/computes/quick/trust", json={"all": True}).json()["trust"]["all"]
    # A name is no claim: another machine does not get what this one was trusted with.
    taken = join(nobody, lab.token("other"), "mill_other", exact=True).json()
    assert taken["code"] == "name_taken" and "mill compute token --compute quick" in taken["hint"]
    again = lab.token("again", site=None, compute="quick")
    second = join(nobody, again, "mill_second", name="whatever").json()
    assert (second["name"], second["site"]) == ("quick", SITE) and second["agent_id"] != first["agent_id"]
    (found,) = lab.computes().values()
    assert found["trust"]["all"] and found["health"] == "new" and found["revoked_at"] is None
    old = lab.server.client("mill_first").post("/agents/sync", json={}, headers={PROTOCOL_HEADER: "1"})
    assert (old.status_code, old.json()["code"]) == (401, "credential_revoked")
    assert "Re-attach this compute" in old.json()["hint"]
    either = lab.admin.post("/join-tokens", json={"site": SITE, "compute": "quick"})
    assert either.status_code == 422 and "either a site or a compute" in either.text


def test_tokens_are_taken_back(lab: Lab) -> None:
    nobody = lab.server.client()
    back = lab.token("back")
    listed = lab.admin.get("/join-tokens").json()["items"]
    for one in listed:
        assert lab.admin.delete(f"/join-tokens/{one['id']}").status_code == 204
    refused = join(nobody, back, "mill_b").json()
    assert refused["code"] == "not_signed_in" and "was revoked" in refused["detail"]
    assert lab.admin.post("/join-tokens", json={"site": SITE, "seconds": 10**9}).status_code == 422
    assert json.loads(lab.admin.get("/audit").text)["items"][0]["action"] == "join_token.revoke"


def test_an_agent_installed_with_its_server_joins_again_after_it_lost_its_disk(lab: Lab) -> None:
    installed = InstalledAgent("mill_join_of_the_chart", "cluster", str(lab.root / "cache"))
    now = lab.server.deps.clock.now()
    for _ in range(2):  # at every start of the server
        setup.let_in(lab.server.deps.db, installed, now)
    token = lab.root / "installed"
    token.write_text(installed.join_token)
    nobody = lab.server.client()
    first = join(nobody, token, "mill_first", name="pods")
    assert first.status_code == 200, first.text
    again = join(nobody, token, "mill_second", name="pods")
    assert again.status_code == 200 and list(lab.computes()) == ["pods"]
    assert [one["name"] for one in lab.admin.get("/volumes").json()["items"]] == ["cluster"]
    # Another token in its place: the one before opens nothing.
    setup.let_in(lab.server.deps.db, replace(installed, join_token="mill_join_another"), now)
    assert join(nobody, token, "mill_third", name="pods").status_code == 401
