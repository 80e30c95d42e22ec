"""The DataOps Toolkit's functions and commands, on workspaces of a real server and agent."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond.cli.main import main
from millpond.dataops import k8s, traditional
from millpond.dataops.old_names import KUBERNETES_NAMES, TRADITIONAL_NAMES, snake_case
from millpond.dataops.verbs_kubernetes import KUBERNETES
from millpond.dataops.verbs_traditional import TRADITIONAL
from millpond.testing.up import MillUp


@pytest.fixture
def names(shared_up: MillUp, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """What names of this test begin with; its workspaces go with it."""
    monkeypatch.setenv("MILL_SERVER", shared_up.url)
    monkeypatch.setenv("MILL_HOME", str(shared_up.home))
    monkeypatch.setenv("MILL_TOKEN", (shared_up.data_dir / "cli-token").read_text().strip())
    first = f"t{abs(hash(request.node.name)) % 10**8}-"
    yield first
    for row in traditional.list_volumes():
        if row["Volume Name"].startswith(first):
            traditional.delete_volume(row["Volume Name"])


def tree_of(name: str) -> Path:
    (row,) = [row for row in traditional.list_volumes(check_local_mounts=True) if row["Volume Name"] == name]
    return Path(row["Local Mountpoint"])


def test_a_notebook_of_the_toolkit_runs(names: str, tmp_path: Path) -> None:
    first, second = f"{names}a", f"{names}b"
    traditional.create_volume(first, "100MB", mountpoint=str(tmp_path / "there"), svm_name="svm0", print_output=True)
    (tmp_path / "there" / "data.csv").write_text("one")
    traditional.create_snapshot(first, snapshot_name="before")
    (tmp_path / "there" / "data.csv").write_text("two")
    traditional.clone_volume(second, first, source_snapshot_name="before")
    assert (tree_of(second) / "data.csv").read_text() == "one"
    traditional.restore_snapshot(first, "before")
    assert (tree_of(first) / "data.csv").read_text() == "one"
    # What was there before is kept as a snapshot of its own.
    taken = [row["Snapshot Name"] for row in traditional.list_snapshots(first)]
    assert taken[-1] == "before" and len(taken) == 2
    row = {row["Volume Name"]: row for row in traditional.list_volumes(include_space_usage_details=True)}[second]
    assert (row["Clone"], row["Source Volume"], row["Source Snapshot"]) == ("yes", first, "before")
    traditional.unmount_volume(str(tmp_path / "there"))
    assert not (tmp_path / "there").exists()


def test_snapshots_in_kubernetes_are_found_by_their_name_alone(names: str) -> None:
    name = f"{names}c"
    k8s.create_volume(name, "100Mi")
    (tree_of(name) / "a").write_text("one")
    k8s.create_volume_snapshot(name, f"{names}snap")
    (tree_of(name) / "a").write_text("two")
    k8s.clone_volume(f"{names}d", "", source_snapshot_name=f"{names}snap")
    assert (tree_of(f"{names}d") / "a").read_text() == "one"
    k8s.restore_volume_snapshot(f"{names}snap")
    assert (tree_of(name) / "a").read_text() == "one"
    assert [row["Ready to Use"] for row in k8s.list_volume_snapshots(name)] == [True, True]
    with pytest.raises(k8s.InvalidSnapshotParameterError, match="No snapshot 'none'"):
        k8s.restore_volume_snapshot("none")


def test_errors_are_the_toolkit_s_own(names: str) -> None:
    with pytest.raises(traditional.InvalidVolumeParameterError, match="is not a size"):
        traditional.create_volume(f"{names}e", "much")
    with pytest.raises(traditional.InvalidVolumeParameterError, match=f"{names}none"):
        traditional.clone_volume(f"{names}f", f"{names}none")
    with pytest.raises(traditional.NotSupported, match="mill cache add"):
        traditional.create_flexcache(source_vol="a")


def test_its_commands_are_typed_as_they_are(names: str, capsys: pytest.CaptureFixture[str]) -> None:
    def typed(*words: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert main(["--json", "dataops", *words]) == code
        printed = capsys.readouterr()
        return json.loads(printed.out) if code == 0 else printed.err

    assert typed("create", "volume", f"--name={names}g", "--size=100MB", "--export-policy=default")
    assert typed("create", "snapshot", "-v", f"{names}g", "-n", "daily", "--retention=2d")
    assert [row["Snapshot Name"][:5] for row in typed("list", "snapshots", f"--volume={names}g")] == ["daily"]
    assert typed("k8s", "clone", "volume", f"--new-pvc-name={names}h", f"--source-pvc-name={names}g")
    assert typed("clone", "vol", "-n", f"{names}i", f"-v{names}g", "-u", "1000", "-g", "1000", "-x", "-j", "/a")
    assert typed(
        "delete", "snap", "-v", f"{names}g", "-n", typed("list", "snaps", "-v", f"{names}g")[0]["Snapshot Name"]
    )
    assert "has no option --colour" in typed("create", "volume", "--colour=red", code=2)
    assert "mill cache add" in typed("create", "flexcache", code=2)
    assert "no command `boil volume`" in typed("boil", "volume", code=2)


@pytest.mark.parametrize(("verbs", "module"), [(TRADITIONAL, traditional), (KUBERNETES, k8s)])
def test_every_verb_is_there_or_says_why_not(verbs: Any, module: Any) -> None:
    for verb in verbs:
        assert (verb.here is None) == bool(verb.refused), verb.command
        assert not verb.function or callable(getattr(module, verb.function)), verb.command
        assert len({one.short for one in verb.options if one.short}) == len([one for one in verb.options if one.short])
        if verb.refused and verb.function:
            with pytest.raises(module.NotSupported, match=re.escape(verb.refused)):
                getattr(module, verb.function)("anything", namespace="default")


@pytest.mark.parametrize(
    ("names", "module"), [(TRADITIONAL_NAMES, traditional), (KUBERNETES_NAMES, k8s)], ids=["traditional", "kubernetes"]
)
def test_functions_have_their_old_names_too(names: dict[str, str], module: Any) -> None:
    for name, arguments in names.items():
        today = inspect.signature(getattr(module, snake_case(name)))
        refused = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in today.parameters.values())
        assert refused or {snake_case(one) for one in arguments.split()} <= set(today.parameters), name
    with pytest.raises(AttributeError, match="has no 'boilVolume'"):
        module.boilVolume  # noqa: B018
    with pytest.raises(TypeError, match="several values"):
        module.createVolume("a", "10MB", volumeSize="20MB")


def test_an_older_notebook_runs(names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{names}TaxiData"
    traditional.createVolume(name, "100MB", mountpoint=str(tmp_path / "taxi"), printOutput=True)
    assert f"Volume {name} is workspace {name.lower()}." in capsys.readouterr().out
    (tmp_path / "taxi" / "a").write_text("one")
    traditional.createSnapshot(volumeName=name, snapshotName="snap1", printOutput=True)
    traditional.cloneVolume(newVolumeName=f"{name}Copy", sourceVolumeName=name, sourceSnapshotName="snap1")
    assert (tree_of(f"{name}Copy".lower()) / "a").read_text() == "one"
    k8s.createVolumeSnapshot(pvcName=name.lower(), snapshotName=f"{names}snap", namespace="default", printOutput=True)
    assert f"{names}snap" in [row["VolumeSnapshot Name"] for row in k8s.listVolumeSnapshots(name.lower())]


def test_jupyterlab_workspaces_are_workspaces_with_a_session(names: str) -> None:
    name = f"{names}lab"
    # No container runs here, so none of this image: the workspace is there, and the toolkit's exception says the rest.
    with pytest.raises(k8s.ServiceUnavailableError, match=f"Workspace {name} is there, but JupyterLab is not"):
        k8s.create_jupyter_lab(name, "50Mi", workspace_image="jupyter/base", request_cpu="0.5", request_memory="64Mi")
    (tree_of(name) / "a").write_text("one")
    (row,) = [row for row in k8s.list_jupyter_labs() if row["Workspace Name"] == name]
    assert (row["Status"], row["Access URL"], row["Clone"]) == ("Stopped", "", "No")
    k8s.create_jupyter_lab_snapshot(name, f"{names}before")
    (tree_of(name) / "a").write_text("two")
    k8s.restore_jupyter_lab_snapshot(f"{names}before")
    assert (tree_of(name) / "a").read_text() == "one"
    assert f"{names}before" in [row["VolumeSnapshot Name"] for row in k8s.list_jupyter_lab_snapshots(name)]
    k8s.delete_jupyter_lab(name)
    assert name not in [row["Workspace Name"] for row in k8s.list_jupyter_labs()]
