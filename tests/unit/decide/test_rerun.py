"""What making a run again comes to: the job, and what is the same, changed, not pinned or gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millpond.decide.rerun import plan
from millpond.model.job_spec import Dependency, JobInput, JobSpec
from millpond.model.rerun import ParamPlace, PartState, RecordedRun, RerunAsked, RerunPlan, StillThere
from millpond.testing.builders_work import a_job

CODE, DATA, NEEDS, BUILT = "c" * 64, "d" * 64, "e" * 64, "b" * 64
SPEC = JobSpec(
    command=("python", "train.py", "--lr", "0.1"),
    code_commit=CODE,
    environment=NEEDS,
    inputs=(JobInput("vision/xray", "main", DATA, "id", "MILL_DATA_XRAY"),),
    env={"EPOCHS": "3"},
    tags={"git.commit": "abc", "team": "vision"},
    after=(Dependency("other"),),
    compute="lab",
)
THERE = StillThere(commits=frozenset({CODE, DATA, NEEDS, BUILT}), computes=frozenset({"lab"}))


def of_job(**changes: Any) -> RecordedRun:
    job = a_job()
    job = replace(job, name="train", spec=replace(SPEC, **changes)).changed(environment_commit=BUILT)
    return RecordedRun("r1", "resnet", "x-ray", {"lr": 0.1, "seed": 7}, {}, (), job)


def of_script(**origin: Any) -> RecordedRun:
    told = {
        "command": ["/venv/bin/python3.11", "/home/me/repo/src/train.py", "--lr", "0.1"],
        "directory": "/home/me/repo/src",
        "host": "laptop",
        "python": "3.11.2",
        "packages": ["numpy==2.0", "mine==1", "pip==24", "tool @ git+https://x/y@abc"],
        "local_packages": ["mine"],
        "git": {"commit": "f" * 40, "url": "https://x/repo", "top": "/home/me/repo", "diff": "", "dirty": []},
    }
    inputs = ({"name": "vision/xray", "digest": DATA, "source_type": "millpond", "ref": "main"},)
    return RecordedRun("r2", "My run!", "default", {"lr": 0.1}, {**told, **origin}, inputs, None)


def states(found: RerunPlan, part: str) -> list[str]:
    return [one.state.value for one in found.parts if one.part == part]


def test_a_job_is_made_again_as_it_was() -> None:
    found = plan(of_job(), RerunAsked(), THERE)
    assert found.spec is not None
    assert found.spec.command == SPEC.command
    assert (found.spec.code_commit, found.spec.inputs, found.spec.compute) == (CODE, SPEC.inputs, "lab")
    assert (found.spec.experiment, found.spec.tags["rerun_of"], found.name) == ("x-ray", "r1", "train")
    assert found.spec.pinned and not found.spec.after
    assert {one.state for one in found.parts} == {PartState.SAME, PartState.CHANGED}
    assert states(found, "dependencies") == ["changed"]


def test_parameters_are_set_where_they_stand() -> None:
    found = plan(of_job(), RerunAsked(params={"lr": "0.01", "EPOCHS": "5", "seed": "8", "new": "x"}), THERE)
    assert found.spec is not None
    assert found.spec.command[-1] == "0.01"
    assert found.spec.env == {"EPOCHS": "5"}
    assert found.spec.params == {"seed": 8, "new": "x"}
    places = {param.key: param.place for param in found.params}
    assert places["lr"] is ParamPlace.ARGUMENT and places["EPOCHS"] is ParamPlace.VARIABLE
    assert places["seed"] is ParamPlace.PARAMS
    assert states(found, "command") == ["changed"]
    assert any("run.params" in one.text for one in found.parts)


def test_what_is_gone_is_named_and_nothing_starts() -> None:
    recorded = of_job(secrets={"KEY": "wandb"}, compute="old", image="repo:latest")
    found = plan(recorded, RerunAsked(), StillThere())
    assert found.spec is None
    assert [one.part for one in found.gone] == ["code", "environment", "place", "secret", "data"]
    assert all(one.hint for one in found.gone)
    assert states(found, "image") == ["unpinned"]


@pytest.mark.parametrize(
    ("there", "said", "hint"),
    [
        (StillThere(in_bin=frozenset({DATA})), "is in the bin", "mill data undelete xray --project vision"),
        (
            StillThere(datasets=frozenset({"id"})),
            f"Commit {DATA[:12]} of vision/xray no longer",
            "--data vision/xray@REF",
        ),
        (StillThere(), "Dataset vision/xray, read at", "--data vision/xray@main"),
    ],
)
def test_data_that_is_gone_says_how_it_comes_back(there: StillThere, said: str, hint: str) -> None:
    (lost,) = [one for one in plan(of_job(), RerunAsked(), there).gone if one.part == "data"]
    assert said in lost.text and hint in (lost.hint or "")


def test_models_that_the_script_chose_itself_are_not_pinned() -> None:
    found = plan(replace(of_job(), models=("chest@3",)), RerunAsked(), THERE)
    assert states(found, "model") == ["unpinned"] and found.spec is not None
    assert any("version 3 of model chest" in one.text for one in found.parts)


def test_what_is_gone_can_be_replaced() -> None:
    asked = RerunAsked(code_commit="1" * 64, environment="2" * 64, on="gpu", data=(JobInput("xray", "v4"),))
    found = plan(of_job(), asked, StillThere())
    assert found.spec is not None
    assert (found.spec.code_commit, found.spec.environment, found.spec.on) == ("1" * 64, "2" * 64, "gpu")
    assert found.spec.compute is None
    assert found.spec.inputs[0].ref == "v4" and not found.spec.inputs[0].commit_id
    assert "git.commit" not in found.spec.tags and found.spec.tags["team"] == "vision"


def test_an_environment_that_must_be_built_again_is_not_pinned() -> None:
    there = replace(THERE, commits=THERE.commits - {BUILT})
    assert states(plan(of_job(), RerunAsked(), there), "environment") == ["unpinned"]
    assert states(plan(of_job(environment=None), RerunAsked(), there), "environment") == ["unpinned"]


def test_a_script_is_made_again_from_git_packages_and_datasets() -> None:
    found = plan(of_script(), RerunAsked(), THERE)
    assert found.spec is not None and found.git is not None
    assert (found.git.commit, found.git.directory) == ("f" * 40, "src")
    assert found.spec.command == (
        "sh", "-c", 'cd "$0" && exec "$@"', "src", "python", "train.py", "--lr", "0.1",
    )  # fmt: skip
    assert found.packages == ("numpy==2.0", "tool @ git+https://x/y@abc")
    assert found.spec.inputs == (JobInput("vision/xray", "main", DATA),)
    assert found.name == "my-run"
    assert states(found, "environment") == ["same", "unpinned"]


def test_a_sent_script_needs_nothing_more() -> None:
    asked = RerunAsked(
        params={"lr": "1"}, code_commit=CODE, code_is_recorded=True, environment=NEEDS, environment_is_recorded=True
    )
    found = plan(of_script(), asked, THERE)
    assert found.spec is not None and found.git is None and not found.packages
    assert found.spec.command[-1] == "1" and found.spec.code_commit == CODE
    assert states(found, "code") == ["same"]


def test_a_script_whose_code_is_not_recorded_cannot_be_made_again() -> None:
    assert states(plan(of_script(git=None), RerunAsked(), THERE), "code") == ["gone"]
    cut = {"commit": "f" * 40, "url": "u", "diff": "x", "is_diff_cut": True}
    assert states(plan(of_script(git=cut), RerunAsked(), THERE), "code") == ["gone"]
    notebook = plan(of_script(command=["python", "-m", "ipykernel_launcher", "-f", "x.json"]), RerunAsked(), THERE)
    assert states(notebook, "command") == ["gone"]
    nothing = plan(of_script(command=None), RerunAsked(), THERE)
    assert [one.part for one in nothing.gone] == ["command"]


def test_files_that_nobody_recorded_are_named() -> None:
    git = {"commit": "f" * 40, "url": "u", "diff": "diff --git a/x.py b/x.py\n+1\n", "dirty": ["x.py", "data.bin"]}
    found = plan(of_script(git=git), RerunAsked(), THERE)
    assert states(found, "code") == ["same", "unpinned"]
    assert any("data.bin" in one.text and "x.py" not in one.text for one in found.parts if one.part == "code")
