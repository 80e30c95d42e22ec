"""Components of a project: added from a folder or from Git, side by side, and found by everyone of the project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from millpond.model.ids import new_id
from millpond.testing.up import MillUp
from tests.integration.cli import Mill, server_here


@pytest.fixture
def mill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    with server_here(tmp_path / "server") as server:
        yield Mill(server, capsys, tmp_path)  # type: ignore[misc]


def component(mill: Mill, folder: Path, version: str) -> Path:
    if not folder.exists():
        mill.ok("library", "new", "clean-labels", "--dir", str(folder))
    yaml = folder / "component.yaml"
    lines = [f"version: {version}" if line.startswith("version:") else line for line in yaml.read_text().splitlines()]
    yaml.write_text("\n".join(lines) + "\n")
    return folder


def test_versions_are_side_by_side_and_never_change(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "clean-labels"
    for version in ("1.0.0", "1.1.0"):
        added = mill.ok("library", "add", str(component(mill, folder, version)), "--json").json["items"]
        assert [(one["component"], one["new"]) for one in added] == [(f"clean-labels@{version}", True)]
    assert mill.ok("library", "add", str(folder), "--json").json["items"][0]["new"] is False
    listed = [one for one in mill.ok("library", "list", "--json").json["items"] if one["name"] == "clean-labels"]
    assert [(one["version"], one["origin"]) for one in listed] == [
        ("1.1.0", "project default"), ("1.0.0", "project default"),
    ]  # fmt: skip
    assert listed[0]["digest"] == mill.ok("library", "show", str(folder), "--json").json["digest"]
    (folder / "README.md").write_text("changed\n")
    refused = mill("library", "add", str(folder))
    assert refused.code == 5 and "Raise the version" in refused.err


def test_a_component_of_the_project_runs_here_without_its_folder(mill: Mill, tmp_path: Path) -> None:
    folder = component(mill, tmp_path / "clean-labels", "1.0.0")
    mill.ok("library", "add", str(folder))
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("a")
    ran = mill.ok("library", "run", "clean-labels@1", "--local", "--input", f"data={data}", "--json", cwd=data)
    assert ran.json["outputs"]["count"] == 1


def test_components_come_from_a_git_repository(mill: Mill, tmp_path: Path) -> None:
    repository = tmp_path / "components.git"
    component(mill, repository / "clean-labels", "1.0.0")
    git = ["git", "-C", str(repository), "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    added = mill.ok("library", "add", f"file://{repository}@main", "--json").json["items"]
    assert [one["component"] for one in added] == ["clean-labels@1.0.0"]
    missing = mill("library", "add", f"file://{repository}@main", "--path", "nowhere")
    assert missing.code == 2 and "No component in" in missing.err


def test_without_a_server_the_others_are_listed_and_that_is_said(mill: Mill) -> None:
    done = mill.ok("library", "list", "--server", "http://127.0.0.1:1", MILL_TOKEN="mill_x")
    assert "split" in done.out and "Components of project default are not shown" in done.err


def test_flows_use_the_components_of_their_project(mill: Mill, tmp_path: Path) -> None:
    """Of the versions that a flow accepts, the newest, wherever it comes from."""
    folder = tmp_path / "clean-labels"
    for version in ("1.0.0", "1.1.0"):
        mill.ok("library", "add", str(component(mill, folder, version)))
    flow = tmp_path / "flow.yaml"
    text = "schema: millpond.flow/1\nname: clean\nsteps:\n  data: {dataset: raw@main}\n  clean:\n    component: %s\n"
    flow.write_text(text % "clean-labels@1" + "    inputs: {data: '${steps.data}'}\n")
    assert mill.ok("flow", "validate", str(flow), "--json").json == []
    mill.ok("flow", "save", str(flow))
    flow.write_text(text % "clean-labels@2" + "    inputs: {data: '${steps.data}'}\n")
    refused = mill("flow", "validate", str(flow), "--json")
    assert [one["code"] for one in refused.json] == ["unknown-component"]


def test_a_bare_repository_gives_its_components(mill: Mill, tmp_path: Path) -> None:
    work, bare = tmp_path / "work", tmp_path / "bare.git"
    component(mill, work / "clean-labels", "1.0.0")
    git = ["git", "-C", str(work), "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    added = mill.ok("library", "add", f"file://{bare}@main", "--path", "clean-labels", "--json").json["items"]
    assert [one["component"] for one in added] == ["clean-labels@1.0.0"]


def test_a_component_runs_alone_on_the_server(
    shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mill = Mill(shared_up, capsys, tmp_path)
    name, data = f"count-{new_id(6)}", tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("a")
    mill.ok("data", "init", name, cwd=data)
    mill.ok("data", "sync", cwd=data)
    mill.ok("library", "new", name)
    words = ["--input", f"data={name}@main", "--wait", "--json"]
    from_folder = mill.ok("library", "run", f"./{name}", *words).json
    assert from_folder["flow"] == f"run-{name}" and from_folder["steps"][1]["outputs"]["count"] == 1
    mill.ok("library", "add", f"./{name}")
    by_name = mill.ok("library", "run", name, *words, "--no-remember", cwd=data).json
    assert by_name["steps"][1]["component"] == f"{name}@0.1.0" and by_name["steps"][1]["state"] == "succeeded"
    missing = mill("library", "run", name, cwd=data)
    assert missing.code == 2 and "--input data=DATASET@REF" in missing.err
    wrong = mill("library", "run", name, "--input", "dta=x", cwd=data)
    assert wrong.code == 2 and "Did you mean 'data'?" in wrong.err
