"""TR-4858, sections 4.8 to 4.10, live: four teams share sixteen GPUs of two machines, with real servers and agents.

    python dev/tr4858.py [--stable 30] [--order d-1-gggg,d-2-gg,d-3-gg] [--one-by-one]

Starts `mill up --no-agent` and two agents that declare eight GPUs each in a temporary directory, submits the jobs of
the report through the command line, and checks every state the report describes: reached within five seconds,
unchanged for as long as `--stable` says, nothing preempted that should not be. Exits with 1 if one is not.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUOTAS = {"team-a": 4, "team-b": 2, "team-c": 2, "team-d": 8}
NODES = ("dgx1-1", "dgx1-2")
# Name, GPUs, interactive; the letter names the team.
SECTION_4_8 = (
    ("a-1-1-jupyter", "1", True), ("a-1-g", "1", False), ("a-2-gg", "2", False), ("b-1-g06", "0.6", True),
    ("b-2-g04", "0.4", True), ("b-3-g", "1", False), ("b-4-gg", "2", False), ("c-1-g05", "0.5", True),
    ("c-2-g03", "0.3", True), ("c-3-g02", "0.2", True), ("c-4-gg", "2", False), ("c-5-g", "1", False),
    ("d-1-gggg", "4", False),
)  # fmt: skip
SECTION_4_9 = (("d-2-gg", "2", False), ("d-3-gg", "2", False))
SECTION_4_10 = (("a-3-gg", "2", False), ("a-4-gg", "2", False), ("b-5-gg", "2", False), ("c-6-gg", "2", False))
TEAM_D = ("d-1-gggg", "d-2-gg", "d-3-gg")
# Either may be chosen in each pair.
PAIRS = (("b-4-gg", "b-5-gg"), ("c-4-gg", "c-6-gg"))
MILL = str(Path(sys.executable).with_name("mill"))

State = Mapping[str, Mapping[str, Any]]


class Failed(Exception):
    """A state that the report describes was not reached, or did not last."""


class Cluster:
    """A server and two agents in a directory of their own."""

    def __init__(self, directory: Path, within: float) -> None:
        self.directory, self.within = directory, within
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MILL_")}
        self._env = {**kept, "MILL_HOME": str(directory / "home"), "MILL_SERVER": self.url, "NO_PROXY": "*"}
        # Submitted from here: an empty directory, so no code is sent with the jobs.
        self._cwd = directory / "work"
        self._cwd.mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self._spawn("up", "--no-agent", "--port", str(self.port), "--data-dir", str(self.directory / "server"))
        self.wait(lambda: self.try_mill("whoami"), 60, "the server")
        self.mill("site", "add", "lab")
        for node in NODES:
            token = self.directory / f"{node}.token"
            token.write_text(self.mill("compute", "token", "--site", "lab"))
            token.chmod(0o600)
            self._spawn(
                "agent", "--server", self.url, "--token-file", str(token), "--state-dir", str(self.directory / node),
                "--site", "lab", "--node", node, "--driver", "process", "--gpus", "8", "--cpus", "64",
                "--memory", "256G",
            )  # fmt: skip
        self.wait(lambda: self._connected() == len(NODES), 60, "the agents")

    def stop(self) -> None:
        for team in QUOTAS:
            left = [name for name, job in self.jobs().items() if job["project"] == team and _lives(job)]
            self.try_mill("stop", "-p", team, *left)
        self.wait(lambda: not any(job["node"] for job in self.jobs().values() if _lives(job)), 60, "the jobs' end")
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(30)

    def mill(self, *arguments: str) -> str:
        done = subprocess.run([MILL, *arguments], env=self._env, cwd=self._cwd, capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"mill {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def try_mill(self, *arguments: str) -> bool:
        return not subprocess.run([MILL, *arguments], env=self._env, cwd=self._cwd, capture_output=True).returncode

    def jobs(self) -> State:
        listed = json.loads(self.mill("list", "-A", "--json"))["items"]
        return {job["name"]: job for job in listed}

    def submit(self, name: str, gpus: str, interactive: bool) -> None:
        kind = ["--interactive"] if interactive else []
        self.mill("submit", name, "-g", gpus, "-p", f"team-{name[0]}", *kind, "--", "sleep", "infinity")

    def wait(self, is_so: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {seconds:g} s")
            time.sleep(0.2)

    def _connected(self) -> int:
        listed = json.loads(self.mill("compute", "list", "--json"))["items"]
        return sum(1 for one in listed if one["connected"])

    def _spawn(self, *arguments: str) -> None:
        with (self.directory / f"{len(self._processes)}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen([MILL, *arguments], env=self._env, cwd=self._cwd, stdout=log, stderr=log)
            )


@contextmanager
def running_cluster(within: float = 5.0) -> Iterator[Cluster]:
    """`within`: so many seconds each state may take."""
    directory = Path(tempfile.mkdtemp(prefix="tr4858-"))
    cluster = Cluster(directory, within)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(directory, ignore_errors=True)


def run(cluster: Cluster, *, order: Sequence[str] = TEAM_D, one_by_one: bool = False, stable: float = 30.0) -> None:
    """All three sections; Failed with what was seen instead."""
    for team, quota in QUOTAS.items():
        cluster.mill("project", "create", team, "--quota", str(quota))
    section_4_8(cluster, stable)
    first = section_4_9(cluster, stable)
    section_4_10(cluster, first, order, one_by_one=one_by_one, stable=stable)


def section_4_8(cluster: Cluster, stable: float) -> None:
    """Thirteen jobs on sixteen GPUs: teams b and c are over quota."""
    for job in SECTION_4_8:
        cluster.submit(*job)
    expect(cluster, {"team-a": 4, "team-b": 4, "team-c": 4, "team-d": 4}, set(), stable, "4.8")
    jobs = cluster.jobs()
    for parts in (("b-1-g06", "b-2-g04"), ("c-1-g05", "c-2-g03", "c-3-g02")):
        places = {(jobs[name]["node"], tuple(jobs[name]["gpu_ids"])) for name in parts}
        _check(len(places) == 1, f"4.8: {', '.join(parts)} do not share one GPU: {places}")


def section_4_9(cluster: Cluster, stable: float) -> set[str]:
    """Team d claims its quota: one job of b and one of c make room, whichever first. Those two."""
    cluster.submit(*SECTION_4_9[0])
    either = {"b-4-gg", "c-4-gg"}
    cluster.wait(lambda: len(queued(cluster.jobs()) & either) == 1, cluster.within, "4.9: one job queued")
    _check(queued(cluster.jobs()) <= either, f"4.9: queued {queued(cluster.jobs())}")
    cluster.submit(*SECTION_4_9[1])
    expect(cluster, {"team-a": 4, "team-b": 2, "team-c": 2, "team-d": 8}, either, stable, "4.9", preempted=either)
    return either


def section_4_10(
    cluster: Cluster, preempted: set[str], order: Sequence[str], *, one_by_one: bool, stable: float
) -> None:  # fmt: skip
    """More than there is; then team d leaves: the others share its GPUs by quota."""
    for job in SECTION_4_10:
        cluster.submit(*job)
    waiting = {name for name, _, _ in SECTION_4_10} | preempted
    quotas = {"team-a": 4, "team-b": 2, "team-c": 2, "team-d": 8}
    expect(cluster, quotas, waiting, stable, "4.10, before", preempted=preempted)
    for names in [[name] for name in order] if one_by_one else [order]:
        cluster.mill("delete", "-p", "team-d", *names, "--yes")
    cluster.wait(lambda: _shared(cluster.jobs()), cluster.within, "4.10: a 8, b 4, c 4")
    _lasts(lambda: _shared(cluster.jobs()), stable, "4.10")
    seen = {name for name, job in cluster.jobs().items() if job["preemptions"]}
    _check(seen == preempted, f"4.10: preempted {seen}")


def expect(
    cluster: Cluster,
    allocated: Mapping[str, float],
    waiting: set[str],
    stable: float,
    what: str,
    *,
    preempted: Set[str] = frozenset(),
) -> None:
    """The state is reached in time, lasts, and nobody else was preempted on the way."""

    def is_so() -> bool:
        jobs = cluster.jobs()
        return held(jobs) == dict(allocated) and queued(jobs) == waiting

    try:
        cluster.wait(is_so, cluster.within, what)
    except Failed as error:
        jobs = cluster.jobs()
        raise Failed(f"{error}: held {held(jobs)}, queued {queued(jobs)}") from None
    _lasts(is_so, stable, what)
    seen = {name for name, job in cluster.jobs().items() if job["preemptions"]}
    _check(seen == set(preempted), f"{what}: preempted {seen}, not {set(preempted)}")


def held(jobs: State) -> dict[str, float]:
    """GPUs of running jobs, by team."""
    found = dict.fromkeys(QUOTAS, 0.0)
    for job in jobs.values():
        if job["state"] == "running":
            found[job["project"]] = round(found[job["project"]] + job["gpus"], 2)
    return found


def queued(jobs: State) -> set[str]:
    return {name for name, job in jobs.items() if job["state"] == "queued"}


def _shared(jobs: State) -> bool:
    left = queued(jobs)
    one_of_each = len(left) == len(PAIRS) and all(len(left & set(pair)) == 1 for pair in PAIRS)
    return held(jobs) == {"team-a": 8, "team-b": 4, "team-c": 4, "team-d": 0} and one_of_each


def _lasts(is_so: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _check(is_so(), f"{what}: did not last")
        time.sleep(0.5)


def _lives(job: Mapping[str, Any]) -> bool:
    return job["state"] not in ("succeeded", "failed", "cancelled")


def _check(is_so: bool, problem: str) -> None:
    if not is_so:
        raise Failed(problem)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--stable", type=float, default=30.0, help="seconds that each state must last")
    parser.add_argument("--order", default=",".join(TEAM_D), help="in which team d's jobs are deleted")
    parser.add_argument("--one-by-one", action="store_true", help="delete them one after the other")
    parser.add_argument("--all-orders", action="store_true", help="every order, at once and one by one")
    asked = parser.parse_args()
    orders = list(itertools.permutations(TEAM_D)) if asked.all_orders else [tuple(asked.order.split(","))]
    ways = (False, True) if asked.all_orders else (asked.one_by_one,)
    for order, one_by_one in itertools.product(orders, ways):
        try:
            with running_cluster() as cluster:
                run(cluster, order=order, one_by_one=one_by_one, stable=asked.stable)
        except Failed as error:
            print(f"failed: {error}", file=sys.stderr)
            return 1
        print(f"passed: team-d deleted {'one by one' if one_by_one else 'at once'} as {', '.join(order)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
