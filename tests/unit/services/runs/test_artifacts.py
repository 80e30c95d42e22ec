"""Artifacts are commits: gathered, listed at once, kept from the collector, gone with their run."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert

from millpond.db import actors, commits, datasets, lineage_steps, users
from millpond.db import artifacts as rows
from millpond.db.tables import loose_artifact
from millpond.errors import BadPath, Incomplete, NotFound, TooLarge
from millpond.lake.digests import digest_of
from millpond.lake.keys import ProjectKeys
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.stable_read import read_chunks
from millpond.lake.transfer import Meter
from millpond.model.dataset import Commit, DatasetKind
from millpond.model.lineage import LineageDirection, Maker
from millpond.model.people import Actor, Role
from millpond.model.run import NewRun
from millpond.services.caches import requests as cache_requests
from millpond.services.commits.uploads import uploads
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.datasets import reading
from millpond.services.jobs import bin
from millpond.services.lake import collect
from millpond.services.runs import artifact_commits, artifact_staging, artifacts, runs
from millpond.testing.server import add_user
from millpond.wire.runs import ArtifactPut, ArtifactsLogged
from tests.unit.services.world import World

DAY = 86_400


@pytest.fixture
def run_id(world: World) -> str:
    return runs.create(world.deps, world.maria, world.project, NewRun(name="train")).run.id


def put(world: World, run_id: str, path: str, content: bytes, actor: Actor | None = None) -> None:
    artifacts.put(world.deps, actor or world.maria, world.project, run_id, path, content)


def read(world: World, run_id: str, path: str) -> bytes:
    file = artifacts.open_artifact(world.deps, world.maria, world.project, run_id, path)
    return b"".join(file.read(world.deps, 0, file.size))


def listed(world: World, run_id: str) -> dict[str, int]:
    found = artifacts.list_artifacts(world.deps, world.maria, world.project, run_id, limit=1000, cursor=None)
    return {item.path: item.size for item in found.items}


def commits_of(world: World) -> list[Commit]:
    with world.deps.db.read() as tx:
        dataset = datasets.find(tx, world.project.id, ".artifacts")
        return list(commits.page(tx, dataset.id, limit=1000)) if dataset else []


def collect_now(world: World) -> None:
    """Whatever nothing names goes, without the days it would be set aside for."""
    for _ in range(2):
        world.clock.advance(30 * DAY)
        (project,) = collect.collect(world.deps, world.maria, now=True).projects
        assert project.problem is None


def test_what_was_just_logged_is_part_of_a_jobs_input_and_of_what_is_cached(world: World, run_id: str) -> None:
    put(world, run_id, "model.bin", b"one")
    job = world.submit(inputs=[f".artifacts@{run_id}"])
    put(world, run_id, "more.bin", b"two")
    later = world.submit(inputs=[f".artifacts@{run_id}"])
    assert [commit.files for commit in commits_of(world)] == [2, 1]
    assert [job.spec.inputs[0].commit_id for job in (later, job)] == [commit.id for commit in commits_of(world)]
    put(world, run_id, "third.bin", b"three")
    name = f"default/.artifacts@{run_id}"
    assert cache_requests.request(world.deps, world.maria, name, volume=world.volume.name).cached.files == 3


def test_what_a_job_has_just_logged_is_found_by_its_name(world: World) -> None:
    job = world.submit("train")
    put(world, job.run_id, "model.bin", b"one")
    after = world.submit(inputs=[".artifacts@train"])
    (commit,) = commits_of(world)
    assert after.spec.inputs[0].commit_id == commit.id


def test_many_are_gathered_into_one_commit_and_listed_at_once(world: World, run_id: str) -> None:
    for number in range(20):
        put(world, run_id, f"plots/{number:02}.png", b"%d" % number)
    assert commits_of(world) == []
    assert len(listed(world, run_id)) == 20
    assert read(world, run_id, "plots/07.png") == b"7"
    (commit,) = commits_of(world)
    assert (commit.files, commit.author, commit.lineage) == (20, world.maria.name, {"run": run_id})


def test_the_newest_takes_the_place_of_the_one_before(world: World, run_id: str) -> None:
    put(world, run_id, "model.pt", b"first")
    assert read(world, run_id, "model.pt") == b"first"
    put(world, run_id, "model.pt", b"second")
    put(world, run_id, "model.pt", b"third")
    put(world, run_id, "empty", b"")
    assert listed(world, run_id) == {"empty": 0, "model.pt": 5}
    assert read(world, run_id, "model.pt") == b"third"
    collect_now(world)
    assert len(commits_of(world)) == 1, "what was replaced is collected"
    assert read(world, run_id, "model.pt") == b"third"


def test_a_list_is_paged_and_may_be_of_a_folder(world: World, run_id: str) -> None:
    for path in ("a/1", "a/2", "b/1"):
        put(world, run_id, path, b"x")
    args = (world.deps, world.maria, world.project, run_id)
    first = artifacts.list_artifacts(*args, limit=2, cursor=None)
    rest = artifacts.list_artifacts(*args, limit=2, cursor=first.next)
    assert [item.path for item in (*first.items, *rest.items)] == ["a/1", "a/2", "b/1"]
    assert rest.next is None
    inside = artifacts.list_artifacts(*args, path="a", limit=9, cursor=None)
    assert [item.path for item in inside.items] == ["a/1", "a/2"]
    with pytest.raises(NotFound) as caught:
        read(world, run_id, "a/3")
    assert caught.value.details["near"]


def test_they_are_a_dataset_that_can_be_browsed_by_the_runs_id(world: World, run_id: str) -> None:
    put(world, run_id, "plots/a.png", b"x")
    put(world, run_id, "b.txt", b"y")
    with world.deps.db.read() as tx:
        dataset = datasets.find(tx, world.project.id, ".artifacts")
    assert dataset is not None and dataset.kind is DatasetKind.ARTIFACT
    commit = reading.get_commit(world.deps, dataset, run_id)
    shown = reading.entries(world.deps, dataset, commit, path="", limit=10, cursor=None)
    assert [entry.path for entry in shown.items] == ["b.txt", "plots"]


def test_a_large_file_goes_by_packs_of_an_upload(world: World, run_id: str, tmp_path: Path) -> None:
    content = random.Random(1).randbytes(9_000_000)
    (tmp_path / "model.bin").write_bytes(content)
    upload = uploads.create(world.deps, world.maria, world.project)
    with Packer(ServerUploader(world.deps, upload), Meter(None), PACK_TARGET) as packer:
        entry = read_chunks(bytes(tmp_path), b"model.bin", packer.add).entry
        packer.finish()
    sent = ArtifactPut(path="model.bin", size=entry.size, content="chunks", digest=entry.digest.hex())
    asked = ArtifactsLogged(upload=upload.id, puts=[sent])
    artifact_staging.stage(world.deps, world.maria, world.project, run_id, asked)
    assert listed(world, run_id) == {"model.bin": len(content)}
    assert read(world, run_id, "model.bin") == content


def test_content_that_was_not_sent_is_named(world: World, run_id: str) -> None:
    upload = uploads.create(world.deps, world.maria, world.project)
    digest = digest_of(b"never sent").hex()
    asked = ArtifactsLogged(upload=upload.id, puts=[ArtifactPut(path="a", size=10, content="blob", digest=digest)])
    with pytest.raises(Incomplete) as caught:
        artifact_staging.stage(world.deps, world.maria, world.project, run_id, asked)
    assert caught.value.details["blobs"] == [digest]
    assert listed(world, run_id) == {}


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../up", "a/../b", "a//b", "a\0b", "a\nb", "x" * 1001, "a\\b"])
def test_paths_that_lead_elsewhere_are_refused(world: World, run_id: str, path: str) -> None:
    with pytest.raises(BadPath):
        put(world, run_id, path, b"x")


def test_what_is_too_large_for_the_server_is_refused(world: World, run_id: str) -> None:
    with pytest.raises(TooLarge, match=r"at most 67\.1 MB"):
        put(world, run_id, "big", bytes((64 << 20) + 1))


def test_a_file_is_no_folder(world: World, run_id: str) -> None:
    put(world, run_id, "a/b", b"x")
    for _ in range(2):  # as long as it is staged, and once a commit holds it
        for path in ("a", "a/b/c"):
            with pytest.raises(BadPath):
                put(world, run_id, path, b"y")
        listed(world, run_id)
    assert listed(world, run_id) == {"a/b": 1}


def test_no_collection_takes_what_is_only_staged(world: World, run_id: str) -> None:
    put(world, run_id, "a", b"kept")
    collect_now(world)
    assert read(world, run_id, "a") == b"kept"


def test_several_people_and_threads_log_to_one_run(world: World, run_id: str) -> None:
    add_user(world.deps, "paul", roles={"default": Role.MEMBER})
    with world.deps.db.read() as tx:
        found = users.find(tx, "paul")
        assert found is not None
        paul = actors.of_user(tx, found)
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(put, world, run_id, f"{actor.name}/{number}", b"%d" % number, actor)
            for number in range(8)
            for actor in (world.maria, paul)
        ]
        reads = [pool.submit(listed, world, run_id) for _ in range(4)]
        for job in (*jobs, *reads):
            job.result()
    assert len(listed(world, run_id)) == 16
    assert read(world, run_id, "paul/3") == b"3"


def test_housekeeping_gathers_what_nobody_reads(world: World, run_id: str) -> None:
    put(world, run_id, "a", b"x")
    assert artifact_commits.gather_all(world.deps, world.clock.now()) == 1
    assert len(commits_of(world)) == 1
    assert artifact_commits.gather_all(world.deps, world.clock.now()) == 0


def test_they_go_with_their_run(world: World, run_id: str) -> None:
    put(world, run_id, "a", b"x")
    listed(world, run_id)
    runs.move_to_bin(world.deps, world.maria, world.project, run_id)
    collect_now(world)
    assert len(commits_of(world)) == 1, "a run in the bin can come back"
    bin.purge(world.deps, world.clock.now())
    collect_now(world)
    assert commits_of(world) == []
    packs = ProjectKeys(world.project.id).packs
    assert list(world.deps.store.list(packs)) == []


def test_loose_ones_of_earlier_versions_are_taken_in(world: World, run_id: str) -> None:
    loose = {"plots/old.png": b"old", "model": b"weights", "model/part": b"x", "replaced": b"old"}
    for number, (path, content) in enumerate(loose.items()):
        key = ProjectKeys(world.project.id).artifact(run_id, f"{number:064x}")
        world.deps.store.put(key, content)
        row = {"run_id": run_id, "path": path, "size": len(content), "key": key, "created_at": world.clock.now()}
        with world.deps.db.write() as tx:
            tx.execute(insert(loose_artifact), row)
    put(world, run_id, "replaced", b"new")
    assert read(world, run_id, "plots/old.png") == b"old"
    assert read(world, run_id, "replaced") == b"new"
    assert sorted(listed(world, run_id)) == ["model", "model_part.file", "plots/old.png", "replaced"]
    assert list(world.deps.store.list(ProjectKeys(world.project.id).artifacts(run_id))) == []
    with world.deps.db.read() as tx:
        assert not rows.is_waiting(tx, run_id)


def test_a_jobs_artifacts_know_what_they_were_made_from(world: World) -> None:
    job, _ = world.placed()
    put(world, job.run_id, "model", b"w")
    listed(world, job.run_id)
    (commit,) = commits_of(world)
    assert commit.lineage["job"] == job.id
    with world.deps.db.read() as tx:
        (step,) = lineage_steps.steps(tx, commit.id, LineageDirection.UP, among=None, depth=1, limit=9)
    assert step.maker == Maker("run", job.run_id)
