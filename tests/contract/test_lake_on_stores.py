"""The whole way of a directory through each kind of store, with signed URLs where the store makes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.location import open_store
from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import BlobStore, Buffer
from millpond.lake.fetch import fetch_tree
from millpond.lake.http import DataPlane
from millpond.lake.push import push_directory
from millpond.lake.transfer import Slot
from millpond.lake.verify import verify_tree
from millpond.testing import azurite
from millpond.testing.azurite import Azurite
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.testing.rclone import Rclone
from millpond.testing.seaweed import CREDENTIALS, Seaweed


class SignedLake(DirectLake):
    """Moves packs and pages as clients do: through signed URLs, without credentials."""

    def __init__(self, store: BlobStore) -> None:
        super().__init__(store)
        self.plane = DataPlane()

    def put(self, slot: Slot, data: Buffer) -> None:
        signed = self.store.sign("PUT", slot.url, 60)
        self.plane.put(signed.url, data, signed.headers)

    def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
        return self.plane.get_range(self.store.sign("GET", self.keys.pack(pack_id), 60).url, start, end)


@pytest.fixture(params=["memory", "local", "seaweed", "rclone", pytest.param("azurite", marks=pytest.mark.long)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DirectLake]:
    if request.param == "memory":
        yield DirectLake(MemoryStore())
    elif request.param == "local":
        yield DirectLake(LocalStore(tmp_path / "lake"))
    else:
        server: Seaweed | Rclone | Azurite = request.getfixturevalue(request.param)
        environment = CREDENTIALS | azurite.CREDENTIALS
        signed = SignedLake(open_store(server.url(uuid4().hex), environment=environment))
        yield signed
        signed.plane.close()


def test_a_directory_goes_there_and_comes_back(lake: DirectLake, tmp_path: Path) -> None:
    chance = random.Random(4)
    source, target = tmp_path / "source", tmp_path / "target"
    write_things(
        source,
        [
            *(Thing(b"small/%03d" % n, chance.randbytes(n * 50)) for n in range(200)),
            Thing(b"large", chance.randbytes(6 << 20)),
            Thing(b"link", b"small/001", link=True),
        ],
    )
    pushed = push_directory(source, lake)
    assert lake.accept(pushed.tree.root) == pushed.tree
    fetch_tree(lake, pushed.tree.root, target)
    assert read_things(target) == read_things(source)
    assert list(verify_tree(lake, pushed.tree.root)) == []
