"""Three sites behind 1 Gbit/s, 200 and 50 Mbit/s: what goes over their lines, counted at the interfaces.

Lake (SeaweedFS) and server are at the hub; the sites `cloud` and `edge` have a line of their own beside. The floor of
each ratio is 1: the bytes themselves. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.sites import PEER_PORT, Hub, Network, until, why_not
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.jobs import get_job, submit_job
from millpond.client.logs import read_log
from millpond.wire.cache import CacheAdd, CacheAdded, CachedCommit
from millpond.wire.cache_plans import CacheWhy
from millpond.wire.jobs import Job, JobCreate

PROJECT = "default"
SITES = {"near": 1000, "cloud": 200, "edge": 50}
JOINED_MBIT = 1000
_READ = ["sh", "-c", "cat $MILL_DATA_XRAY/*/* | wc -c"]
_TICK = "import sys, time\nfor _ in range(600):\n    print(time.time(), flush=True); time.sleep(0.1)\n"


def main() -> None:
    options = _options()
    if (why := why_not()) is not None:
        sys.exit(f"Cannot run this benchmark: {why}.")
    with tempfile.TemporaryDirectory(prefix="millpond-bench-sites-") as work, ExitStack() as stack:
        print(json.dumps(Bench(Path(work), stack, options.megabytes).measure()))


class Bench:
    def __init__(self, work: Path, stack: ExitStack, megabytes: int) -> None:
        self.work, self.size = work, megabytes * 1_000_000
        self.network = Network(stack)
        for name, mbit in SITES.items():
            self.network.add_site(name, mbit)
            (work / name).mkdir()
        self.network.join("cloud", "edge", JOINED_MBIT)
        self.hub = Hub(work, self.network, stack)
        for name in SITES:
            self.hub.add_agent(name, others=[other for other in SITES if other != name])
        target = resolve_target(environ=self.hub.environment)
        self.api = stack.enter_context(Api(target.server, target.token))
        for name, mbit in SITES.items():
            self.hub.mill("link", "set", "lake", name, "--bandwidth", f"{mbit}Mbit/s")
        self.hub.mill("link", "set", "cloud", "edge", "--bandwidth", f"{JOINED_MBIT}Mbit/s")
        self.hub.mill("site", "set", "cloud", "--address", f"{self.network.address(1)}:{PEER_PORT}")
        self.hub.mill("site", "set", "edge", "--address", f"{self.network.address(1, first=False)}:{PEER_PORT}")

    def measure(self) -> dict[str, float | int]:
        self._push("xray", self.size, seed=1)
        results: dict[str, float | int] = {}
        results |= self.once()
        results |= self.second_job()
        results |= self.delta()
        results |= self.sister()
        results |= self.cut()
        results |= self.log_lag()
        results |= self.submit()
        return results

    def once(self) -> dict[str, float | int]:
        """Two people and six jobs ask for a commit at a site at once."""
        before = self.network.received("near")
        asked = [self._ask("xray", "near") for _ in range(2)]
        jobs = [self._submit("near", _READ, "xray") for _ in range(6)]
        self._wait(asked[0])
        for job in jobs:
            self._end(job)
        ratio = (self.network.received("near") - before) / self.size
        return {"once_ratio": _say("two people and six jobs, of the bytes", ratio, "×")}

    def second_job(self) -> dict[str, float | int]:
        before = self.network.received("near")
        self._end(self._submit("near", _READ, "xray"))
        came = self.network.received("near") - before
        _say("a second job at the site, of its input", 100 * came / self.size, "%")
        return {"wan_bytes_second_job": came}

    def delta(self) -> dict[str, float | int]:
        """A commit in which one file in twenty is another."""
        changed = self._change("xray")
        before = self.network.received("near")
        self._wait(self._ask("xray", "near"))
        ratio = (self.network.received("near") - before) / changed
        return {"delta_ratio": _say("the next commit, of the changed bytes", ratio, "×")}

    def sister(self) -> dict[str, float | int]:
        """Two sites joined by a fast line ask for a commit at once."""
        lake = {name: self.network.received(name) for name in ("cloud", "edge")}
        direct = self.network.received_from("edge", "cloud")
        began = time.monotonic()
        # The first commit: of the second, what lies between unchanged files in the packs would be read as well.
        asked = [self._ask("xray@main~1", name) for name in ("cloud", "edge")]
        for cached in asked:
            self._wait(cached)
        _say("two sites at once", time.monotonic() - began, "s")
        came = {name: self.network.received(name) - before for name, before in lake.items()}
        direct = self.network.received_from("edge", "cloud") - direct
        for reason in self._why("xray@main~1", "edge"):
            print(f"  {reason}")
        share = direct / (direct + came["edge"])
        return {
            "pair_lake_ratio": _say("from the lake by both, of the bytes", sum(came.values()) / self.size, "×"),
            "sister_share": _say("from the sister site, of what came", share, ""),
        }

    def cut(self) -> dict[str, float | int]:
        """The line is cut in the middle of a fill, and the server restarted meanwhile."""
        size = self.size // 2
        self._push("scans", size, seed=2)
        before = self.network.received("cloud")
        cached = self._ask("scans", "cloud")
        until(lambda: self.network.received("cloud") - before > size / 2, "half of the fill")
        self.network.cut("cloud")
        self.hub.stop()
        time.sleep(20)
        self.hub.start()
        self.network.cut("cloud", is_cut=False)
        self._wait(cached)
        ratio = (self.network.received("cloud") - before) / size
        return {"cut_refetched_ratio": _say("a fill that was cut off, of the bytes", ratio, "×")}

    def log_lag(self) -> dict[str, float | int]:
        """How old the last line of a log is that the server has, while a fill takes all of the line."""
        self._push("slides", 60_000_000, seed=3)
        job = self._submit("edge", [sys.executable, "-u", "-c", _TICK])
        until(lambda: self._log(job), "the first line of the log")
        cached = self._ask("slides", "edge")
        lags: list[float] = []
        while self._state(cached) != "ready":
            lags.append(time.time() - float(self._log(job).split()[-1]))
            time.sleep(0.2)
        return {"log_lag_s": _say("the newest line of a log", median(lags), "s")}

    def submit(self) -> dict[str, float | int]:
        """`mill submit` of a folder with 1 MB of code, at the site with the slowest line."""
        code = self.work / "code"
        code.mkdir()
        seconds = []
        for number in range(3):
            (code / "data.bin").write_bytes(random.Random(number).randbytes(1_000_000))
            began = time.monotonic()
            self.hub.mill("submit", f"quick-{number}", "--compute", "gpu-edge", "--", "true", cwd=code, at="edge")
            seconds.append(time.monotonic() - began)
        return {"submit_s": _say("mill submit", median(seconds), "s")}

    # Small steps

    def _push(self, dataset: str, size: int, *, seed: int) -> None:
        folder = self.work / "data" / dataset
        noise = random.Random(seed)
        sizes = [100_000] * (size // 200_000) + [10_000_000] * (size // 20_000_000)
        for number, one in enumerate([*sizes, size - sum(sizes)]):
            path = folder / f"{number // 100:03d}" / f"{number:05d}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(noise.randbytes(one))
        self.hub.mill("data", "init", dataset, cwd=folder)
        self.hub.mill("data", "sync", "-m", "the first", cwd=folder)

    def _change(self, dataset: str) -> int:
        folder = self.work / "data" / dataset
        noise, changed = random.Random(99), 0
        for path in sorted(folder.glob("*/*.bin"))[::20]:
            changed += path.stat().st_size
            path.write_bytes(noise.randbytes(path.stat().st_size))
        self.hub.mill("data", "sync", "-m", "the second", cwd=folder)
        return changed

    def _ask(self, dataset: str, volume: str) -> str:
        return self.api.send("POST", "/caches", CacheAdded, CacheAdd(dataset=dataset, volume=volume)).cached.id

    def _state(self, cached: str) -> str:
        found = self.api.get(f"/caches/{cached}", CachedCommit)
        if found.state.value == "failed":
            raise RuntimeError(f"the fill failed: {found.problem}")
        return found.state.value

    def _wait(self, cached: str) -> None:
        until(lambda: self._state(cached) == "ready", "the fill")

    def _why(self, dataset: str, volume: str) -> list[str]:
        found = self.api.get("/cache-why", CacheWhy, dataset=dataset)
        return next(one.reasons for one in found.volumes if one.volume == volume)

    def _submit(self, site: str, command: list[str], dataset: str | None = None) -> Job:
        wanted = {"command": command, "compute": f"gpu-{site}", "inputs": [dataset] if dataset else []}
        return submit_job(self.api, PROJECT, JobCreate.model_validate(wanted))

    def _end(self, job: Job) -> None:
        ended = until(lambda: _if(get_job(self.api, PROJECT, job.id), lambda one: one.state.is_finished), "the job")
        if ended.state.value != "succeeded":
            raise RuntimeError(f"job {ended.name} {ended.state.value}: {ended.reason}")

    def _log(self, job: Job) -> str:
        return read_log(self.api, PROJECT, job.id).content.decode()


def _if(job: Job, holds: Callable[[Job], bool]) -> Job | None:
    return job if holds(job) else None


def _say(what: str, value: float, unit: str) -> float:
    print(f"{what:<45} {value:>10.3f} {unit}", flush=True)
    return round(value, 4)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=400, help="size of the dataset")
    return parser.parse_args()


if __name__ == "__main__":
    main()
