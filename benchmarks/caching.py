"""Steps that benchmarks of the cache share: volumes, working copies, changes, and where a cached commit lies."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from benchmarks.measure import Measured, flush, fresh
from benchmarks.millpond_server import Mill
from millpond.client.caches import list_cached
from millpond.client.datasets import get_commit
from millpond.model.names import DEFAULT_BRANCH

# Of a hundred files one is changed.
CHANGED_OF = 100


def add_volume(mill: Mill, work: Path) -> None:
    place = work / "volume"
    place.mkdir()
    mill.run("volume", "add", "bench", str(place), "--idle", "30d", cwd=work)


def copy_of(tree: Path, work: Path) -> Path:
    copy = fresh(work, "copy")
    shutil.copytree(tree, copy, dirs_exist_ok=True)
    return copy


def sync(mill: Mill, copy: Path, project: str, dataset: str = "tree") -> None:
    """The first commit of a dataset in a project of its own: nothing to deduplicate with, nothing to link to."""
    mill.run("project", "create", project, cwd=copy)
    mill.run("data", "init", dataset, "-p", project, cwd=copy)
    mill.run("data", "sync", "-m", "first", cwd=copy)


def change_some(copy: Path, seed: int = 1) -> None:
    """Every hundredth file has other content of the same length."""
    chance = random.Random(seed)
    for path in sorted(copy.rglob("*.bin"))[::CHANGED_OF]:
        path.write_bytes(chance.randbytes(path.stat().st_size))


def fill(mill: Mill, work: Path, project: str, dataset: str = "tree") -> Measured:
    """Until the commit is published on the volume, and written to its disk."""
    filled = mill.run("cache", "add", f"{project}/{dataset}", "--on", "bench", cwd=work)
    flushed = flush(work / "volume")
    return Measured(filled.seconds + flushed.seconds, filled.peak_rss, filled.cpu_seconds)


def path_of(mill: Mill, project: str, dataset: str = "tree") -> Path:
    """Where the commit that `main` stands for is cached."""
    with mill.api() as api:
        commit = get_commit(api, project, dataset, DEFAULT_BRANCH)
        [path] = [found.path for found in list_cached(api, project=project) if found.commit_id == commit.id]
    return Path(path)
