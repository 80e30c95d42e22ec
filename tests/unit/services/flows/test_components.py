"""Steps that are components: pinned by digest, with code and environment; and those that the server does itself."""

from __future__ import annotations

import json

import pytest

from millpond.db import commits, projects, users
from millpond.errors import Invalid, NotFound
from millpond.library.catalog import Catalog
from millpond.model.component import ComponentRef
from millpond.model.names import CODE_DATASET
from millpond.model.people import Role
from millpond.services.flows import actions, lake_files
from millpond.services.models import versions
from millpond.testing.builders_data import a_commit, the_admin
from tests.unit.services.flows.running import Flows

SPLIT = """
steps:
  raw: {dataset: xray@main}
  split: {component: split@1, inputs: {data: "${steps.raw}"}, params: {val_size: 0.5, seed: 7}}
"""
OWN = """schema: millpond.component/1
name: %s
version: %s
command: [python, greet.py]
environment: {requirements: requirements.txt}
resources: {cpu: 3, memory: 2GB, gpu: 1, gpu_optional: true}
params: {who: {type: str, default: you}, times: {type: int, min: 1}}
outputs: {text: {type: str}}
"""


def own(name: str = "greet", version: str = "1.2.0", **files: str) -> dict[str, bytes]:
    found = {
        "component.yaml": OWN % (name, version),
        "greet.py": "print()",
        "requirements.txt": "cowsay==6.1\n",
        **files,
    }
    return {path: text.encode() for path, text in found.items()}


def added(flows: Flows, version: str, **files: str) -> str:
    """A component of the project, as `mill library add` commits it; its commit."""
    branch = ComponentRef("greet", tuple(map(int, version.split(".")))).branch
    # Without packages: nobody builds an environment here.
    content = own(version=version, **{"requirements.txt": ""}, **files)
    made = lake_files.commit_files(flows.deps, flows.project, CODE_DATASET, content, branch=branch, author="maria")
    return made.id


def test_a_component_of_the_library_is_pinned_with_its_code(flows: Flows) -> None:
    a_commit(flows.deps, {"cat/1": b"1", "dog/2": b"2"})
    run = flows.start(SPLIT)
    spec = run.job("split").spec
    library = Catalog().require(ComponentRef("split", (1,)))
    shown = next(view for view in run.shown if view.step.step == "split")
    assert (shown.component, shown.digest) == (f"split@{library.component.version_text}", library.digest)
    assert spec.command == library.component.command and spec.cpu == 1
    code = flows.files_of(spec.code_commit or "")
    assert code["split_images.py"] == (library.folder / "split_images.py").read_bytes()
    assert run.params("split") == {"val_size": 0.5, "test_size": 0, "stratify": True, "group": None, "seed": 7}
    assert flows.start(remember=False).job("split").spec.code_commit == spec.code_commit


def test_a_component_of_the_flow_brings_its_environment_and_resources(flows: Flows) -> None:
    files = {f"components/greet/{path}": data for path, data in own().items()}
    run = flows.start("steps:\n  hi: {component: greet@1, params: {times: 2}}\n", files=files)
    spec = run.job("hi").spec
    assert flows.files_of(spec.environment or "")["requirements.txt"] == b"cowsay==6.1\n"
    assert (spec.cpu, spec.memory_bytes, spec.gpu_hundredths) == (3, 2 * 10**9, 0), "it can do without a GPU"
    assert run.params("hi") == {"who": "you", "times": 2}
    with pytest.raises(Invalid, match="'times'"):
        flows.start("steps:\n  hi: {component: greet@1}\n", files=files)


def test_the_newest_component_of_the_project_is_used_and_stays_pinned(flows: Flows) -> None:
    text = "steps:\n  hi: {component: greet@1, params: {times: 2}, remember: false}\n"
    with pytest.raises(Invalid, match="no component 'greet@1'"):
        flows.start(text)
    first = added(flows, "1.0.0")
    run = flows.start(text)
    assert run.job("hi").spec.code_commit == first
    run.end("hi", exit_code=1)
    second = added(flows, "1.1.0", more="x")
    added(flows, "2.0.0", other="y")
    assert flows.start().job("hi").spec.code_commit == second
    run.retry()
    assert run.job("hi").spec.code_commit == first, "a retry runs what the run began with"


def test_a_component_that_disappeared_is_said_when_a_run_starts(flows: Flows) -> None:
    files = {f"components/greet/{path}": data for path, data in own().items()}
    text = "steps:\n  hi: {component: greet@1, params: {times: 2}}\n"
    added(flows, "1.0.0")
    flows.save(text)
    begun = flows.start().end("hi", exit_code=1)
    with flows.deps.db.write() as tx:
        dataset = commits.get(tx, begun.job("hi").spec.code_commit or "")
        assert dataset is not None
        commits.delete_ref(tx, dataset.dataset_id, ComponentRef("greet", (1, 0, 0)).branch)
    with pytest.raises(Invalid, match="no component 'greet@1'"):
        flows.start()
    assert begun.retry().states == {"hi": "queued"}, "what a run has pinned is still there"
    flows.save(text, files=files)
    assert flows.start().states == {"hi": "queued"}


REGISTER = """
steps:
  train: {command: [train], outputs: {model: {type: model}, metrics: {type: metrics}}}
  register:
    component: register-model@1
    inputs: {model: "${steps.train.outputs.model}", metrics: "${steps.train.outputs.metrics}"}
    params: {model: chest, alias: candidate}
  tell: {command: [tell], params: {version: "${steps.register.outputs.version}"}}
"""


def metrics(**values: object) -> dict[str, dict[str, bytes]]:
    return {
        "model": {"1/model.onnx": b"weights"}, "metrics": {"metrics.json": json.dumps(values).encode()},
    }  # fmt: skip


def test_a_model_is_registered_by_the_server_with_its_lineage(flows: Flows) -> None:
    run = flows.start(REGISTER).end("train", files=metrics(accuracy=0.9, history=[1, 2], best=True))
    assert (run.states["register"], run.step("register").outputs) == ("succeeded", {"version": 1})
    assert run.params("tell") == {"version": 1} and run.step("register").job_id is None
    view = versions.get(flows.deps, flows.project, "chest", "candidate")
    assert view.version.number == 1 and view.facts.metrics == {"accuracy": 0.9} and view.commit.author == "maria"
    lineage = view.commit.lineage
    assert lineage["step"] == "f#1/register" and lineage["flow_run"] == run.id
    assert run.step("train").outputs["model"]["files"].rpartition(":")[0] in lineage["inputs"]
    assert flows.files_of(view.commit.id) == {"1/model.onnx": b"weights"}
    run.end("tell")
    assert flows.start().states["register"] == "succeeded", "registering is never remembered"
    assert versions.get(flows.deps, flows.project, "chest", "candidate").version.number == 2


def test_registering_again_after_a_crash_makes_no_second_version(flows: Flows, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is killed behind the registration, before it has noted the step."""
    run = flows.start(REGISTER)
    carry_out = actions.carry_out

    def killed(*given: object) -> None:
        carry_out(*given)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(actions, "carry_out", killed)
        with pytest.raises(KeyboardInterrupt):
            run.end("train", files=metrics(accuracy=0.9))
    assert run.states["register"] == "ready"
    flows.round()
    assert run.step("register").outputs == {"version": 1}
    with pytest.raises(NotFound):
        versions.get(flows.deps, flows.project, "chest", "2")


def test_a_job_cannot_register_for_somebody_who_lost_the_role(flows: Flows) -> None:
    flows.save(REGISTER)
    run = flows.start(actor=the_admin(flows.deps))
    with flows.deps.db.write() as tx:
        maria = users.find(tx, "maria")
        assert maria is not None
        projects.set_role(tx, flows.project.id, maria.id, Role.VIEWER)
    run.end("train", files=metrics())
    assert run.state == "failed" and "maria, who the flow runs as, no longer has the role member" in run.why("register")


def test_metrics_that_are_not_json_fail_the_step(flows: Flows) -> None:
    files = {"model": {"1/m": b"w"}, "metrics": {"": b"not json"}}
    run = flows.start(REGISTER).end("train", files=files)
    assert run.state == "failed" and "are not JSON" in run.why("register")
