"""Components are found by name and version, and a broken one says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.errors import BadFormat
from millpond.library.catalog import Catalog, load_component
from millpond.model.component import ComponentRef


def add(root: Path, folder: str, name: str, version: str, more: str = "command: [x]\n") -> Path:
    path = root / folder
    path.mkdir(parents=True)
    text = f"schema: millpond.component/1\nname: {name}\nversion: {version}\n{more}"
    (path / "component.yaml").write_text(text)
    return path


@pytest.mark.parametrize(
    ("written", "version"),
    [("a", (2, 0, 0)), ("a@1", (1, 10, 0)), ("a@1.2", (1, 2, 1)), ("a@1.2.0", (1, 2, 0)), ("a@3", None), ("b", None)],
)
def test_the_newest_version_that_fits_is_taken(tmp_path: Path, written: str, version: tuple[int, ...] | None) -> None:
    for number in ("1.2.0", "1.2.1", "1.10.0", "2.0.0"):
        add(tmp_path, f"a-{number}", "a", number)
    found = Catalog([tmp_path]).component(ComponentRef.parse(written))
    assert (found.version if found else None) == version


def test_a_single_component_may_be_given_by_its_folder(tmp_path: Path) -> None:
    folder = add(tmp_path, "mine", "mine", "1.0.0")
    found = Catalog([folder]).find(ComponentRef.parse("mine@1"))
    assert found is not None and found.folder == folder


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("comand: [x]\n", "Did you mean 'command'"),
        ("", "runs nothing"),
        ("command: [x]\nparams: {n: {type: int, default: a}}\n", "whole number"),
        ("command: [x]\nresources: {memory: lots}\n", "not a size"),
        ("command: [x]\nresources: {gpu: 1.5}\n", "1.5"),
        ("command: [x]\noutputs: {o: {type: blob}}\n", "blob"),
        ("command: [x]\ncategory: magic\n", "magic"),
    ],
)
def test_a_broken_component_says_what_and_where(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(BadFormat, match=r"component\.yaml:\d+:\d+") as caught:
        load_component(add(tmp_path, "c", "c", "1.0.0", more))
    assert words in caught.value.message


def test_the_components_that_come_with_millpond_can_be_read() -> None:
    assert all(found.component.name for found in Catalog().all())
