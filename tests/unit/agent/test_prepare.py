"""What a job finds: its environment, its own copy of the code, directories nobody else may read."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from millpond.agent.keeper.clock import boot_id
from millpond.agent.prepare import environment, prepare
from millpond.agent.spec import Mount, read_spec
from millpond.client.tracking import params_from_outside
from millpond.model.job_spec import JobStep, StepOutput
from millpond.testing.agents import a_fill, a_placement, an_input
from millpond.wire.desired import DesiredMount, DesiredPlacement


def env_of(desired: DesiredPlacement, **environ: str) -> dict[str, str]:
    inputs = {"MILL_DATA_X_RAY": Path("/volume/commits/p/d/c")}
    return environment(desired, Path("/state/p1"), server="http://mill", inputs=inputs, environ=environ)


def test_millpond_says_where_everything_is() -> None:
    said = env_of(a_placement(cpu=4, memory_bytes=8_000, gpu_hundredths=200, gpu_indices=[0, 3]))
    assert said["MILL_DATA_X_RAY"] == "/volume/commits/p/d/c"
    assert said["MILL_OUTPUT"] == "/state/p1/output"
    assert said["MILL_SERVER"] == "http://mill"
    assert said["MLFLOW_TRACKING_URI"] == "http://mill/mlflow/default"
    assert said["MLFLOW_TRACKING_TOKEN"] == said["MILL_TOKEN"]
    assert (said["MILL_JOB_ID"], said["MILL_RUN_ID"], said["MILL_PROJECT"]) == ("job-p1", "run-p1", "default")
    assert (said["MILL_CPUS"], said["MILL_MEMORY_BYTES"]) == ("4", "8000")
    assert said["CUDA_VISIBLE_DEVICES"] == "0,3"


@pytest.mark.parametrize("name", ["MLFLOW_TRACKING_URI", "CUDA_VISIBLE_DEVICES", "PATH", "TMPDIR", "PYTHONUNBUFFERED"])
def test_what_the_user_sets_wins(name: str) -> None:
    assert env_of(a_placement(env={name: "mine"}))[name] == "mine"
    assert env_of(a_placement(secrets={name: "mine"}))[name] == "mine"


@pytest.mark.parametrize("given", ["env", "secrets"])
def test_a_tracking_server_of_the_users_own_gets_nothing_of_ours(given: str) -> None:
    said = env_of(a_placement(**{given: {"MLFLOW_TRACKING_URI": "http://mine"}}))
    assert "MLFLOW_TRACKING_TOKEN" not in said


def test_a_share_of_a_gpu_is_told() -> None:
    assert env_of(a_placement(gpu_hundredths=25, gpu_indices=[1]))["MILL_GPU_FRACTION"] == "0.25"
    assert "MILL_GPU_FRACTION" not in env_of(a_placement(gpu_hundredths=100, gpu_indices=[1]))


def test_a_share_of_a_gpus_memory_is_told_where_that_is_known() -> None:
    half = a_placement(gpu_hundredths=50, gpu_indices=[0])
    said = environment(half, Path("/p"), server="", inputs={}, environ={}, gpu_memory_bytes=40 * 1024**3)
    assert (said["MILL_GPU_FRACTION"], said["MILL_GPU_MEMORY_MB"]) == ("0.50", "20480")
    assert "MILL_GPU_MEMORY_MB" not in env_of(half)


def test_in_a_container_the_image_has_a_base_of_its_own() -> None:
    desired = a_placement(gpu_hundredths=100, gpu_indices=[3])
    environ = {"PATH": "/usr/bin", "HOME": "/home/maria", "https_proxy": "http://proxy"}
    said = environment(desired, Path("/p"), server="", inputs={}, environ=environ, container=True)
    assert said["https_proxy"] == "http://proxy"
    assert not {"PATH", "HOME", "CUDA_VISIBLE_DEVICES"} & said.keys(), "its one GPU is number 0 there"
    none = environment(a_placement(), Path("/p"), server="", inputs={}, environ=environ, container=True)
    assert none["CUDA_VISIBLE_DEVICES"] == ""


def test_in_a_container_inputs_are_named_after_their_datasets(tmp_path: Path) -> None:
    fill = a_fill()
    desired = a_placement(
        inputs=[
            an_input(fill),
            an_input(fill, env="MILL_DATA_DIGITS_2"),
            an_input(a_fill(dataset="x"), env="MILL_DATA_X"),
        ]
    )
    paths = {item.env: Path(f"/volume/{item.env}") for item in desired.inputs}
    prepare(tmp_path / "p1", desired, server="", code=None, inputs=paths, renewed=0.0, image="python:3.12")
    spec = read_spec(tmp_path / "p1")
    assert spec is not None and spec.image == "python:3.12"
    assert {mount.target for mount in spec.inputs} == {"/data/x", "/data/digits", "/data/digits_2"}
    assert spec.env["MILL_DATA_X"] == "/data/x"
    prepare(tmp_path / "p2", desired, server="", code=None, inputs=paths, renewed=0.0)
    plain = read_spec(tmp_path / "p2")
    assert plain is not None and plain.env["MILL_DATA_X"] == "/volume/MILL_DATA_X"


def test_mounts_are_told_by_a_variable_and_refused_once_withdrawn(tmp_path: Path) -> None:
    shared = DesiredMount(name="team-a", source="/mnt/a", target="/workspace")
    desired = a_placement(mounts=[shared])
    prepare(tmp_path / "p1", desired, server="", code=None, inputs={}, renewed=0.0, image="python:3.12")
    prepare(tmp_path / "p2", desired, server="", code=None, inputs={}, renewed=0.0)
    inside, plain = read_spec(tmp_path / "p1"), read_spec(tmp_path / "p2")
    assert inside is not None and inside.env["MILL_MOUNT_TEAM_A"] == "/workspace"
    assert plain is not None and plain.env["MILL_MOUNT_TEAM_A"] == "/mnt/a"
    assert inside.mounts == plain.mounts == (Mount("/mnt/a", "/workspace", writable=True),)
    gone = a_placement(mounts=[shared.model_copy(update={"source": None})])
    with pytest.raises(OSError, match="the mount 'team-a' no longer exists"):
        prepare(tmp_path / "p3", gone, server="", code=None, inputs={}, renewed=0.0)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("EPOCHS", True), ("LANG", True), ("PATH", True), ("CUDA_VISIBLE_DEVICES", True), ("MILL_TOKEN", False)],
)
def test_users_variables_win_except_over_reserved_ones(name: str, kept: bool) -> None:
    assert (env_of(a_placement(env={name: "chosen"}))[name] == "chosen") is kept


def test_the_agents_own_secrets_are_not_inherited() -> None:
    said = env_of(a_placement(), HOME="/home/maria", AWS_SECRET_ACCESS_KEY="secret", https_proxy="http://proxy")
    assert said["HOME"] == "/home/maria" and said["https_proxy"] == "http://proxy"
    assert "AWS_SECRET_ACCESS_KEY" not in said


def test_python_is_the_one_millpond_runs_in() -> None:
    assert env_of(a_placement(), PATH="/usr/bin")["PATH"] == f"{Path(sys.executable).parent}{os.pathsep}/usr/bin"


def test_the_code_is_a_copy_the_job_may_change(tmp_path: Path) -> None:
    code = tmp_path / "commit"
    (code / "package").mkdir(parents=True)
    for name, mode in (("package/module.py", 0o444), ("run.sh", 0o555)):
        (code / name).write_text(name)
        (code / name).chmod(mode)
    (code / "link").symlink_to("package/module.py")
    directory = tmp_path / "p1"
    prepare(directory, a_placement(), server="http://mill", code=code, inputs={}, renewed=1.5)
    work = directory / "work"
    assert stat.S_IMODE((work / "package/module.py").stat().st_mode) == 0o644
    assert stat.S_IMODE((work / "run.sh").stat().st_mode) == 0o755
    assert (work / "link").readlink() == Path("package/module.py")
    assert (directory / "renewal").read_text() == f"1.5 {boot_id()}"


def test_code_that_cannot_be_copied_is_told_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", target)

    (tmp_path / "commit").mkdir()
    for number in range(3):
        (tmp_path / "commit" / f"{number}.py").touch()
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match=r"cannot copy the code.*No space left on device") as told:
        prepare(tmp_path / "p1", a_placement(), server="", code=tmp_path / "commit", inputs={}, renewed=0.0)
    assert str(told.value).count("No space left") == 1


def test_the_token_is_for_nobody_else(tmp_path: Path) -> None:
    directory = tmp_path / "p1"
    prepare(directory, a_placement(), server="http://mill", code=None, inputs={}, renewed=0.0)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "spec.json").stat().st_mode) == 0o600
    spec = read_spec(directory)
    assert spec is not None and spec.env["MILL_TOKEN"] == "mill_secret" and spec.job == "job-p1"


def test_an_interrupted_preparation_is_begun_anew(tmp_path: Path) -> None:
    directory = tmp_path / "p1"
    (directory / "work" / "half").mkdir(parents=True)
    prepare(directory, a_placement(), server="http://mill", code=None, inputs={}, renewed=0.0)
    assert list((directory / "work").iterdir()) == []


def test_parameters_lie_in_a_file_of_steps_and_other_jobs_alike(tmp_path: Path) -> None:
    step = JobStep("run", "train", 3, {"lr": 0.1}, (StepOutput("model", "model"), StepOutput("n", "int")))
    for number, given in enumerate(({"params": {"lr": 0.1}}, {"step": step})):
        directory = tmp_path / str(number)
        prepare(directory, a_placement(**given), server="", code=None, inputs={}, renewed=0.0)
        spec = read_spec(directory)
        assert spec is not None
        said = spec.env
        assert params_from_outside(said) == {"lr": 0.1} and Path(said["MILL_PARAMS"]).parent == directory / "tmp"
    assert sorted(path.name for path in (directory / "output").iterdir()) == ["model"]
    assert (said["MILL_STEP"], said["MILL_INDEX"], said["MILL_FLOW_RUN"]) == ("train", "3", "run")
    assert "MILL_PARAMS" not in env_of(a_placement()) and params_from_outside({}) == {}
