"""Models: versions numbered without gaps, made of files that lie in the lake already, named, deleted, brought back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from millpond.db import blobs, commits, lineage_steps
from millpond.db import models as rows
from millpond.errors import BadName, BadRequest, Forbidden, InUse, Invalid, NameTaken, NotFound
from millpond.model.lineage import LineageDirection, Maker
from millpond.model.model import (
    FromCommit,
    FromElsewhere,
    FromLoggedModel,
    FromRun,
    FromVersion,
    ModelSource,
    ModelStage,
    ModelVersionView,
    NewModelVersion,
    VersionState,
)
from millpond.model.people import Actor, ActorKind, Role
from millpond.model.run import NewRun, RunReport
from millpond.model.series import Points
from millpond.services import lineage_graph
from millpond.services.datasets import files, reading, urls
from millpond.services.datasets.urls import UrlsWanted
from millpond.services.lake import collect
from millpond.services.lineage_graph import GraphAsked
from millpond.services.models import aliases, bin, comparison, models, registration, version_files, versions
from millpond.services.models.versions import VersionEdit
from millpond.services.runs import artifacts, experiments, logged_models, reports, runs
from tests.unit.services.world import World

DAY = 86_400
MLMODEL = b"""
flavors: {python_function: {loader_module: x}, sklearn: {code: null}}
signature:
  inputs: '[{"type": "double", "name": "age", "required": true}]'
  outputs: '[{"type": "tensor", "tensor-spec": {"dtype": "int64", "shape": [-1]}}]'
  params: null
"""


@pytest.fixture
def run_id(world: World) -> str:
    """A run with a metric, a parameter and two files below `model/`."""
    run = runs.create(world.deps, world.maria, world.project, NewRun(name="train", params={"lr": 0.1})).run.id
    points = {"acc": Points.of([0, 1], [0.5, 0.9], [0, 1])}
    reports.take_report(world.deps, world.maria, world.project, run, RunReport(points=points))
    for path, content in {"model/MLmodel": MLMODEL, "model/data/w.bin": b"weights", "log.txt": b"x"}.items():
        artifacts.put(world.deps, world.maria, world.project, run, path, content)
    return run


def register(world: World, source: ModelSource, name: str = "chest", **more: object) -> ModelVersionView:
    asked = replace(NewModelVersion(name, source), **more)  # type: ignore[arg-type]
    return registration.register(world.deps, world.maria, world.project, asked)


def paths(world: World, view: ModelVersionView) -> list[str]:
    with world.deps.db.read() as tx:
        model = models.find(tx, world.project, view.model)
    return [entry.path.decode() for entry in reading.reader_of(world.deps, model.dataset, view.commit).entries()]


def listed(world: World, name: str = "chest") -> list[int]:
    found = versions.list_versions(world.deps, world.project, name, limit=100, cursor=None)
    return [item.version.number for item in found.items]


def test_a_version_of_a_run_has_its_files_metrics_parameters_and_signature(world: World, run_id: str) -> None:
    made = register(world, FromRun(run_id, "model"), description="first", tags={"team": "vision"}, aliases=["champion"])
    assert (made.written, made.state, made.aliases) == ("chest@1", VersionState.READY, ("champion",))
    assert paths(world, made) == ["MLmodel", "data/w.bin"]
    assert (made.facts.metrics, made.facts.params) == ({"acc": 0.9}, {"lr": "0.1"})
    assert json.loads(made.facts.signature)["outputs"] and made.facts.flavors == ("python_function", "sklearn")
    assert (made.facts.source, made.facts.run_id) == (f"runs:/{run_id}/model", run_id)
    assert (made.version.description, made.version.tags) == ("first", {"team": "vision"})
    assert [view.written for view in versions.of_run(world.deps, world.maria, world.project, run_id)] == ["chest@1"]


def test_no_file_is_stored_again(world: World, run_id: str) -> None:
    packs = len(list(world.deps.store.list(f"projects/{world.project.id}/packs/")))
    made = register(world, FromRun(run_id, "model"))
    assert len(list(world.deps.store.list(f"projects/{world.project.id}/packs/"))) == packs
    with world.deps.db.read() as tx:
        model = models.find(tx, world.project, "chest")
    file = files.open_file(world.deps, model.dataset, made.commit, "data/w.bin")
    assert b"".join(file.read(world.deps, 0, file.size)) == b"weights"


def test_one_file_and_all_artifacts_are_sources_too(world: World, run_id: str) -> None:
    assert paths(world, register(world, FromRun(run_id, "model/data/w.bin"))) == ["w.bin"]
    assert paths(world, register(world, FromRun(run_id))) == ["log.txt", "model/MLmodel", "model/data/w.bin"]
    assert paths(world, register(world, FromCommit(f".artifacts@{run_id}:model/data"))) == ["w.bin"]


def test_a_path_that_a_run_does_not_have_is_named_as_an_artifact(world: World, run_id: str) -> None:
    with pytest.raises(NotFound, match=f"Run {run_id} has no artifact 'modell'") as near:
        register(world, FromRun(run_id, "modell"))
    assert near.value.hint == "Did you mean 'model'?"
    with pytest.raises(NotFound) as far:
        register(world, FromRun(run_id, "zzz"))
    assert far.value.hint == f"List them: mill run artifacts {run_id}"


def test_numbers_have_no_gaps_under_concurrency(world: World, run_id: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: register(world, FromRun(run_id, "model")), range(24)))
    assert sorted(view.version.number for view in made) == list(range(1, 25))
    assert listed(world) == list(range(24, 0, -1))


def test_a_version_that_is_copied_names_where_it_came_from(world: World, run_id: str) -> None:
    first = register(world, FromRun(run_id, "model"))
    copy = register(world, FromVersion("chest", "1"), name="My Model")
    assert copy.commit.tree == first.commit.tree and copy.facts.source == "models:/chest/1"
    assert copy.facts.metrics == first.facts.metrics
    with world.deps.db.read() as tx:
        steps = lineage_steps.steps(tx, copy.commit.id, LineageDirection.UP, depth=1, limit=10, among=None)
    assert [step.source.id for step in steps if step.source] == [first.commit.id]


def test_lineage_leads_to_the_run(world: World, run_id: str) -> None:
    made = register(world, FromRun(run_id, "model"), lineage={"step": "f#1/train"})
    assert made.commit.lineage["run"] == run_id and made.commit.lineage["step"] == "f#1/train"
    with world.deps.db.read() as tx:
        (step,) = lineage_steps.steps(tx, made.commit.id, LineageDirection.UP, depth=1, limit=10, among=None)
    assert step.maker == Maker("run", run_id)


def test_parameters_that_look_like_commits_are_no_lineage(world: World, run_id: str) -> None:
    made = register(world, FromRun(run_id, "model"), params={"digest": "a" * 64})
    with world.deps.db.read() as tx:
        (step,) = lineage_steps.steps(tx, made.commit.id, LineageDirection.UP, depth=1, limit=10, among=None)
    assert step.source is None


def test_a_logged_model_is_a_source(world: World, run_id: str) -> None:
    experiments.ensure_default(world.deps, world.project)
    default = experiments.find(world.deps, world.project, "default")
    model = logged_models.create(
        world.deps, world.maria, world.project, default, name="m", type="", run_id=run_id, params={"depth": "3"},
        tags={},
    )  # fmt: skip
    artifacts.put(world.deps, world.maria, world.project, run_id, f"{model.folder}/MLmodel", MLMODEL)
    made = register(world, FromLoggedModel(model.id))
    assert paths(world, made) == ["MLmodel"]
    assert (made.facts.logged_model, made.facts.params["depth"]) == (model.id, "3")


def test_files_elsewhere_are_only_named(world: World) -> None:
    made = register(world, FromElsewhere("s3://bucket/model"), metrics={"f1": 0.5}, signature='{"inputs": "[]"}')
    assert (made.state, made.commit.files, made.facts.source) == (VersionState.ELSEWHERE, 0, "s3://bucket/model")
    assert made.facts.metrics == {"f1": 0.5}


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (FromRun("nothere", "model"), NotFound),
        (FromCommit("xray@main"), NotFound),
        (FromCommit("other/xray@main"), BadRequest),
        (FromCommit(".artifacts@nothere"), NotFound),
        (FromVersion("nothere", "1"), NotFound),
        (FromLoggedModel("m-nothere"), NotFound),
        (FromElsewhere(""), Invalid),
    ],
)
def test_a_source_that_is_not_there_creates_no_model(world: World, source: ModelSource, error: type[Exception]) -> None:
    with pytest.raises(error):
        register(world, source)
    assert not models.all_of(world.deps, world.project)


def test_a_wrong_path_names_the_nearest(world: World, run_id: str) -> None:
    with pytest.raises(NotFound) as caught:
        register(world, FromRun(run_id, "modell"))
    assert caught.value.details["near"] == ["model"]


@pytest.mark.parametrize("name", ["", " a", "a/b", "a:b", "a@b", "..", "x" * 201, "a\nb"])
def test_names_of_models(world: World, name: str) -> None:
    with pytest.raises(BadName):
        models.create(world.deps, world.maria, world.project, name)


@pytest.mark.parametrize("alias", ["", "1", "v3", "latest", "main", "a/b", "a b", "x" * 101])
def test_aliases_that_are_refused(world: World, run_id: str, alias: str) -> None:
    register(world, FromRun(run_id, "model"))
    with pytest.raises(BadName):
        aliases.point(world.deps, world.maria, world.project, "chest", alias, "1")


def test_viewers_register_nothing(world: World, run_id: str) -> None:
    viewer = replace(world.maria, roles={world.project.id: Role.VIEWER})
    with pytest.raises(Forbidden):
        registration.register(world.deps, viewer, world.project, NewModelVersion("chest", FromRun(run_id, "model")))


def test_an_alias_moves_and_resolves_as_a_dataset_ref(world: World, run_id: str) -> None:
    first, second = register(world, FromRun(run_id, "model")), register(world, FromRun(run_id, "model"))
    for version in ("1", "2"):
        aliases.point(world.deps, world.maria, world.project, "chest", "champion", version)
    with world.deps.db.read() as tx:
        dataset = models.find(tx, world.project, "chest").dataset
    at = {ref: reading.get_commit(world.deps, dataset, ref).id for ref in ("1", "champion", "latest", None)}
    assert at == {
        "1": first.commit.id,
        "champion": second.commit.id,
        "latest": second.commit.id,
        None: second.commit.id,
    }
    assert versions.get(world.deps, world.project, "chest", "champion").written == "chest@2"
    aliases.remove(world.deps, world.maria, world.project, "chest", "champion")
    with pytest.raises(NotFound):
        versions.get(world.deps, world.project, "chest", "champion")


def test_a_stage_archives_the_others(world: World, run_id: str) -> None:
    for _ in range(2):
        register(world, FromRun(run_id, "model"))
    production = VersionEdit(stage=ModelStage.PRODUCTION, archive_others=True)
    for version in ("1", "2"):
        versions.edit(world.deps, world.maria, world.project, "chest", version, production)
    found = versions.all_of(world.deps, world.project)
    assert [(view.version.number, view.version.stage) for view in found] == [
        (2, ModelStage.PRODUCTION),
        (1, ModelStage.ARCHIVED),
    ]


def test_a_deleted_version_comes_back_and_its_number_is_never_used_again(world: World, run_id: str) -> None:
    register(world, FromRun(run_id, "model"), aliases=["champion"])
    register(world, FromRun(run_id, "model"), aliases=["candidate"])
    bin.delete_version(world.deps, world.maria, world.project, "chest", "candidate")
    assert listed(world) == [1] and models.get(world.deps, world.project, "chest").aliases == {"champion": 1}
    with world.deps.db.read() as tx:
        dataset = models.find(tx, world.project, "chest").dataset
    with pytest.raises(NotFound):
        reading.get_commit(world.deps, dataset, "2")
    bin.undelete_version(world.deps, world.maria, world.project, "chest", "2")
    assert listed(world) == [2, 1]
    bin.delete_version(world.deps, world.maria, world.project, "chest", "2")
    world.clock.advance(60 * DAY)
    assert bin.purge_versions(world.deps, world.clock.now()) == 1
    assert register(world, FromRun(run_id, "model")).version.number == 3
    with pytest.raises(NotFound):
        bin.undelete_version(world.deps, world.maria, world.project, "chest", "2")


def test_the_collector_takes_what_a_purged_version_held_and_nothing_else(world: World, run_id: str) -> None:
    kept = register(world, FromRun(run_id, "model"))
    gone = register(world, FromRun(run_id, "log.txt"))
    bin.delete_version(world.deps, world.maria, world.project, "chest", "2")
    world.clock.advance(60 * DAY)
    bin.purge_versions(world.deps, world.clock.now())
    for _ in range(2):
        world.clock.advance(30 * DAY)
        collect.collect(world.deps, world.maria, now=True)
    with world.deps.db.read() as tx:
        assert commits.get(tx, gone.commit.id) is None and commits.get(tx, kept.commit.id) is not None


def test_a_deleted_model_comes_back_with_everything(world: World, run_id: str) -> None:
    register(world, FromRun(run_id, "model"), aliases=["champion"], tags={"a": "b"})
    bin.delete_model(world.deps, world.maria, world.project, "chest")
    assert not models.all_of(world.deps, world.project)
    register(world, FromRun(run_id, "model"))
    with pytest.raises(NameTaken):
        bin.undelete_model(world.deps, world.maria, world.project, "chest")
    models.change(world.deps, world.maria, world.project, "chest", new_name="Other chest")
    back = bin.undelete_model(world.deps, world.maria, world.project, "chest")
    assert (back.aliases, back.versions) == ({"champion": 1}, 1)
    names = [view.model.name for view in models.all_of(world.deps, world.project)]
    assert names == ["Other chest", "chest"]


def test_a_model_that_a_job_reads_is_not_deleted(world: World, run_id: str) -> None:
    register(world, FromRun(run_id, "model"), aliases=["champion"])
    job = world.submit(inputs=[".models.chest@champion"])
    assert job.spec.inputs[0].env == "MILL_DATA_MODELS_CHEST"
    with pytest.raises(InUse):
        bin.delete_model(world.deps, world.maria, world.project, "chest")


def test_a_version_that_a_job_reads_is_an_input_of_its_run(world: World, run_id: str) -> None:
    view = register(world, FromRun(run_id, "model"))
    job = world.submit()
    roles = {world.project.id: Role.MEMBER}
    actor = Actor(kind=ActorKind.PLACEMENT, name="job", placement_id="p1", job_id=job.id, roles=roles)
    with world.deps.db.read() as tx:
        dataset = models.find(tx, world.project, "chest").dataset
        packs = [
            pack for found in blobs.packs_of_pages(tx, world.project.id, [view.commit.tree]).values() for pack in found
        ]
    for _ in range(2):
        assert urls.sign(world.deps, actor, dataset, view.commit, UrlsWanted(packs=packs)).packs
        version_files.open_file(world.deps, actor, world.project, dataset.id, 1, "MLmodel")
    asked = GraphAsked((LineageDirection.UP,), 1, 100, 100)
    graph = lineage_graph.of_run(world.deps, world.maria, world.project, job.run_id, asked)
    assert [link.source.id for link in graph.links] == [view.commit.id], "noted once, however often it is read"
    elsewhere = replace(actor, roles={"another": Role.MEMBER})
    with pytest.raises(Forbidden):
        urls.sign(world.deps, elsewhere, dataset, view.commit, UrlsWanted(packs=packs))
    person = register(world, FromRun(run_id, "model/data"))
    urls.sign(world.deps, world.maria, dataset, person.commit, UrlsWanted(pages=[person.commit.tree]))
    assert len(lineage_graph.of_run(world.deps, world.maria, world.project, job.run_id, asked).links) == 1


def test_two_versions_are_compared(world: World, run_id: str) -> None:
    register(world, FromRun(run_id, "model"))
    register(world, FromRun(run_id, "model/data"), metrics={"acc": 0.95, "f1": 0.5}, params={"lr": "0.2"})
    found = comparison.compare(world.deps, world.project, "chest", "1", "2")
    metrics = {one.key: (one.before, one.after) for one in found.facts.metrics}
    assert metrics == {"acc": (0.9, 0.95), "f1": (None, 0.5)}
    assert [(one.key, one.before, one.after) for one in found.facts.params] == [("lr", "0.1", "0.2")]
    assert {one.key: one.before for one in found.facts.signature} == {"inputs.age": "double", "outputs.0": "int64 [-1]"}
    assert (found.files.summary.removed, found.files.summary.renamed) == (1, 1)


def test_what_a_crash_left_is_finished_without_a_gap(
    world: World, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server dies between the two transactions of a registration."""
    register(world, FromRun(run_id, "model"))

    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patched, pytest.raises(Died):
        patched.setattr(registration.records, "finish", die)
        register(world, FromRun(run_id, "model"))
    assert listed(world) == [1]
    assert registration.records.finish_pending(world.deps) == 1
    assert listed(world) == [2, 1]
    assert register(world, FromRun(run_id, "model")).version.number == 3
    with world.deps.db.read() as tx:
        model = models.find(tx, world.project, "chest")
        assert rows.known_numbers(tx, model.dataset.id) == {1, 2, 3}
