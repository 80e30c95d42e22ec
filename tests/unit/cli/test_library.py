"""`mill library` without a server: look, begin, test, run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Mill


@pytest.fixture
def component(mill: Mill, tmp_path: Path) -> Path:
    folder = tmp_path / "clean-labels"
    assert mill("library", "new", "clean-labels", "--dir", str(folder)).code == 0
    return folder


def test_a_new_component_passes_its_own_tests_and_runs(mill: Mill, component: Path, tmp_path: Path) -> None:
    done = mill("library", "test", str(component), "--example-only", "--json")
    assert done.code == 0
    assert {one["state"] for one in json.loads(done.out)["checks"]} == {"passed"}
    data = str(component / "tests" / "data")
    ran = mill(
        "library", "run", str(component), "--local", "--input", f"data={data}", "-o", str(tmp_path / "w"), "--json"
    )
    document = json.loads(ran.out)
    assert document["state"] == "succeeded" and document["outputs"]["count"] == 1
    assert (tmp_path / "w" / "output" / "listing" / "files.txt").read_text() == "hello.txt\n"


def test_folders_of_a_run_may_be_relative(
    mill: Mill, component: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = mill("library", "run", "./clean-labels", "--local", "--input", "data=clean-labels/tests/data", "-o", "out")
    assert ran.code == 0, ran.err
    assert (tmp_path / "out" / "output" / "listing" / "files.txt").read_text() == "hello.txt\n"


def test_a_released_version_cannot_change_unnoticed(mill: Mill, component: Path) -> None:
    assert mill("library", "test", str(component), "--record", "--example-only").code == 0
    (component / "README.md").write_text("other words\n")
    done = mill("library", "test", str(component), "--example-only")
    assert done.code == 1 and "Raise the version" in done.out
    yaml = component / "component.yaml"
    yaml.write_text(yaml.read_text().replace("0.1.0", "0.2.0"))
    assert mill("library", "test", str(component), "--example-only").code == 0


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("count: {type: int}", "count: {type: int}\n  other: {type: int}", "missing output other"),
        ("count: {type: int}", "count: {type: list}", "count must be a list"),
        ("listing: {type: directory}", "listing: {type: model}", "not a model"),
        ("docs: README.md", "docs: GONE.md", "GONE.md does not exist"),
        ("category: script", "category: magic", "category cannot be 'magic'"),
    ],
)
def test_what_is_wrong_with_a_component_is_said(
    mill: Mill, component: Path, before: str, after: str, words: str
) -> None:
    yaml = component / "component.yaml"
    yaml.write_text(yaml.read_text().replace(before, after))
    done = mill("library", "test", str(component), "--example-only")
    assert done.code != 0 and words in done.out + done.err


def test_components_are_listed_and_shown(mill: Mill) -> None:
    listed = json.loads(mill("library", "list", "--local", "--category", "transform", "--json").out)["items"]
    split = next(one for one in listed if one["name"] == "split")
    assert split["origin"] == "built-in" and split["params"]["val_size"]["max"] == 0.9
    shown = json.loads(mill("library", "show", "split@1", "--local", "--json").out)
    assert shown["digest"] == split["digest"] and shown["docs"].startswith("# Split")
    assert "float 0 … 0.9" in mill("library", "show", "split", "--local").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "splitt"), "Did you mean 'split'?"),
        (("show", "split@7"), "Versions there are: 1."),
        (("run", "split", "--local", "--param", "seeed=1"), "Did you mean 'seed'?"),
        (("run", "split", "--local", "--param", "val_size=2"), "at most 0.9"),
        (("run", "split", "--local"), "needs the input 'data'"),
        (("run", "split", "--local", "--input", "data=/nowhere-here"), "does not exist"),
        (("new", "No Name"), "is not a component"),
        (("new", "split", "--category", "register"), "cannot have the category"),
        (("add", "nowhere-here"), "neither a folder nor a Git repository"),
    ],
)
def test_mistakes_are_explained(mill: Mill, arguments: tuple[str, ...], words: str) -> None:
    done = mill("library", *arguments)
    assert done.code != 0 and words in done.err
