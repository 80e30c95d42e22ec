from __future__ import annotations

from pathlib import Path

import pytest

from millpond.agent.drivers.podman import arguments
from millpond.agent.drivers.podman.arguments import ContainerAccount, environment_file, run_arguments
from millpond.agent.drivers.podman.options import PodmanOptions
from millpond.agent.spec import Mount
from millpond.testing.agents import a_spec

SPEC = a_spec(
    ("train", "--fast"), directory="/state/p1/work", env={"MILL_TOKEN": "secret", "SAID": "two\nlines"},
    cpu=4, memory_bytes=10**9, gpu_hundredths=200, gpu_indices=(1, 3), image="docker.io/x:1",
    inputs=(Mount("/volume/c", "/data/digits"),),
    mounts=(Mount("/mnt/scratch", "/workspace", writable=True), Mount("/mnt/models", "/models")),
)  # fmt: skip


def run(account: ContainerAccount | None = None, *, parent: str | None = None, declared: bool = True) -> list[str]:
    options = PodmanOptions(run=("--privileged=false",))
    return run_arguments(
        SPEC, [Path("/state/p1/work")], account or ContainerAccount(70001, (70001, 70002)), agent="a", options=options,
        parent=parent, declared_gpus=declared,
    )  # fmt: skip


def test_what_the_job_was_promised() -> None:
    asked = run()
    assert {
        "--name=mill-p1", "--cpus=4", "--memory=1000000000b", "--memory-swap=1000000000b", "--user=70001:70001",
        "--group-add=70002", "--mount=type=bind,src=/state/p1/work,dst=/state/p1/work",
        "--mount=type=bind,src=/volume/c,dst=/data/digits,ro=true",
        "--mount=type=bind,src=/mnt/scratch,dst=/workspace", "--mount=type=bind,src=/mnt/models,dst=/models,ro=true",
        "--shm-size=2g",
    } <= set(asked)  # fmt: skip
    assert asked[-4:] == ["--privileged=false", "docker.io/x:1", "train", "--fast"]


def test_no_secret_is_on_the_command_line() -> None:
    assert not any("secret" in word for word in run())
    assert "MILL_TOKEN=secret\n" in environment_file(SPEC, Path("/state/p1/home"))


def test_a_group_that_limits_memory_leaves_none_to_podman() -> None:
    asked = run(parent="/millpond-podman/p1")
    assert "--cgroup-parent=/millpond-podman/p1" in asked and not any(word.startswith("--memory") for word in asked)


def test_gpus_by_cdi_have_new_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_CDI", (tmp_path,))
    with pytest.raises(OSError, match="no CDI file"):
        run(declared=False)
    (tmp_path / "nvidia.yaml").touch()
    assert {"--device=nvidia.com/gpu=1", "--device=nvidia.com/gpu=3"} <= set(run(declared=False))
    assert "CUDA_VISIBLE_DEVICES=0,1\n" in environment_file(SPEC, Path("/home"))


def test_a_large_shm_has_no_limit() -> None:
    large = run_arguments(
        a_spec(("train",), image="x", large_shm=True), [], ContainerAccount(70001), agent="a", options=PodmanOptions(),
        parent=None, declared_gpus=True,
    )  # fmt: skip
    assert "--shm-size=0" in large
