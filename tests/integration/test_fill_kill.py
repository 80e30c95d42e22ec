"""kill -9 in the middle of fills and evictions: what is published is whole, and what is left behind goes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millpond.blobs.location import open_store
from millpond.lake.push import push_directory
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.attempt import begin_attempt, empty_trash, set_aside_attempts
from millpond.volumes.fill import fill
from millpond.volumes.volume import CacheVolume, adopt
from tests.integration.fill_loop import PLACES

SCRIPT = Path(__file__).with_name("fill_loop.py")
FILES = 150


def kill_and_look(tmp_path: Path, times: int, seed: int) -> None:
    things = [Thing(f"{n % 20:02d}/{n:04d}".encode(), random.Random(n).randbytes(2000)) for n in range(FILES)]
    things.sort(key=lambda thing: thing.path)
    write_things(tmp_path / "source", things)
    location = (tmp_path / "lake").as_uri()
    lake = DirectLake(open_store(location))
    tree = push_directory(tmp_path / "source", lake).tree.root
    lake.accept(tree)
    volume = CacheVolume(root=tmp_path / "volume", id="v1")
    volume.root.mkdir()
    adopt(volume, "lake")
    fill(begin_attempt(volume, PLACES[1], 1), tree, lake)
    chance = random.Random(seed)
    for number in range(times):
        run_and_kill(location, volume, tree, 1000 + number * 1000, chance.uniform(0.0, 0.6))
        set_aside_attempts(volume, wanted=())
        assert empty_trash(volume)
        assert os.listdir(volume.attempts) == os.listdir(volume.trash) == []
        published = volume.published()
        assert published, "one is evicted only when the other is published"
        for place in published:
            assert place in PLACES
            assert read_things(volume.commit(place)) == things
    for attempt, place in enumerate(PLACES, start=10**6):
        fill(begin_attempt(volume, place, attempt), tree, lake)
        assert read_things(volume.commit(place)) == things


def run_and_kill(lake: str, volume: CacheVolume, tree: str, attempt: int, seconds: float) -> None:
    command = [sys.executable, str(SCRIPT), lake, str(volume.root), tree, str(attempt)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline() == b"started\n", process.stderr.read()
        # The moment of the kill is what is random here; nothing is waited for.
        time.sleep(seconds)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGKILL)


def test_four_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path, 4, seed=int(time.time()))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_hundred_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path, 100, seed=int(time.time()))
