"""Choosing paths by patterns, and fetching nothing for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.lake.choice import chooser
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.push import push_directory
from millpond.testing.lake import DirectLake


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ([], ["a.png", "b.txt", "train/c.png", "train/deep/d.txt"]),
        (["*.png"], ["a.png", "train/c.png"]),
        (["/*.png"], ["a.png"]),
        (["train/"], ["train/c.png", "train/deep/d.txt"]),
        (["train/**/d.txt"], ["train/deep/d.txt"]),
        (["train/", "!*.png"], ["train/deep/d.txt"]),
        (["train"], ["train/c.png", "train/deep/d.txt"]),
        (["tr*/**", "!deep/"], ["train/c.png"]),
        (["t[!a]ain/"], ["train/c.png", "train/deep/d.txt"]),
        (["train[!a]c.png"], []),
        (["# of no use", "", "[", "*.txt"], ["b.txt", "train/deep/d.txt"]),
        (["nothing"], []),
    ],
)
def test_patterns_choose_as_ignore_files_leave_out(patterns: list[str], chosen: list[str]) -> None:
    paths = ["a.png", "b.txt", "train/c.png", "train/deep/d.txt"]
    choose = chooser(patterns)
    assert [path for path in paths if choose(path.encode())] == chosen


def test_only_what_is_chosen_is_fetched(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for number in range(2500):
        path = folder / f"{number // 500}/{number:04}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(number.to_bytes(4, "big"))
    lake = CountedLake()
    root = push_directory(folder, lake).tree.root
    lake.accept(root)
    fetch_tree(lake, root, tmp_path / "chosen", options=FetchOptions(only=chooser(["4/24*"])))
    assert {path.name for path in (tmp_path / "chosen/4").iterdir()} == {f"{number:04}" for number in range(2400, 2500)}
    assert [path.name for path in (tmp_path / "chosen").iterdir()] == ["4"]
    assert lake.located == 1, "leaves that hold nothing of it need no locator"


class CountedLake(DirectLake):
    located = 0

    def locator(self, page_id: str):  # type: ignore[no-untyped-def]
        self.located += 1
        return super().locator(page_id)
