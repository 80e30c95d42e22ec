"""The toolkit's Cloud Sync and SnapMirror verbs, on sources and mirrors of a real server and bucket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from millpond.cli.main import main
from millpond.client.mirrors import create_mirror, get_mirror, list_mirrors
from millpond.client.sources import create_source
from millpond.dataops import traditional
from millpond.services.mirrors import rounds
from millpond.testing.builders_data import GB, a_volume, an_agent
from millpond.testing.seaweed import Seaweed
from millpond.testing.workspaces import WorkspaceDisk
from millpond.wire.imports import SourceCreate
from millpond.wire.mirrors import MirrorCreate
from tests.integration.outside import Importing, importing


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("relationships"), seaweed, bucket="relationships") as running:
        running.connect("archive", writable=True)
        yield running


def until_done(there: Importing, call: Callable[[], None]) -> None:
    """Call it as a script does, with the server's loops beside it."""
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(call)
        while wait([called], timeout=0.1).not_done:
            there.run_sources()
            rounds.run_due(there.server.deps, there.server.deps.clock.now())
        called.result()


def test_cloud_sync_runs_sources_and_mirrors_to_buckets(there: Importing) -> None:
    there.bucket.put("raw/a", b"one")
    asked = {"dataset": there.dataset("scans"), "connection": "archive", "uri": there.uri("raw/")}
    source = create_source(there.api, "default", SourceCreate.model_validate(asked))
    until_done(there, lambda: traditional.sync_cloud_sync_relationship(source.id, wait_until_complete=True))
    target = there.uri("copy/")
    mirror = create_mirror(there.api, "default", MirrorCreate(source="scans", target=target, name="copy"))
    assert traditional.list_cloud_sync_relationships() == [
        {"id": source.id, "source": there.uri("raw/"), "target": "scans@main"},
        {"id": mirror.id, "source": "scans@main", "target": target},
    ]
    until_done(there, lambda: traditional.sync_cloud_sync_relationship("copy", wait_until_complete=True))
    done = get_mirror(there.api, "default", "copy")
    assert done.result is not None and (done.problem, done.result.copied + done.result.unchanged) == (None, 1)
    there.bucket.remove("raw/a")
    with pytest.raises(traditional.CloudSyncSyncOperationError, match="Source scans failed: "):
        until_done(there, lambda: traditional.sync_cloud_sync_relationship(source.id, wait_until_complete=True))
    with pytest.raises(traditional.CloudSyncSyncOperationError, match="No source and no mirror to a bucket 'none'"):
        traditional.sync_cloud_sync_relationship("none")
    assert traditional.list_snap_mirror_relationships() == [], "those are to other sites"


def test_a_name_of_a_source_and_a_mirror_needs_an_id(there: Importing) -> None:
    there.bucket.put("both/a", b"one")
    asked = {"dataset": there.dataset("both"), "connection": "archive", "uri": there.uri("both/")}
    source = create_source(there.api, "default", SourceCreate.model_validate(asked))
    there.run_sources()
    create_mirror(there.api, "default", MirrorCreate(source="both", target=there.uri("both-copy/"), name=source.name))
    with pytest.raises(traditional.CloudSyncSyncOperationError, match=f"Give an id: {source.id} of the source"):
        traditional.sync_cloud_sync_relationship(source.name)


def test_snapmirror_mirrors_a_workspace_to_a_site(
    there: Importing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def typed(*words: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert main(["--json", "dataops", *words]) == code
        printed = capsys.readouterr()
        return json.loads(printed.out) if code == 0 else printed.err

    deps = there.server.deps
    near, far = an_agent(deps, "lab"), an_agent(deps, "far")
    a_volume(deps, near, "lab-nfs", capacity=10 * GB, reserve_bytes=0)
    a_volume(deps, far, "far-nfs", capacity=10 * GB, reserve_bytes=0)
    made = there.server.admin.post(
        "/projects/default/workspaces", json={"name": "study", "size_bytes": GB, "volume": "lab-nfs"}
    )
    assert made.is_success, made.text
    WorkspaceDisk(there.server, near, tmp_path / "volume").carry_out()

    create = ("create", "snapmirror-relationship", "-s", "svm1", "-v", "study", "-n", "dr")
    assert "Name the one to mirror to as target_svm" in typed(*create, code=5)
    assert "writes at both ends at once" in typed(*create, "-t", "far", "--policy=StrictSync", code=5)
    assert "is not an action" in typed(*create, "-t", "far", "-a", "break", code=5)
    assert "is not a duration" in typed(*create, "-t", "far", "-c", "often", code=5)
    assert "moon" in typed(*create, "-t", "moon", code=5)
    assert not [one for one in list_mirrors(there.api, "default") if one.site], "nothing of it was made"
    assert typed(*create, "-t", "far", "-c", "8hour", "-a", "initialize", "-u", "cluster1")
    mirror = get_mirror(there.api, "default", "dr")
    assert (mirror.workspace, mirror.site, mirror.every_seconds) == ("study", "far", 8 * 3600)

    (row,) = typed("list", "snapmirror-relationships", "-s", "far")
    assert row == {
        "UUID": mirror.id, "Type": "async", "Healthy": True, "Current Transfer Status": None, "Source Cluster": "",
        "Source SVM": "default", "Source Volume": "study", "Dest Cluster": "", "Dest SVM": "far", "Dest Volume": "dr",
    }  # fmt: skip
    assert typed("list", "snapmirror-relationships", "--svm=lab") == []
    rounds.run_due(deps, deps.clock.now())
    assert traditional.list_snap_mirror_relationships()[0]["Current Transfer Status"] == "transferring"
    assert typed("sync", "snapmirror-relationship", "-v", "far", "-n", "dr")
    assert typed("sync", "snapmirror-relationship", f"--uuid={mirror.id}")
    assert get_mirror(there.api, "default", "dr").asked_at is not None
    assert "No mirror 'dr' to lab" in typed("sync", "snapmirror-relationship", "-v", "lab", "-n", "dr", code=5)
    with pytest.raises(traditional.SnapMirrorSyncOperationError, match="No mirror 'none' to another site"):
        traditional.sync_snap_mirror_relationship(uuid="none")
    with pytest.raises(traditional.InvalidSnapMirrorParameterError, match="Give the uuid or the target volume"):
        traditional.sync_snap_mirror_relationship()
