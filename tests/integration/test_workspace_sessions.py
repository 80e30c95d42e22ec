"""Sessions of workspaces, with a real agent: begun once, opened in a browser without a second token, and refused."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millpond.client import opening
from millpond.client.http import Api
from millpond.errors import MillError
from millpond.model.job import JobState
from millpond.model.workspace_session import SESSION_TAG, SESSION_TOKEN_ENV, SessionKind
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

# Answers with its path and the token that it was given, as a program behind a session.
PROGRAM = f"""
import http.server, os, sys
class Asked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = (self.path + " " + os.environ[{SESSION_TOKEN_ENV!r}] + " " + self.headers.get("Cookie", "")).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(said))); self.end_headers()
        self.wfile.write(said)
print(os.environ[{SESSION_TOKEN_ENV!r}], flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Asked).serve_forever()
"""


@pytest.fixture
def mill(shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(shared_up, capfd, tmp_path)


@pytest.fixture
def api(shared_up: MillUp) -> Iterator[Api]:
    known = json.loads((shared_up.home / "credentials.json").read_text())["servers"]
    with Api(shared_up.url, known[shared_up.url]["token"]) as api:
        yield api


def test_opening_it_finds_the_running_one(mill: Mill, api: Api) -> None:
    mill.ok("workspace", "create", "ws-open", "--size", "10MB", "--json")
    session = opening.open_session(api, "default", "ws-open", SessionKind.SHELL)
    assert session.is_new and session.name == "ws-open-shell"
    try:
        running = opening.wait_until_running(api, "default", "ws-open", session.job)
        assert (running.state, running.port) == (JobState.RUNNING, None)
        again = opening.open_session(api, "default", "ws-open", SessionKind.SHELL)
        assert (again.job, again.is_new) == (session.job, False)
        mill.ok("exec", session.job, "--", "sh", "-c", 'echo hello > "$HOME/from-shell"')
        shown = mill.ok("workspace", "show", "ws-open", "--json").json
        assert Path(shown["path"], "from-shell").read_text() == "hello\n", "its home is the workspace"
        assert mill.ok("workspace", "open", "ws-open", "--shell", "--json").json["job"] == session.job
        listed = mill.ok("workspace", "sessions", "ws-open", "--json").json["items"]
        assert [(one["job"], one["title"]) for one in listed] == [(session.job, "Shell")]
        assert "no port to open" in refused(api, "ws-open", session.job)
    finally:
        mill.ok("stop", session.job)
    assert mill.ok("workspace", "sessions", "ws-open", "--json").json["items"] == []


def test_a_browser_is_let_in_without_a_second_token(mill: Mill, api: Api, shared_up: MillUp) -> None:
    mill.ok("workspace", "create", "ws-lab", "--size", "10MB", "--json")
    port = free_port()
    # What a session runs, with another program behind it.
    with shared_up.client() as admin:
        body = {
            "command": [sys.executable, "-c", PROGRAM, str(port)], "kind": "interactive", "ports": [port],
            "tags": {SESSION_TAG: "lab"}, "workspaces": [{"workspace": "ws-lab", "target": "/w", "home": True}],
        }  # fmt: skip
        job = admin.post("/projects/default/jobs", json=body).json()["id"]
        try:
            url = opening.session_url(api, "default", "ws-lab", job)
            token = opening.session_token(api, "default", job)
            with httpx.Client() as browser:
                host = httpx.URL(url).host
                place = httpx.URL(url).copy_with(host="127.0.0.1")
                entered = browser.get(place, headers={"Host": f"{host}:{place.port}"})
                assert (entered.status_code, entered.headers["Location"]) == (303, f"/lab?token={token}")
                cookie = {"Host": f"{host}:{place.port}", "Cookie": f"mill_port={entered.cookies['mill_port']}"}
                asked = place.copy_with(raw_path=f"/lab?token={token}".encode())
                answer = browser.get(asked, headers=cookie).text
                assert answer.split() == [f"/lab?token={token}", token], "its own token, and no cookie of Millpond's"
                assert browser.get(place, headers={"Host": f"{host}:{place.port}"}).status_code == 403, "works once"
            log = wait_until(lambda: admin.get(f"/projects/default/jobs/{job}/log").text.strip(), what="its log")
            assert token not in log, "secrets are masked"
            assert token not in admin.get(f"/projects/default/jobs/{job}").text
        finally:
            mill.ok("stop", job)


@pytest.mark.skipif(shutil.which("jupyter-lab") is not None, reason="JupyterLab is installed here")
def test_a_missing_program_is_told(mill: Mill, api: Api) -> None:
    mill.ok("workspace", "create", "ws-none", "--size", "10MB", "--json")
    for option, words in (("--lab", "JupyterLab is not installed"), ("--code", "code-server is not installed")):
        failed = mill("workspace", "open", "ws-none", option, "--no-browser")
        assert failed.code == 5 and words in failed.err, failed.err
    assert "Give one of" in mill("workspace", "open", "ws-none", "--lab", "--code").err
    for asked, words in (
        (["--code", "--install"], "cannot be installed"),
        (["--lab", "--install", "--image", "x"], "install or an image"),
        (["--lab", "--on", "nowhere"], "nowhere"),
    ):
        assert words in mill("workspace", "open", "ws-none", *asked).err
    assert "No workspace 'absent'" in mill("workspace", "open", "absent").err


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def refused(api: Api, workspace: str, job: str) -> str:
    with pytest.raises(MillError) as caught:
        opening.session_url(api, "default", workspace, job)
    return str(caught.value)
