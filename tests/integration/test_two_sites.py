"""Two sites with an agent and a volume each: bytes come from the nearer place, jobs use volumes that are near."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.services.jobs import schedule
from millpond.testing.builders_data import a_commit
from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until

SITES = ("berlin", "paris")
CHANCE = random.Random(4)
FILES = {f"{n % 7}/{n:03d}": CHANCE.randbytes(100_000) for n in range(50)}


class TwoSites:
    """Both volumes are seen at the same path by both agents, as mounts of one file server would be."""

    def __init__(self, root: Path, server: RunningServer, stack: ExitStack) -> None:
        self._server, self._root = server, root
        for site in SITES:
            added = add_agent(server.deps.db, f"gpu-{site}", site=site, now=server.deps.clock.now(), seen=False)
            (root / f"{site}.token").touch(0o600)
            (root / f"{site}.token").write_text(added.token)
            (root / site).mkdir()
            self._start(site, stack)
            self.ask("POST", "/volumes", json={"name": site, "path": str(root / site), "site": site})
        wait_until(lambda: all(self.volume(site)["connected"] for site in SITES), what="both volumes", within=60)

    def _start(self, site: str, stack: ExitStack) -> None:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self._server.url, "--node", f"gpu-{site}"]
        command += ["--token-file", str(self._root / f"{site}.token"), "--state-dir", str(self._root / f"state-{site}")]
        command += ["--gpus", "1"] if site == "paris" else []
        log = stack.enter_context((self._root / f"{site}.log").open("ab"))
        process = stack.enter_context(subprocess.Popen(command, stderr=log))
        stack.callback(process.kill)

    def ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self._server.admin.request(method, path, **options)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    def volume(self, name: str) -> dict[str, Any]:
        return self.ask("GET", f"/volumes/{name}")

    def commit(self, dataset: str, files: Mapping[str, bytes]) -> str:
        """A new commit, in written form."""
        return f"default/{dataset}@{a_commit(self._server.deps, files, dataset=dataset).id}"

    def cache(self, dataset: str, volume: str) -> Path:
        """Where the commit is once it is there."""
        cached = self.ask("POST", "/caches", json={"dataset": dataset, "volume": volume})["cached"]
        wait_until(
            lambda: self.ask("GET", f"/caches/{cached['id']}")["state"] == "ready",
            what=f"{dataset} on {volume}",
            within=60,
        )
        return Path(cached["path"])

    def serves(self, compute: str, volume: str) -> bool:
        computes = self.ask("GET", "/topology")["computes"]
        found = next(one for one in computes if one["name"] == compute)["volumes"]
        return bool(next(one for one in found if one["volume"] == volume)["serves"])

    def has_ended(self, job: str) -> bool:
        schedule.run_once(self._server.deps, self._server.deps.clock.now())
        return self.ask("GET", job)["ended_at"] is not None

    def has_state(self, job: str, state: str) -> bool:
        schedule.run_once(self._server.deps, self._server.deps.clock.now())
        return bool(self.ask("GET", job)["state"] == state)

    def log(self, job: str) -> str:
        return self._server.admin.get(f"{job}/log").text

    def bandwidth(self, volume: str) -> dict[str, float]:
        found = self.ask("GET", f"/volumes/{volume}/usage")["bandwidth"]
        return {one["source"]: one["bytes_per_second"] for one in found}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoSites]:
    root = tmp_path_factory.mktemp("sites")
    with running_server(root / "data") as server, ExitStack() as stack:
        a_commit(server.deps, FILES)
        a_commit(server.deps, {"hello": b"hello from berlin"}, dataset="ct")
        yield TwoSites(root, server, stack)


def test_bytes_come_from_the_nearer_place(sites: TwoSites) -> None:
    there = sites.cache("xray", "berlin")
    assert set(sites.bandwidth("berlin")) == {"lake"}
    assert not sites.serves("gpu-paris", "berlin")

    sites.ask("PUT", "/links/berlin/paris", json={"bits_per_second": 25 * 10**9})
    sites.ask("PUT", "/links/lake/paris", json={"bits_per_second": 10**6})
    wait_until(lambda: sites.serves("gpu-paris", "berlin"), what="the look at berlin from paris", within=60)

    damaged = there / "3/003"  # as a disk does it: neither time nor size tells
    before = damaged.stat()
    damaged.chmod(0o644)
    damaged.write_bytes(bytes(before.st_size))
    damaged.chmod(0o444)
    os.utime(damaged, ns=(before.st_atime_ns, before.st_mtime_ns))

    here = sites.cache("xray", "paris")
    assert here != there
    assert {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()} == FILES
    assert (here / "2/002").stat().st_ino != (there / "2/002").stat().st_ino
    assert set(sites.bandwidth("paris")) == {"berlin"}, "nearly all of it was copied"
    (link,) = [one for one in sites.ask("GET", "/links")["items"] if one["a"] == "berlin"]
    assert link["measured_bytes_per_second"] > 0


def test_what_the_volume_itself_has_is_linked_and_not_copied_from_elsewhere(sites: TwoSites) -> None:
    sites.ask("PUT", "/links/berlin/paris", json={"bits_per_second": 25 * 10**9})
    sites.ask("PUT", "/links/lake/paris", json={"price_per_gb": 1000})
    old = sites.cache(sites.commit("mr", FILES), "paris")
    name = sites.commit("mr", FILES | {"0/000": b"changed"})
    sites.cache(name, "berlin")
    wait_until(lambda: sites.serves("gpu-paris", "berlin"), what="the look at berlin from paris", within=60)
    asked = sites.ask("POST", "/caches", json={"dataset": name, "volume": "paris"})
    assert any("fetched from volume berlin" in reason for reason in asked["reasons"])
    new = sites.cache(name, "paris")
    assert (new / "0/000").read_bytes() == b"changed"
    assert all((new / path).stat().st_ino == (old / path).stat().st_ino for path in FILES if path != "0/000")


def test_a_job_reads_what_is_cached_at_a_near_site(sites: TwoSites) -> None:
    sites.ask("PUT", "/links/berlin/paris", json={"bits_per_second": 25 * 10**9})
    there = sites.cache("ct", "berlin")
    wait_until(lambda: sites.serves("gpu-paris", "berlin"), what="the look at berlin from paris", within=60)
    asked = {"name": "reader", "command": ["sh", "-c", "echo $MILL_DATA_CT; cat $MILL_DATA_CT/hello"]}
    sites.ask("POST", "/projects/default/jobs", json={**asked, "inputs": ["ct"], "gpu_hundredths": 100})
    job = "/projects/default/jobs/reader"
    wait_until(lambda: sites.has_ended(job), what="the job's end", within=60)
    done = sites.ask("GET", job)
    assert (done["state"], done["compute"], done["problem"]) == ("succeeded", "gpu-paris", None)
    log = sites.log(job)
    assert log == f"{there}\nhello from berlin"


def test_data_is_not_fetched_over_an_expensive_link(sites: TwoSites) -> None:
    """Without prices the first of two equal sites would be taken."""
    sites.ask("DELETE", "/links/berlin/paris")
    sites.ask("PUT", "/links/lake/berlin", json={"bits_per_second": 10**9, "price_per_gb": 1000})
    sites.ask("PUT", "/links/lake/paris", json={"bits_per_second": 10**9, "price_per_gb": 0.01})
    data = sites.commit("priced", {"a.bin": CHANCE.randbytes(3_000_000)})
    body = {"command": ["sh", "-c", "wc -c < $MILL_DATA_PRICED/a.bin"], "inputs": [data]}
    tried = sites.ask("POST", "/projects/default/jobs/dry-run", json=body)["places"]
    assert [(one["place"], one["chosen"]) for one in tried] == [("gpu-paris", True), ("gpu-berlin", False)]
    assert tried[1]["egress_cost"] == pytest.approx(3.0)
    job = sites.ask("POST", "/projects/default/jobs", json={"name": "priced", **body})
    path = f"/projects/default/jobs/{job['id']}"
    wait_until(lambda: sites.has_ended(path), what="the job", within=60)
    assert (sites.ask("GET", path)["compute"], sites.log(path)) == ("gpu-paris", "3000000\n")
    chosen = [one for one in sites.ask("GET", f"{path}/why")["places"] if one["chosen"]]
    assert [one["place"] for one in chosen] == ["gpu-paris"]


def test_a_queue_bursts_to_the_other_site(sites: TwoSites) -> None:
    cpus = sites.ask("GET", "/computes/gpu-berlin")["cpus"]
    holder = {"name": "holder", "command": ["sleep", "600"], "compute": "gpu-berlin", "cpu": cpus}
    held = f"/projects/default/jobs/{sites.ask('POST', '/projects/default/jobs', json=holder)['id']}"
    wait_until(lambda: sites.has_state(held, "running"), what="the job in the way", within=60)
    sites.ask("PUT", "/templates/ours", json={"compute": "gpu-berlin", "cpu": 1})
    sites.ask("PUT", "/templates/theirs", json={"compute": "gpu-paris", "cpu": 1, "env": {"WHERE": "paris"}})
    entries = [{"template": "ours", "patience_seconds": 2}, {"template": "theirs"}]
    sites.ask("PUT", "/queues/burst", json={"templates": entries})
    body = {"name": "bursting", "command": ["sh", "-c", "echo $WHERE"], "on": "burst"}
    path = f"/projects/default/jobs/{sites.ask('POST', '/projects/default/jobs', json=body)['id']}"
    assert sites.has_state(path, "queued")
    assert sites.ask("GET", f"{path}/why")["rule"] == "template"
    wait_until(lambda: sites.has_ended(path), what="the job", within=60)
    ended = sites.ask("GET", path)
    assert (ended["compute"], ended["template"], sites.log(path)) == ("gpu-paris", "theirs", "paris\n")
    sites.ask("POST", f"{held}/stop")
