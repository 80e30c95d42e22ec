"""The load of `bench_server`, as a process of its own: agents that speak the real protocol, people, open pages.

It reads a plan from standard input, says when it begins, and writes what it measured to a file. Its jobs are simulated:
an agent says that a job runs, sends its log and its usage, and says some seconds later that it has ended.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import uvloop

from benchmarks.lean_http import Answer, LeanClient

POLL_SECONDS = 20
ANSWER_SECONDS = 30.0
# Of each hundred requests of people: what they look at.
MIX = {"jobs": 25, "job": 15, "runs": 15, "run": 15, "datasets": 10, "dataset": 5, "home": 5, "log": 5, "why": 5}
TOPICS = "jobs,runs,computes,datasets,caches"


@dataclass(frozen=True, slots=True)
class Plan:
    """`agents` and `people` are credentials; `runs` and `datasets` what is there to look at."""

    servers: list[str]
    agents: list[str]
    people: list[str]
    runs: list[str]
    datasets: list[str]
    seconds: float
    jobs: int
    reads_per_second: float
    viewers: int
    job_seconds: float
    seed: int = 1


@dataclass
class Seen:
    """What happened. Latencies are in milliseconds, by kind of request."""

    took: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    submitted: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    twice: int = 0
    events: int = 0
    streams: int = 0
    syncs: int = 0
    # How late the generator itself was with requests that it was to send.
    late: list[float] = field(default_factory=list)

    async def timed(self, kind: str, call: Awaitable[Answer]) -> Answer | None:
        began = time.perf_counter()
        try:
            answer = await call
        except (OSError, TimeoutError) as error:
            self.errors[f"{kind}: {type(error).__name__}"] += 1
            return None
        self.took[kind].append((time.perf_counter() - began) * 1e3)
        if not answer.is_success:
            self.errors[f"{kind}: {answer.status} {answer.text[:120]}"] += 1
            return None
        return answer


class Agent:
    """One agent of one compute, with as many simulated jobs as the server places on it."""

    def __init__(self, url: str, credential: str, number: int, plan: Plan, seen: Seen) -> None:
        self._plan, self._seen, self._number = plan, seen, number
        self._client = LeanClient(url, credential, headers={"X-Mill-Protocol": "1"})
        self._sequence, self._revision = 0, ""
        self._placements: dict[str, dict[str, Any]] = {}
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        while True:
            # News are told at once and never given up; what only waits for the server is.
            hurry = self._news.is_set() or not self._sequence
            self._news.clear()
            asked = asyncio.create_task(self._sync(0 if hurry else POLL_SECONDS))
            if not hurry:
                news = asyncio.create_task(self._news.wait())
                await asyncio.wait({asked, news}, return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if not asked.done():
                    asked.cancel()
                    continue
            await asked

    async def _sync(self, wait: int) -> None:
        self._sequence += 1
        body = {
            "protocol": 1, "version": "bench", "instance": f"bench-{self._number}", "sequence": self._sequence,
            "boot_id": "bench", "driver": "process", "capabilities": {"ports": True, "shared_trust": False},
            "nodes": [{"name": f"node-{self._number:03}", "cpus": 8, "memory_bytes": 32 << 30}],
            "placements": list(self._placements.values()), "seen_revision": self._revision, "wait_seconds": wait,
        }  # fmt: skip
        try:
            answer = await self._client.post("/agents/sync", body, timeout=wait + ANSWER_SECONDS)
        except (OSError, TimeoutError) as error:
            self._seen.errors[f"sync: {type(error).__name__}"] += 1
            await asyncio.sleep(1)
            return
        self._seen.syncs += 1
        if not answer.is_success:
            self._seen.errors[f"sync: {answer.status} {answer.text[:120]}"] += 1
            await asyncio.sleep(1)
            return
        desired = answer.json()
        self._revision = desired["revision"]
        wanted = {placement["id"]: placement for placement in desired["placements"]}
        for known in [known for known in self._placements if known not in wanted]:
            del self._placements[known]
        for placement in wanted.values():
            if placement["id"] not in self._placements:
                self._begin(placement)

    def _begin(self, placement: dict[str, Any]) -> None:
        told = {"id": placement["id"], "state": "running", "started_at": now(), "log_bytes": 0}
        self._placements[placement["id"]] = told
        self._news.set()
        task = asyncio.create_task(self._job(placement, told))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _job(self, placement: dict[str, Any], told: dict[str, Any]) -> None:
        lines = b"".join(b"epoch %d loss 0.6931 accuracy 0.512\n" % number for number in range(20))
        path = f"/placements/{placement['id']}"
        put = self._client.request("PUT", f"{path}/log", params={"offset": "0"}, body=lines)
        await self._seen.timed("put_log", put)
        sample = {"at": now(), "cpu_percent": 80.0, "memory_bytes": 1 << 30, "read_bytes": 0, "write_bytes": 0}
        await self._seen.timed("usage", self._client.post(f"{path}/usage", {"samples": [sample]}))
        await asyncio.sleep(self._plan.job_seconds * random.uniform(0.5, 1.5))
        if placement["job_id"] in self._seen.ended:
            self._seen.twice += 1
        self._seen.ended.add(placement["job_id"])
        told |= {"state": "finished", "exited_at": now(), "exit_code": 0, "log_bytes": len(lines)}
        self._news.set()


class People:
    """Those who submit and look; each request goes to the next server."""

    def __init__(self, plan: Plan, seen: Seen) -> None:
        self._plan, self._seen = plan, seen
        self._dice = random.Random(plan.seed)
        self._clients = [LeanClient(url, token) for token in plan.people for url in plan.servers]

    def submit(self) -> Awaitable[None]:
        return self._submit(self._dice.choice(self._clients))

    def look(self) -> Awaitable[None]:
        kind = self._dice.choices(list(MIX), weights=list(MIX.values()))[0]
        return self._look(kind, self._dice.choice(self._clients))

    async def _submit(self, via: LeanClient) -> None:
        answer = await self._seen.timed("submit", via.post("/projects/default/jobs", {"command": ["true"]}))
        if answer is not None:
            self._seen.submitted.append(answer.json()["id"])

    async def _look(self, kind: str, via: LeanClient) -> None:
        await self._seen.timed(kind, self._asked(kind, via))

    async def _asked(self, kind: str, via: LeanClient) -> Answer:
        job = self._dice.choice(self._seen.submitted) if self._seen.submitted else None
        match kind:
            case "runs":
                columns = "metrics.acc, params.lr"
                return await via.get("/projects/default/runs", sort="metrics.acc desc", columns=columns, limit="100")
            case "run":
                run = self._dice.choice(self._plan.runs)
                await via.get(f"/projects/default/runs/{run}")
                body = {"runs": [run], "keys": ["acc"], "limit": 1000}
                return await via.post("/projects/default/runs/metrics", body)
            case "datasets":
                return await via.get("/datasets", project="default", limit="100")
            case "dataset":
                return await via.get(f"/projects/default/datasets/{self._dice.choice(self._plan.datasets)}")
            case "home":
                return await via.get("/home")
            case "job" if job:
                return await via.get(f"/projects/default/jobs/{job}")
            case "log" if job:
                return await via.get(f"/projects/default/jobs/{job}/log")
            case "why" if job:
                return await via.get(f"/projects/default/jobs/{job}/why")
            case _:
                return await via.get("/jobs", limit="50")


async def watch(url: str, token: str, seen: Seen) -> None:
    """One page that is open: reads its stream of events, and comes back when the server ends it."""
    parts = urlsplit(url)
    asked = (
        f"GET /api/v1/events?topics={TOPICS} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    while True:
        try:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(asked.encode())
            status = await reader.readline()
            if b" 200 " not in status:
                seen.errors[f"events: {status.decode().strip()}"] += 1
                return
            seen.streams += 1
            while line := await reader.readline():
                seen.events += line.startswith(b"event:")
            seen.streams -= 1
            writer.close()
        except OSError as error:
            seen.errors[f"events: {type(error).__name__}"] += 1
        await asyncio.sleep(1)


async def steadily(per_second: float, seconds: float, begin: Callable[[], Awaitable[None]], seen: Seen) -> None:
    """Begin so many a second whatever became of those before, and wait for all."""
    began, tasks = time.perf_counter(), set()
    for number in range(round(per_second * seconds)):
        due = began + number / per_second
        if (rest := due - time.perf_counter()) > 0:
            await asyncio.sleep(rest)
        seen.late.append((time.perf_counter() - due) * 1e3)
        task = asyncio.ensure_future(begin())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


async def idle(plan: Plan) -> dict[str, list[float]]:
    """The same calls one after the other, with nothing else going on."""
    seen = Seen()
    people = People(plan, seen)
    for _ in range(60):
        await people.submit()
    for kind in MIX:
        for _ in range(60):
            await people._look(kind, people._clients[0])
    return dict(seen.took)


async def load(plan: Plan) -> dict[str, Any]:
    seen = Seen()
    people = People(plan, seen)
    crowd = [
        asyncio.create_task(Agent(plan.servers[n % len(plan.servers)], one, n, plan, seen).run())
        for n, one in enumerate(plan.agents)
    ]
    crowd += [
        asyncio.create_task(watch(plan.servers[n % len(plan.servers)], plan.people[n % len(plan.people)], seen))
        for n in range(plan.viewers)
    ]
    await asyncio.sleep(5)
    calm = await idle(plan)
    print(json.dumps({"ready": True}), flush=True)
    began = time.perf_counter()
    await asyncio.gather(
        steadily(plan.jobs / plan.seconds, plan.seconds, people.submit, seen),
        steadily(plan.reads_per_second, plan.seconds, people.look, seen),
    )
    seconds = time.perf_counter() - began
    deadline = time.perf_counter() + 120
    while len(seen.ended & set(seen.submitted)) < len(seen.submitted) and time.perf_counter() < deadline:
        await asyncio.sleep(0.2)
    streams = seen.streams
    for task in crowd:
        if task.done():  # none ends by itself
            seen.errors[f"ended early: {task.exception()!r}"] += 1
        task.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)
    used = psutil.Process().cpu_times()
    return {
        "seconds": seconds, "idle": calm, "took": dict(seen.took), "errors": dict(seen.errors),
        "submitted": len(seen.submitted), "ended": len(seen.ended & set(seen.submitted)), "twice": seen.twice,
        "events": seen.events, "streams": streams, "syncs": seen.syncs, "late": seen.late,
        "cpu_seconds": used.user + used.system,
    }  # fmt: skip


def now() -> str:
    return datetime.now(UTC).isoformat()


def as_text(plan: Plan) -> str:
    return json.dumps(asdict(plan))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(uvloop.run(load(Plan(**json.loads(sys.stdin.read()))))))
