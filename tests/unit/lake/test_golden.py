"""Golden vectors: ids and cut points that must never change, whatever the versions of the libraries below.

To look at a deliberate change of the format, run this file as a program: it prints the vectors.
"""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.lake.chunking import cut
from millpond.lake.chunks import ChunkList, encode_chunk_list
from millpond.lake.commits import new_commit
from millpond.lake.digests import digest_of, id_of
from millpond.lake.locators import encode_locator
from millpond.lake.pages import encode_leaf
from millpond.lake.records import Create, DatasetRecord, Move, encode_record
from millpond.model.dataset import BlobPlace, DatasetKind, RefType
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.lake import MemoryPages, many_files

GOLDEN = Path(__file__).parent / "golden" / "vectors.json"


def small_tree() -> list[Entry]:
    return [
        Entry(b"bin/run", Kind.EXECUTABLE, 5, Content.BLOB, digest_of(b"hello")),
        Entry(b"big", Kind.FILE, 3 << 20, Content.CHUNKS, digest_of(b"list")),
        Entry(b"caf\xc3\xa9", Kind.FILE, 5, Content.BLOB, digest_of(b"hello")),
        Entry(b"empty", Kind.DIRECTORY),
        Entry(b"external", Kind.FILE, 7, Content.EXTERNAL, digest_of(b"descriptor")),
        Entry(b"link", Kind.SYMLINK, 7, Content.BLOB, digest_of(b"bin/run")),
        Entry(b"nothing", Kind.FILE),
        Entry(b"raw\xff\x01", Kind.FILE, 1, Content.BLOB, digest_of(b"x")),
    ]


def vectors() -> dict[str, Any]:
    entries = sorted(small_tree(), key=lambda entry: entry.path)
    chunks = ChunkList([digest_of(b"a"), digest_of(b"b")], [300_000, 5])
    place = BlobPlace(digest_of(b"a"), "00112233445566778899aabbccddeeff", 10, 20, 30, 1)
    at = datetime(2026, 11, 15, 20, 0, 0, tzinfo=UTC)
    commit = new_commit(
        dataset_id="d1", tree=id_of(encode_leaf(entries)), parents=[], author="maria", time=at, message="Été",
        files=7, bytes=3145755,
    )  # fmt: skip
    move = Move(ref="main", type=RefType.BRANCH, commit=commit.id, previous=None)
    create = Create(name="xray", project="default", kind=DatasetKind.DATA)
    large = MemoryPages()
    return {
        "cut points of 16 MiB from random.Random(0)": [
            len(chunk) for chunk in cut(io.BytesIO(random.Random(0).randbytes(16 << 20)))
        ],
        "empty tree": MemoryPages().build([]).root,
        "leaf of the small tree": encode_leaf(entries).hex(),
        "small tree": MemoryPages().build(entries).root,
        "tree of 20,000 files": large.build(many_files(20_000)).root,
        "pages of 20,000 files": sorted(large.pages),
        "chunk list": encode_chunk_list(chunks).hex(),
        "locator": encode_locator([place]).hex(),
        "commit": commit.id,
        "create record": encode_record(DatasetRecord("d1", 0, at, "maria", create)).decode(),
        "move record": encode_record(DatasetRecord("d1", 1, at, "maria", move)).decode(),
    }


def test_vectors() -> None:
    stored = json.loads(GOLDEN.read_text())
    found = vectors()
    assert found.keys() == stored.keys()
    assert [name for name in stored if stored[name] != found[name]] == []


if __name__ == "__main__":
    print(json.dumps(vectors(), indent=1, sort_keys=True, ensure_ascii=False))
