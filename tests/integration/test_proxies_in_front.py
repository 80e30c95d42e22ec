"""The examples in deploy/proxies, each with the real proxy: streams, terminals, large uploads, and who is asking."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from millpond.client.http import Api
from millpond.client.streams import STDOUT, open_exec
from millpond.testing.daemons import free_port
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from millpond.testing.website import make_certificate

pytestmark = pytest.mark.xdist_group("proxies")

EXAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "proxies"
LARGE = 48 << 20
# Answers requests at a port that it says in its log.
SERVING = """
import http.server
class Asked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = self.headers["Host"].encode()
        self.send_response(200); self.send_header("Content-Length", str(len(said))); self.end_headers()
        self.wfile.write(said)
    def log_message(self, *_): pass
web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
print(web.server_port, flush=True)
web.serve_forever()
"""


@dataclass(frozen=True)
class Behind:
    """A server that is reached through a proxy at `port`, and a job that listens."""

    mill: MillUp
    token: str
    port: int
    content_port: int
    folder: Path
    job: str
    job_port: int

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def password(self) -> str:
        return (self.mill.data_dir / "admin-password").read_text().strip()

    def client(self, **options: str) -> httpx.Client:
        trusted = ssl.create_default_context(cafile=str(self.folder / "localhost.pem"))
        transport = httpx.HTTPTransport(verify=trusted, **options)  # type: ignore[arg-type]
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", transport=transport, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("proxies")
    for name, hosts in (("localhost", ["localhost"]), ("apps.example.org", ["*.apps.example.org"])):
        cert, key = make_certificate(folder / name, hosts=hosts)
        (folder / f"{name}.pem").write_bytes(cert.read_bytes())
        (folder / f"{name}.key").write_bytes(key.read_bytes())
        (folder / f"{name}.bundle").write_bytes(cert.read_bytes() + key.read_bytes())
    port, own, content = free_port(), free_port(), free_port()
    urls = ("--public-url", f"https://localhost:{port}", "--content-url", f"https://*.apps.example.org:{port}")
    ports = ("--port", str(own), "--content-port", str(content))
    with mill_up(folder / "data", *ports, *urls, "--trusted-proxies", "127.0.0.1") as mill:
        (known,) = json.loads((mill.home / "credentials.json").read_text())["servers"].items()
        local, token = known[0], known[1]["token"]
        with httpx.Client(base_url=f"{local}/api/v1", headers={"Authorization": f"Bearer {token}"}) as admin:
            body = {"name": "serving", "command": [sys.executable, "-c", SERVING]}
            job = admin.post("/projects/default/jobs", json=body).json()["id"]
            place = f"/projects/default/jobs/{job}"
            log = wait_until(lambda: admin.get(f"{place}/log").text.strip(), what="the job to listen")
            wait_until(lambda: admin.get(place).json()["state"] == "running", what="the server to hear of it")
            yield Behind(mill, token, port, content, folder, job, int(log))
            admin.post(f"{place}/stop")
            wait_until(lambda: admin.get(place).json()["ended_at"], what="the job's end")


def example(behind: Behind, name: str) -> str:
    """An example with the names, files and ports of this test; nothing else of it is changed."""
    text = (EXAMPLES / name).read_text().replace("mill.example.com", "localhost")
    text = text.replace("/etc/ssl/", f"{behind.folder}/")
    text = text.replace("127.0.0.1:8420", f"127.0.0.1:{local_port(behind)}")
    return text.replace("127.0.0.1:8421", f"127.0.0.1:{behind.content_port}")


def local_port(behind: Behind) -> int:
    (url,) = json.loads((behind.mill.home / "credentials.json").read_text())["servers"]
    return int(url.rpartition(":")[2])


def nginx(behind: Behind) -> list[str]:
    text = example(behind, "nginx.conf").replace("listen 443", f"listen 127.0.0.1:{behind.port}")
    (behind.folder / "site.conf").write_text(text.replace("listen 80", f"listen 127.0.0.1:{free_port()}"))
    temporary = " ".join(
        f"{kind}_temp_path {behind.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = behind.folder / "nginx.conf"
    main.write_text(
        f"user root; worker_processes 1; pid {behind.folder}/nginx.pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary} include {behind.folder}/site.conf; }}\n"
    )
    return ["nginx", "-p", str(behind.folder), "-c", str(main), "-e", "stderr", "-g", "daemon off;"]


def caddy(behind: Behind) -> list[str]:
    text = re.sub(r"^(localhost|\*\.apps\S+) \{", rf"\1:{behind.port} {{", example(behind, "Caddyfile"), flags=re.M)
    file = behind.folder / "Caddyfile"
    file.write_text("{\n admin off\n auto_https disable_redirects\n}\n" + text)
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


def haproxy(behind: Behind) -> list[str]:
    text = example(behind, "haproxy.cfg").replace("bind :443", f"bind 127.0.0.1:{behind.port}")
    file = behind.folder / "haproxy.cfg"
    file.write_text(text.replace("bind :80", f"bind 127.0.0.1:{free_port()}"))
    return ["haproxy", "-f", str(file), "-db"]


@contextmanager
def running(behind: Behind, command: list[str]) -> Iterator[None]:
    program = shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip(f"{command[0]} is not installed (dev/apt.txt)")
    log = behind.folder / f"{command[0]}.log"
    homes = {name: str(behind.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with log.open("wb") as output:
        process = subprocess.Popen([program, *command[1:]], stdout=output, stderr=output, env={**os.environ, **homes})
    try:

        def listens() -> bool:
            assert process.poll() is None, log.read_text()
            with socket.socket() as sock:
                return sock.connect_ex(("127.0.0.1", behind.port)) == 0

        wait_until(listens, what=f"{command[0]} to listen")
        yield
    finally:
        process.kill()  # asked to end, each waits for streams in its own way
        process.wait(30)


@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy], ids=["nginx", "caddy", "haproxy"])
def test_through_the_proxy(behind: Behind, proxy: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(proxy)
    monkeypatch.setenv("MILL_CA_FILE", str(behind.folder / "localhost.pem"))
    with running(behind, proxy(behind)), behind.client() as client:
        page = client.get(f"{behind.url}/")
        assert page.status_code == 200
        assert f"frame-src https://content.apps.example.org:{behind.port}" in page.headers["content-security-policy"]
        run = check_events(client)
        check_large_upload(client, run)
        check_terminal(behind)
        check_port_of_a_job(behind, client)
        check_address(behind, client)


def check_events(client: httpx.Client) -> str:
    """What happens is told at once: a proxy that held answers back would send it with the end, which never comes."""
    with client.stream("GET", "/events", params={"topics": "runs"}) as stream:
        lines = stream.iter_lines()
        next(lines)
        run = str(client.post("/projects/default/runs", json={"name": "through a proxy"}).json()["id"])
        assert any(run in line for line in lines)
    return run


def check_large_upload(client: httpx.Client, run: str) -> None:
    content = os.urandom(1 << 20) * (LARGE >> 20)
    place = f"/projects/default/runs/{run}/artifacts/large.bin"
    sent = client.put(place, content=content)
    assert sent.status_code in (200, 201, 204), sent.text


def check_terminal(behind: Behind) -> None:
    script = "stty size; read line; echo got $line"
    with (
        Api(behind.url, behind.token) as api,
        open_exec(api, "default", behind.job, ["sh", "-c", script], terminal=(101, 31)) as stream,
    ):
        stream.send(bytes([0]) + b"go\n")
        said = b"".join(one[1:] for one in stream.messages() if isinstance(one, bytes) and one[0] == STDOUT)
    assert b"31 101" in said and b"got go" in said


def check_port_of_a_job(behind: Behind, client: httpx.Client) -> None:
    opened = client.post(f"/projects/default/jobs/{behind.job}/ports/{behind.job_port}/open").json()["url"]
    parts = urlsplit(opened)
    assert parts.netloc.endswith(f".apps.example.org:{behind.port}")
    trusted = ssl.create_default_context(cafile=str(behind.folder / "apps.example.org.pem"))
    with httpx.Client(base_url=f"https://127.0.0.1:{behind.port}", verify=trusted, trust_env=False) as browser:

        def get(path: str, **headers: str) -> httpx.Response:
            return browser.get(
                path, headers={"Host": parts.netloc, **headers}, extensions={"sni_hostname": parts.hostname}
            )

        ticket = get(parts.path)
        assert ticket.status_code == 303, ticket.text
        cookie = ticket.headers["set-cookie"].partition(";")[0]
        assert get("/", Cookie=cookie).text == f"localhost:{behind.job_port}"


def check_address(behind: Behind, client: httpx.Client) -> None:
    """The address that the proxy saw, whatever the client says of itself."""
    with behind.client(local_address="127.0.0.2") as other:
        told = {"X-Forwarded-For": "192.0.2.66", "X-Real-IP": "192.0.2.66", "Forwarded": "for=192.0.2.66"}
        body = {"name": "admin", "password": behind.password}
        assert other.post("/session", json=body, headers=told).status_code == 201
    newest = next(one for one in client.get("/audit").json()["items"] if one["action"] == "session.create")
    assert newest["details"]["address"] == "127.0.0.2"
