"""Lakes of earlier versions stay readable: every golden lake comes back bit for bit, from its objects alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from millpond.blobs.local import LocalStore
from millpond.lake.commits import decode_commit
from millpond.lake.digests import digest_of
from millpond.lake.fetch import fetch_tree
from millpond.lake.keys import LAKE, PROJECTS, ProjectKeys
from millpond.lake.records import Move, decode_lake, decode_record
from millpond.lake.verify import verify_tree
from millpond.testing.lake import DirectLake, Thing, read_things

DATA = Path(__file__).parents[1] / "data"
GOLDEN = sorted(DATA.glob("golden-lake-v*"))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_a_golden_lake_comes_back_bit_for_bit(golden: Path, tmp_path: Path) -> None:
    shutil.copytree(golden / "lake", tmp_path / "lake")
    expected = json.loads((golden / "expected.json").read_text())
    store = LocalStore(tmp_path / "lake")
    assert decode_lake(store.get(LAKE))
    keys = ProjectKeys(_project_of(store, expected))
    moves = [decode_record(store.get(info.key)).operation for info in store.list(keys.datasets)]
    assert [move.commit for move in moves if isinstance(move, Move)] == list(expected)
    lake = DirectLake(store, keys.project_id)
    for commit_id, described in expected.items():
        commit = decode_commit(store.get(keys.commit(commit_id)), commit_id)
        fetch_tree(lake, commit.tree, tmp_path / commit_id)
        assert summary(read_things(tmp_path / commit_id)) == described
        assert list(verify_tree(lake, commit.tree)) == []


def test_there_is_a_golden_lake() -> None:
    assert [path.name for path in GOLDEN] == ["golden-lake-v1"]


def _project_of(store: LocalStore, expected: dict[str, Any]) -> str:
    first = next(iter(expected))
    (key,) = [info.key for info in store.list(PROJECTS) if info.key.endswith(f"/commits/{first[:2]}/{first}")]
    return key.split("/")[1]


def summary(things: list[Thing]) -> dict[str, object]:
    """As tests/data/make_golden_lake.py describes a commit; written anew, so that neither can change alone."""
    empty = [thing for thing in things if thing.path.startswith(b"many/") and thing.content == b""]
    others = [thing for thing in things if not (thing.path.startswith(b"many/") and thing.content == b"")]
    return {
        "empty files below many/": len(empty),
        "everything else": [[t.path.hex(), _kind(t), digest_of(t.content or b"").hex()] for t in others],
    }


def _kind(thing: Thing) -> str:
    if thing.content is None:
        return "directory"
    return "link" if thing.link else "executable" if thing.executable else "file"
