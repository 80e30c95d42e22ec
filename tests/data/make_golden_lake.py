"""Makes a golden lake: a small lake as a real server and client write it, and what must be read from it for ever.

    python -m tests.data.make_golden_lake DIRECTORY

`golden-lake-v1` was made by the first version of the format. It is never made again: a change of the format gets a
golden lake of its own beside it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from millpond.lake.digests import digest_of
from millpond.testing.lake import Thing, write_things
from millpond.testing.up import mill_up
from tests.integration.real_lake import mill, tree


def first_version() -> list[Thing]:
    """Every kind of entry and content; enough entries for an index page, with content that takes no room."""
    return [
        Thing(b"empty"),
        Thing(b"nothing", b""),
        Thing(b"small.txt", b"a small file\n"),
        Thing(b"run.sh", b"#!/bin/sh\n", executable=True),
        Thing(b"link", b"small.txt", link=True),
        Thing(b"outside", b"../../outside", link=True),
        Thing("caf\u00e9".encode(), b"composed"),
        Thing("cafe\u0301".encode(), b"decomposed"),
        Thing(b"raw\xff\x01\n", b"bytes"),
        Thing(b"large.txt", b"a line of a large file\n" * 150_000),
        Thing(b"noise", bytes(digest_of(b"%d" % n)[0] for n in range(600))),
        *(Thing(b"many/%04d" % n, b"") for n in range(3000)),
    ]


def second_version() -> list[Thing]:
    return [Thing(b"many/1500", b"not empty any more"), Thing(b"added", b"later")]


def described(things: list[Thing]) -> list[list[object]]:
    """Path in hex, kind, and the digest of what it holds."""
    return [[thing.path.hex(), kind(thing), digest_of(thing.content or b"").hex()] for thing in things]


def kind(thing: Thing) -> str:
    if thing.content is None:
        return "directory"
    return "link" if thing.link else "executable" if thing.executable else "file"


def make(directory: Path) -> None:
    expected: dict[str, list[list[object]]] = {}
    with tempfile.TemporaryDirectory() as temporary, mill_up(Path(temporary) / "data", "--no-agent") as up:
        folder = Path(temporary) / "golden"
        for things in (first_version(), second_version()):
            write_things(folder, things)
            if not expected:
                mill(up, folder, "data", "init")
            commit = json.loads(mill(up, folder, "data", "sync", "--json"))["id"]
            expected[commit] = described(tree(folder))
        up.stop()
        shutil.copytree(up.data_dir / "lake", directory / "lake", ignore=shutil.ignore_patterns(".unfinished"))
    (directory / "expected.json").write_text(json.dumps(_without_many(expected), indent=1))


def _without_many(expected: dict[str, list[list[object]]]) -> dict[str, object]:
    """Three thousand empty files are better counted than listed."""
    empty = digest_of(b"").hex()
    many = b"many/".hex()
    return {
        commit: {
            "empty files below many/": sum(str(row[0]).startswith(many) and row[2] == empty for row in rows),
            "everything else": [row for row in rows if not (str(row[0]).startswith(many) and row[2] == empty)],
        }
        for commit, rows in expected.items()
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]))
