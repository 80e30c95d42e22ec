"""One epoch over a folder or an S3 prefix: every file opened and read, shuffled, by worker processes.

A program of its own that needs nothing but s3fs (for S3): it runs in the peers' environment, the same for both.
With `--step`, a consumer that is busy for a fixed time with each batch stands for a GPU: `busy` is the share of the
time in which it was, `files_per_s` what came. Workers read ahead two batches each, as data loaders do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from typing import Any

_AHEAD = 2

Read = Callable[[str], bytes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="files to read")
    parser.add_argument("--s3", help="bucket/prefix to read instead")
    parser.add_argument("--endpoint")
    parser.add_argument("--most", type=int, help="read only so many of them")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--step", type=float, default=0.0, help="seconds that a batch keeps the consumer busy")
    options = parser.parse_args()
    names = list_s3(options.s3, options.endpoint) if options.s3 else list_folder(options.folder)
    random.Random(1).shuffle(names)
    names = names[: options.most]
    batches = [names[at : at + options.batch] for at in range(0, len(names), options.batch)]
    print(json.dumps(epoch(batches, options)))


def epoch(batches: list[list[str]], options: argparse.Namespace) -> dict[str, float]:
    fork = multiprocessing.get_context("fork")
    orders, answers = fork.Queue(), fork.Queue()
    workers = [
        fork.Process(target=work, args=(orders, answers, options.s3 and options.endpoint), daemon=True)
        for _ in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        answers.get()  # ready: neither imports nor connections are on the clock
    ahead = iter(batches)
    began = time.perf_counter()
    for _ in range(_AHEAD * len(workers)):
        orders.put(next(ahead, None))
    busy = read = 0.0
    for _ in batches:
        read += answers.get()
        orders.put(next(ahead, None))
        if options.step:
            step_began = time.perf_counter()
            time.sleep(options.step)
            busy += time.perf_counter() - step_began
    seconds = time.perf_counter() - began
    for worker in workers:
        worker.terminate()
        worker.join()
    files = sum(map(len, batches))
    return {"seconds": seconds, "files": files, "bytes": read, "files_per_s": files / seconds, "busy": busy / seconds}


def work(orders: Any, answers: Any, endpoint: str | None) -> None:
    read = s3_reader(endpoint) if endpoint else read_file
    answers.put(0)
    while True:
        batch = orders.get()
        if batch is None:
            continue
        answers.put(sum(len(read(name)) for name in batch))


def read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def s3_reader(endpoint: str) -> Read:
    store = s3_file_system(endpoint)
    store.ls("")
    return lambda name: store.cat_file(name)


def s3_file_system(endpoint: str) -> Any:
    import s3fs  # type: ignore[import-not-found]  # noqa: PLC0415 - only the peers' environment has it, and only this way of reading needs it

    return s3fs.S3FileSystem(endpoint_url=endpoint, use_listings_cache=False, skip_instance_cache=True)


def list_folder(folder: str) -> list[str]:
    return sorted(os.path.join(above, name) for above, _, names in os.walk(folder) for name in names)  # noqa: PTH118


def list_s3(prefix: str, endpoint: str) -> list[str]:
    return sorted(s3_file_system(endpoint).find(prefix))


if __name__ == "__main__":
    main()
