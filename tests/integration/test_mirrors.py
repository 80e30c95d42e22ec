"""Mirrors of datasets to a real bucket: only differences, nothing of others touched, failures with reasons."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import urllib3

from millpond.blobs.external_s3 import S3Place
from millpond.client.connections import allow_writing, change_credentials, delete_connection
from millpond.client.datasets import create_dataset
from millpond.client.edits import put_files, remove_paths
from millpond.client.mirrors import (
    change_mirror,
    create_mirror,
    delete_mirror,
    get_mirror,
    list_mirrors,
    plan_mirror,
    plan_new_mirror,
    run_mirror,
)
from millpond.db import mirrors, projects
from millpond.errors import BadRequest, Forbidden, InUse, NameTaken, NotFound, NotReady
from millpond.services.mirrors import lag, rounds
from millpond.services.sources import connections
from millpond.testing.builders_data import GB, a_volume, an_agent
from millpond.testing.seaweed import Seaweed
from millpond.testing.workspaces import WorkspaceDisk
from millpond.wire.mirrors import Mirror, MirrorChange, MirrorCreate
from tests.integration.outside import KEYS, Importing, importing

BIG = random.Random(6).randbytes(2_500_000)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("mirrors"), seaweed, bucket="copies") as running:
        running.connect("copies", writable=True)
        yield running


class Killed(BaseException):
    """Nothing of the server catches it, as nothing catches a kill."""


def put(there: Importing, dataset: str, root: Path, **contents: bytes) -> None:
    files = {}
    for number, (name, data) in enumerate(contents.items()):
        files[name] = root / f"{dataset}-{number}"
        files[name].write_bytes(data)
    put_files(there.api, "default", dataset, files)


def a_dataset(there: Importing, name: str, root: Path, **contents: bytes) -> str:
    create_dataset(there.api, "default", name)
    put(there, name, root, **(contents or {"a": b"first a", "b/c": b"first c", "empty": b""}))
    return name


def a_mirror(there: Importing, named: str, **more: Any) -> Mirror:
    asked = {"source": named, "target": there.uri(named)} | more
    return create_mirror(there.api, "default", MirrorCreate.model_validate(asked))


def run_due(there: Importing) -> int:
    return rounds.run_due(there.server.deps, there.server.deps.clock.now())


def ran(there: Importing, mirror: Mirror) -> Mirror:
    if run_due(there) == 0:
        run_mirror(there.api, "default", mirror.id)
        assert run_due(there) == 1
    return get_mirror(there.api, "default", mirror.id)


def content(there: Importing, prefix: str) -> dict[str, bytes]:
    """Without any of our code, but for the list."""
    found, deps = {}, there.server.deps
    with deps.db.read() as tx:
        project = projects.find(tx, "default")
    assert project is not None
    with connections.opened(deps, connections.get(deps, project, "copies")) as place:
        for one in place.list(there.uri(f"{prefix}/")):
            url = f"{there.bucket.endpoint}/{one.uri.removeprefix('s3://')}"
            found[one.uri.removeprefix(there.uri(f"{prefix}/"))] = urllib3.request("GET", url).data
    return found


def counts(mirror: Mirror) -> tuple[int, int, int, int]:
    result = mirror.result
    assert result is not None
    return result.copied, result.unchanged, result.removed, result.conflict_count


def test_a_branch_is_mirrored_and_then_only_differences(there: Importing, tmp_path: Path) -> None:
    a_dataset(there, "scans", tmp_path, a=b"first a", **{"b/c": b"first c", "empty": b"", "big": BIG})
    asked = MirrorCreate(source="scans@main", target=there.uri("scans"))
    planned = plan_new_mirror(there.api, "default", asked)
    assert (planned.dry_run, planned.copied, planned.copied_bytes) == (True, 4, 14 + len(BIG))
    assert list(list_mirrors(there.api, "default")) == [] and content(there, "scans") == {}
    mirror = ran(there, a_mirror(there, "scans"))
    assert (mirror.state, mirror.problem, mirror.source, mirror.target) == (
        "waiting", None, "scans@main", there.uri("scans/"),
    )  # fmt: skip
    assert counts(mirror) == (4, 0, 0, 0)
    assert content(there, "scans") == {"a": b"first a", "b/c": b"first c", "empty": b"", "big": BIG}
    assert mirror.next_at is not None and mirror.started_at is not None
    assert mirror.next_at - mirror.started_at == timedelta(hours=1)
    assert counts(ran(there, mirror)) == (0, 4, 0, 0)
    put(there, "scans", tmp_path, a=b"second a", new=b"new")
    remove_paths(there.api, "default", "scans", ["b/c"])
    assert counts(ran(there, mirror)) == (2, 2, 1, 0)
    assert content(there, "scans") == {"a": b"second a", "new": b"new", "empty": b"", "big": BIG}


def test_what_others_put_or_changed_is_listed_and_stays(there: Importing, tmp_path: Path) -> None:
    there.bucket.put("theirs/b/c", b"by somebody else")
    there.bucket.put("theirs/a", b"first a")
    there.bucket.put("theirs/other", b"not ours")
    mirror = ran(there, a_mirror(there, a_dataset(there, "theirs", tmp_path)))
    assert counts(mirror) == (1, 1, 0, 1), "what is the same already is taken as mirrored"
    assert mirror.result is not None
    assert [(one.path, one.reason) for one in mirror.result.conflicts] == [
        ("b/c", "an object of this name was there before")
    ]
    there.bucket.put("theirs/a", b"changed by somebody")
    put(there, "theirs", tmp_path, a=b"second a")
    mirror = ran(there, mirror)
    assert mirror.result is not None
    assert {one.path: one.reason for one in mirror.result.conflicts} == {
        "a": "changed at the target by others", "b/c": "an object of this name was there before",
    }  # fmt: skip
    remove_paths(there.api, "default", "theirs", ["a", "b/c"])
    mirror = ran(there, mirror)
    assert mirror.result is not None and mirror.result.removed == 0
    assert [one.path for one in mirror.result.conflicts] == ["a"]
    assert content(there, "theirs") == {
        "a": b"changed by somebody", "b/c": b"by somebody else", "other": b"not ours", "empty": b"",
    }  # fmt: skip
    there.bucket.remove("theirs/a")
    assert counts(ran(there, mirror)) == (0, 1, 0, 0), "once it is gone there, nothing is left to tell"


def test_what_vanished_at_the_target_is_put_again(there: Importing, tmp_path: Path) -> None:
    mirror = ran(there, a_mirror(there, a_dataset(there, "vanished", tmp_path)))
    there.bucket.remove("vanished/a")
    assert counts(ran(there, mirror)) == (1, 2, 0, 0)
    assert content(there, "vanished")["a"] == b"first a"


def test_an_object_that_comes_between_list_and_put_is_not_overwritten(
    there: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = a_mirror(there, a_dataset(there, "between", tmp_path))
    real = S3Place.write

    def meanwhile(self: S3Place, uri: str, *rest: Any) -> str:
        if uri.endswith("/a"):
            there.bucket.put("between/a", b"quicker")
        return real(self, uri, *rest)

    monkeypatch.setattr(S3Place, "write", meanwhile)
    mirror = ran(there, mirror)
    assert mirror.result is not None
    assert [(one.path, one.reason) for one in mirror.result.conflicts] == [
        ("a", "somebody else has put an object there in the meantime")
    ]
    assert content(there, "between")["a"] == b"quicker"


@pytest.mark.parametrize("noted", [False, True], ids=["before its note", "after its note"])
def test_a_server_that_died_in_between_leaves_nothing_torn(
    there: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: bool
) -> None:
    """Another one takes over once the claim is over, and sends nothing again that arrived."""
    name = f"died-{noted}".lower()
    contents = {f"{n:02d}": f"content {n}".encode() for n in range(20)}
    mirror = a_mirror(there, a_dataset(there, name, tmp_path, **contents))
    monkeypatch.setattr("millpond.services.mirrors.to_bucket._BATCH_ENTRIES", 5)
    real, calls = mirrors.put_objects, list[int]()

    def dies(tx: Any, mirror_id: str, found: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            if noted:
                real(tx, mirror_id, found)
                tx.commit()
            raise Killed
        real(tx, mirror_id, found)

    monkeypatch.setattr(mirrors, "put_objects", dies)
    with pytest.raises(Killed):
        run_due(there)
    monkeypatch.setattr(mirrors, "put_objects", real)
    assert get_mirror(there.api, "default", mirror.id).state == "running"
    sent = len(content(there, name))
    assert 10 <= sent <= 15, "what was on its way behind the second batch may have arrived"
    assert run_due(there) == 0, "the claim of the dead server still counts"
    deps = there.server.deps
    with deps.db.write() as tx:  # as if two minutes had passed
        mirrors.change(tx, mirror.id, runner_until=deps.clock.now() - timedelta(seconds=1))
    mirror = ran(there, mirror)
    assert counts(mirror) == (20 - sent, sent, 0, 0) and mirror.failures == 0
    assert content(there, name) == contents


def test_lag_is_counted_in_commits_bytes_and_time(there: Importing, tmp_path: Path) -> None:
    mirror = a_mirror(there, a_dataset(there, "lagging", tmp_path))
    deps = there.server.deps
    lag.count_all(deps, deps.clock.now())
    first = get_mirror(there.api, "default", mirror.id).lag
    assert first is not None and (first.commits, first.bytes) == (1, 14) and first.seconds >= 0
    mirror = ran(there, mirror)
    lag.count_all(deps, deps.clock.now())
    assert get_mirror(there.api, "default", mirror.id).lag is not None
    done = get_mirror(there.api, "default", mirror.id).lag
    assert done is not None and (done.commits, done.bytes, done.seconds) == (0, 0, 0)
    put(there, "lagging", tmp_path, a=b"12345")
    put(there, "lagging", tmp_path, d=b"1234567890")
    assert lag.count_all(deps, deps.clock.now()) >= 1
    behind = get_mirror(there.api, "default", mirror.id).lag
    assert behind is not None and (behind.commits, behind.bytes) == (2, 15)
    assert lag.count_all(deps, deps.clock.now()) == 0, "what is known is not counted again"


def test_credentials_that_no_longer_suffice_are_told_and_tried_again(
    there: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.connect("revoked", url=there.uri("revoked"), writable=True)
    mirror = a_mirror(there, a_dataset(there, "revoked", tmp_path), connection="revoked")
    allow_writing(there.api, "default", "revoked", writable=False)
    failed = ran(there, mirror)
    assert failed.state == "failing" and failed.problem is not None and "is for reading only" in failed.problem
    assert failed.next_at is not None and failed.ended_at is not None
    assert failed.next_at - failed.ended_at == timedelta(minutes=1)
    allow_writing(there.api, "default", "revoked", writable=True)

    def denied(self: S3Place, uri: str, *rest: Any) -> str:
        raise Forbidden(f"Access to {uri} denied.", hint="Check the connection's keys, and what they allow.")

    with monkeypatch.context() as patched:
        patched.setattr(S3Place, "write", denied)
        failed = ran(there, mirror)
    assert (
        failed.failures == 2 and failed.problem is not None and "denied. Check the connection's keys" in failed.problem
    )
    change_credentials(there.api, "default", "revoked", None)
    change_credentials(there.api, "default", "revoked", KEYS)
    assert ran(there, mirror).problem is None


def test_a_bucket_that_is_gone_is_told(there: Importing, tmp_path: Path) -> None:
    there.connect("nowhere", url="s3://no-such-bucket", writable=True)
    mirror = ran(there, a_mirror(there, a_dataset(there, "nowhere", tmp_path), target="s3://no-such-bucket/x"))
    assert mirror.state == "failing" and mirror.problem is not None and "no-such-bucket" in mirror.problem


def test_names_that_cannot_be_keys_are_left_out(there: Importing, tmp_path: Path) -> None:
    long = "/".join(["x" * 200] * 6)
    a_dataset(there, "odd", tmp_path, **{"plain": b"1", long: b"2", "sp ace+%ü": b"3"})
    put(there, "odd", tmp_path, **{"\\xff": b"4"})
    mirror = ran(there, a_mirror(there, "odd"))
    assert mirror.result is not None and mirror.result.copied == 2
    assert {one.path: one.reason for one in mirror.result.skipped} == {
        long: "its key would be longer than 1024 bytes", "\\xff": "its name is not UTF-8, as keys are",
    }  # fmt: skip
    assert content(there, "odd") == {"plain": b"1", "sp ace+%ü": b"3"}


def test_a_source_that_is_suddenly_empty_empties_nothing(there: Importing, tmp_path: Path) -> None:
    mirror = ran(there, a_mirror(there, a_dataset(there, "emptied", tmp_path)))
    remove_paths(there.api, "default", "emptied", ["a", "b/c", "empty"])
    failed = ran(there, mirror)
    assert failed.problem is not None and "is empty now; 3 objects at the target stay" in failed.problem
    assert len(content(there, "emptied")) == 3


def test_pausing_and_what_is_asked_for_during_a_run(
    there: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = ran(there, a_mirror(there, a_dataset(there, "paused", tmp_path)))
    assert change_mirror(there.api, "default", mirror.id, MirrorChange(paused=True)).state == "paused"
    with pytest.raises(NotReady, match="is paused"):
        run_mirror(there.api, "default", mirror.id)
    resumed = change_mirror(there.api, "default", mirror.id, MirrorChange(paused=False, every_seconds=7200))
    assert (resumed.state, resumed.every_seconds) == ("waiting", 7200)
    real = rounds._to_bucket
    runs: list[int] = []

    def meanwhile(*arguments: Any) -> Any:
        runs.append(len(runs))
        if len(runs) == 1:
            run_mirror(there.api, "default", mirror.id)
        return real(*arguments)

    monkeypatch.setattr(rounds, "_to_bucket", meanwhile)
    assert run_due(there) == 2, "the run under way may have looked before what they want to see was there"


def test_a_run_that_is_paused_goes_on_where_it_was(
    there: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = a_mirror(there, a_dataset(there, "stopped", tmp_path))
    real = rounds._to_bucket

    def paused(*arguments: Any) -> Any:
        change_mirror(there.api, "default", mirror.id, MirrorChange(paused=True))
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(rounds, "_to_bucket", paused)
        run_due(there)
    assert get_mirror(there.api, "default", mirror.id).state == "paused"
    assert run_due(there) == 0
    change_mirror(there.api, "default", mirror.id, MirrorChange(paused=False))
    assert counts(ran(there, mirror)) == (3, 0, 0, 0)


def test_what_cannot_be_mirrored_is_refused_at_once(there: Importing, tmp_path: Path) -> None:
    there.connect("readonly", url=there.uri("readonly"))
    a_dataset(there, "refused", tmp_path)
    for more, error, words in (
        ({"source": "nothing"}, NotFound, "nothing"),
        ({"source": "refused@none"}, NotFound, "none"),
        ({"target": "gs://b/x"}, BadRequest, "cannot be mirrored to"),
        ({"target": "nowhere"}, NotFound, "site 'nowhere'"),
        ({"target": "s3://other/x"}, NotFound, "No connection"),
        ({"target": there.uri("a//b")}, BadRequest, "is not a prefix"),
        ({"target": there.uri("readonly/x"), "connection": "readonly"}, Forbidden, "for reading only"),
        ({"label": "daily"}, BadRequest, "only snapshots of workspaces"),
        ({"volume": "v"}, BadRequest, "has no volumes"),
    ):
        with pytest.raises(error, match=words):
            a_mirror(there, "refused", **more)
    a_mirror(there, "refused", name="one")
    with pytest.raises(InUse, match="Mirror 'one' writes to"):
        a_mirror(there, "refused", target=there.uri("refused/below"))
    with pytest.raises(NameTaken):
        a_mirror(there, "refused", name="one", target=there.uri("elsewhere"))
    with pytest.raises(InUse, match="Mirrors write through"):
        delete_connection(there.api, "default", "copies")
    delete_mirror(there.api, "default", "one")
    with pytest.raises(NotFound):
        plan_mirror(there.api, "default", "one")


def test_snapshots_of_a_label_go_to_a_bucket(there: Importing, tmp_path: Path) -> None:
    server, every = there.server, "/projects/default/workspaces"
    agent = an_agent(server.deps, "lab")
    a_volume(server.deps, agent, "lab-nfs", capacity=10 * GB, reserve_bytes=0)
    disk = WorkspaceDisk(server, agent, tmp_path / "volume")
    made = server.admin.post(every, json={"name": "lab", "size_bytes": GB, "volume": "lab-nfs"})
    assert made.status_code == 201, made.text
    disk.carry_out()
    mirror = ran(there, a_mirror(there, "lab", source="lab@daily*"))
    assert mirror.problem is not None and "no kept snapshot 'daily' yet" in mirror.problem
    assert "mill workspace snapshot lab daily --keep 7" in mirror.problem
    file = disk.tree(made.json()["id"]) / "a.txt"
    for text, snapshot in (("one", {"name": "daily", "keep": "7"}), ("two", {"name": "daily", "keep": "7"})):
        file.write_text(text)
        assert server.admin.post(f"{every}/lab/snapshots", json=snapshot).is_success
        disk.carry_out()
        ran(there, mirror)
    file.write_text("three")
    assert server.admin.post(f"{every}/lab/snapshots", json={"name": "other"}).is_success
    disk.carry_out()
    mirror = ran(there, mirror)
    assert (mirror.source, mirror.problem, mirror.workspace) == ("lab@daily", None, "lab")
    assert content(there, "lab") == {"a.txt": b"two"}
