from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.agent.drivers.slurm.gang_script import gang_arguments, gang_script
from millpond.agent.drivers.slurm.options import SlurmOptions
from millpond.agent.drivers.slurm.script import Files, arguments, excluded_nodes, exports, init_script, script, size_of
from millpond.model.job import RankPlace
from millpond.testing.agents import a_spec
from millpond.wire.observed import NodeFacts

ENV = {"MILL_TOKEN": "secret", "SAID": "it's\ntwo lines", "no.name": "x", "CUDA_VISIBLE_DEVICES": "3"}
SPEC = a_spec(
    directory="/state/p1/work", env=ENV, timeout_seconds=3600, cpu=4, memory_bytes=(1 << 30) + 1, gpu_hundredths=200
)


def test_what_the_job_was_promised_is_asked_of_slurm() -> None:
    options = SlurmOptions(partition="gpu", account="team", qos="high", constraint="a100", gres="gpu:a100", time="1-0")
    asked = arguments(SPEC, options, size_of(SPEC, options))
    expected = {
        "--job-name=mill-p1", "--cpus-per-task=4", "--mem=1025M", "--gres=gpu:a100:2", "--time=62", "--partition=gpu",
        "--account=team", "--qos=high", "--constraint=a100", "--no-requeue",
    }  # fmt: skip
    assert expected <= set(asked)


def test_what_a_job_chooses_takes_the_place_of_what_the_site_has_said() -> None:
    options = SlurmOptions(partition="gpu", account="team").chosen_by({"partition": "long", "qos": "high"})
    asked = set(arguments(SPEC, options, size_of(SPEC, options)))
    assert {"--partition=long", "--account=team", "--qos=high"} <= asked
    with pytest.raises(OSError, match="'sbatch'"):
        SlurmOptions().chosen_by({"sbatch": "--uid=0"})


def test_nodes_that_do_not_suit_the_job_are_excluded() -> None:
    nodes = [
        NodeFacts(name="n1", cpus=8, memory_bytes=1, gpus=4, gpu_model="a100", labels={"zone": "a"}),
        NodeFacts(name="n2", cpus=8, memory_bytes=1, gpus=4, gpu_model="t4", labels={"zone": "a"}),
        NodeFacts(name="n3", cpus=8, memory_bytes=1, gpus=4, gpu_model="a100", labels={"zone": "b"}),
    ]
    assert excluded_nodes(SPEC, nodes) == []
    spec = a_spec(gpu_hundredths=100, gpu_type="A100", node_selector={"zone": "a"})
    excluded = excluded_nodes(spec, nodes)
    assert excluded == ["n2", "n3"]
    options = SlurmOptions()
    assert "--exclude=n2,n3" in arguments(spec, options, size_of(spec, options), excluded)
    assert not any("exclude" in one for one in arguments(spec, options, size_of(spec, options)))


def test_what_nobody_asked_for_is_left_to_slurm() -> None:
    plain = a_spec()
    size = size_of(plain, SlurmOptions())
    asked = " ".join(arguments(plain, SlurmOptions(sbatch=("--exclusive",)), size))
    assert not {"--mem", "--gres", "--time", "--partition", "--cpus-per-task"} & set(asked.replace("=", " ").split())
    assert asked.endswith("--exclusive")
    assert "--time=1-0" in arguments(plain, SlurmOptions(time="1-0"), size)


def test_each_task_of_a_distributed_job_gets_what_was_asked_for() -> None:
    gang = replace(SPEC, ranks=(RankPlace("n1"),) * 3)
    asked = gang_arguments(gang, SlurmOptions(gres="gpu:a100"))
    assert asked == ["--ntasks=3", "--cpus-per-task=4", "--mem-per-cpu=257M", "--gpus-per-task=a100:2"]
    assert gang_arguments(a_spec(ranks=gang.ranks), SlurmOptions()) == ["--ntasks=3"]
    text = gang_script(Path("/state/p1"), gang)
    assert "srun --ntasks=3 --cpus-per-task=4 --kill-on-bad-exit=1" in text and "secret" not in text


def test_no_secret_is_in_the_script() -> None:
    text = script(Path("/state/p1"), Files(Path("/state/keeper.pyz"), Path("/state/far.pyz")), "/usr/bin/python3")
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
