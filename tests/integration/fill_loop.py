"""Fills one commit and evicts the other, over and over, until it is killed: `fill_loop.py LAKE VOLUME TREE ATTEMPT`."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from millpond.blobs.location import open_store
from millpond.testing.lake import DirectLake
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.evict import evict
from millpond.volumes.fill import fill
from millpond.volumes.volume import CacheVolume, CommitPlace

PLACES = (CommitPlace("project", "dataset", "a" * 64), CommitPlace("project", "dataset", "b" * 64))


def main(lake: str, root: str, tree: str, attempt: int) -> None:
    volume = CacheVolume(root=Path(root), id="v1")
    source = DirectLake(open_store(lake))
    print("started", flush=True)
    for place, other in itertools.cycle([PLACES, PLACES[::-1]]):
        fill(begin_attempt(volume, place, attempt), tree, source)
        evict(begin_attempt(volume, other, attempt + 1))
        attempt += 2


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
