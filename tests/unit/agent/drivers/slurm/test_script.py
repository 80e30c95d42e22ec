from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from millpond.agent.drivers.slurm.options import SlurmOptions
from millpond.agent.drivers.slurm.script import Files, arguments, exports, init_script, script
from millpond.agent.spec import Spec

ENV = {"MILL_TOKEN": "secret", "SAID": "it's\ntwo lines", "no.name": "x", "CUDA_VISIBLE_DEVICES": "3"}
SPEC = Spec(
    placement="p1", job="j", project="p", command=("true",), directory="/state/p1/work", valid_seconds=600,
    grace_seconds=30, env=ENV,
    timeout_seconds=3600, cpu=4, memory_bytes=(1 << 30) + 1, gpu_hundredths=200,
)  # fmt: skip


def test_what_the_job_was_promised_is_asked_of_slurm() -> None:
    options = SlurmOptions(partition="gpu", account="team", qos="high", constraint="a100", gres="gpu:a100", time="1-0")
    asked = arguments(SPEC, options)
    expected = {
        "--job-name=mill-p1", "--cpus-per-task=4", "--mem=1025M", "--gres=gpu:a100:2", "--time=62", "--partition=gpu",
        "--account=team", "--qos=high", "--constraint=a100", "--no-requeue",
    }  # fmt: skip
    assert expected <= set(asked)


def test_what_nobody_asked_for_is_left_to_slurm() -> None:
    plain = Spec("p1", "j", "p", ("true",), {}, "/w", 600, 30)
    asked = " ".join(arguments(plain, SlurmOptions(sbatch=("--exclusive",))))
    assert not {"--mem", "--gres", "--time", "--partition", "--cpus-per-task"} & set(asked.replace("=", " ").split())
    assert asked.endswith("--exclusive")
    assert "--time=1-0" in arguments(plain, SlurmOptions(time="1-0"))


def test_no_secret_is_in_the_script() -> None:
    text = script(Path("/state/p1"), Files(Path("/state/keeper.py")), "/usr/bin/python3")
    assert "secret" not in text and "exec" in text


def test_variables_survive_the_shell(tmp_path: Path) -> None:
    (tmp_path / "exports").write_text(exports(SPEC))
    command = '. ./exports; printf "%s|%s" "$SAID" "$CUDA_VISIBLE_DEVICES"'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env={}, capture_output=True, text=True, check=True)
    assert done.stdout == "it's\ntwo lines|"


def test_init_lines(tmp_path: Path) -> None:
    assert init_script(SlurmOptions()) is None
    (tmp_path / "site").write_text("A=1")
    text = init_script(SlurmOptions(init_file=tmp_path / "site", init=("B=2",)))
    assert text == "A=1\nB=2 || return 1\ntrue\n"
    with pytest.raises(OSError, match="nowhere"):
        init_script(SlurmOptions(init_file=tmp_path / "nowhere"))
