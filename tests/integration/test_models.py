"""`mill model …` and the SDK against a real server; models come back from the lake alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

import millpond
from millpond.blobs.local import LocalStore
from millpond.blobs.signing import LocalSigner
from millpond.db import models as rows
from millpond.model.model import FromCommit, NewModelVersion
from millpond.services.lake import reindex
from millpond.services.models import aliases, bin, models, registration, versions
from millpond.testing.builders_data import a_commit, the_admin, the_project
from millpond.testing.server import SECRET
from millpond.testing.up import environment
from tests.integration.cli import Mill, ServerHere, server_here
from tests.integration.lost_database import a_server, an_empty_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("server")) as running:
        with patch.dict(os.environ, environment(running.home), clear=True):
            record(tmp_path_factory.mktemp("work"))
        yield running


def record(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"w" * 1000)
    with millpond.init(name="train", params={"lr": 0.1}) as run:
        run.log_metric("acc", 0.9)
        run.log_artifact(folder / "weights.bin", "model/weights.bin")


@pytest.fixture
def mill(server: ServerHere, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capsys, tmp_path)


def test_a_model_from_a_run_to_a_download(mill: Mill, tmp_path: Path) -> None:
    assert "No models yet" in mill.ok("model", "list").err
    made = mill.ok("model", "register", "chest", "--from", "train:model", "--alias", "champion", "--json").json
    assert (made["version"], made["metrics"], made["aliases"]) == (1, {"acc": 0.9}, ["champion"])
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(b"v" * 500)
    said = mill.ok(
        "model", "register", "chest", "--from", "./export", "--metric", "acc=0.95", "--tag", "by=hand", "-m", "x"
    )
    assert "Registered chest@2 (1 file, 500 B)." in said.err
    mill.ok("model", "alias", "chest@2", "candidate")
    mill.ok("model", "stage", "chest@2", "Staging")
    listed = mill.ok("model", "list", "--json").json["items"]
    assert [(one["name"], one["aliases"]) for one in listed] == [("chest", {"candidate": 2, "champion": 1})]
    versions_ = mill.ok("model", "versions", "chest", "--json").json["items"]
    assert [(one["version"], one["stage"], one["bytes"]) for one in versions_] == [
        (2, "Staging", 500),
        (1, "None", 1000),
    ]
    compared = mill.ok("model", "compare", "chest", "champion", "candidate").out
    assert "metric acc\t0.9\t0.95" in compared and "file weights.bin\t1000\tchanged 500" in compared
    assert "metric acc\t0.95" in mill.ok("model", "show", "chest@candidate").out
    mill.ok("model", "download", "chest@champion", "--to", "got")
    assert (tmp_path / "got" / "weights.bin").read_bytes() == b"w" * 1000
    assert "is not empty" in mill("model", "download", "chest@champion", "--to", "got").err
    assert "weights.bin" in mill.ok("data", "ls", ".models.chest@champion").out
    assert made["run"] in mill.ok("data", "lineage", ".models.chest@1", "--json").out
    tree = mill.ok("data", "lineage", ".models.chest@1", "--graph").out
    assert "model default/chest@1 made from\n  made: run default/train (" in tree
    assert [one["noun"] for one in mill.ok("find", "chest", "--json").json["items"]] == ["model"]


def test_versions_and_models_are_deleted_and_restored(mill: Mill) -> None:
    for _ in range(2):
        mill.ok("model", "register", "bin me", "--from", "train:model")
    mill.ok("model", "alias", "bin me@2", "champion")
    assert "bin me@2 deleted" in mill.ok("model", "delete", "bin me@champion", "--yes").err
    assert [one["version"] for one in mill.ok("model", "versions", "bin me", "--deleted", "--json").json["items"]] == [
        2
    ]
    mill.ok("model", "undelete", "bin me@2")
    mill.ok("model", "delete", "bin me", "--yes")
    assert [one["name"] for one in mill.ok("model", "list", "--deleted", "--json").json["items"]] == ["bin me"]
    assert mill("model", "show", "bin me").code == 3
    assert mill.ok("model", "undelete", "bin me", "--json").json["versions"] == 2


def test_wrong_names_are_answered_with_the_nearest(mill: Mill) -> None:
    mill.ok("model", "register", "near", "--from", "train:model", "--alias", "champion")
    assert "Did you mean 'near'?" in mill("model", "show", "naer").err
    assert "Did you mean 'champion'?" in mill("model", "show", "near@champoin").err
    assert "Did you mean 'model'?" in mill("model", "register", "near", "--from", "train:modell").err
    assert "is not a folder" in mill("model", "register", "near", "--from", "./nothing").err


def test_scripts_read_name_and_register(mill: Mill, tmp_path: Path) -> None:
    with patch.dict(os.environ, environment(mill.server.home) | {"MILL_CACHE": str(tmp_path)}, clear=True):
        made = millpond.register_model("sdk", "train:model", aliases=["champion"], tags={"a": "b"})
        assert (made.version, made.metrics, repr(made)) == (1, {"acc": 0.9}, "Model('default/sdk@1')")
        made.set_stage("Production")
        made.set_alias("best")
        found = millpond.Model("sdk@best")
        assert (found.stage.value, found.aliases) == ("Production", ["best", "champion"])
        assert (found.path() / "weights.bin").read_bytes() == b"w" * 1000
        assert (found.download(tmp_path / "mine") / "weights.bin").is_file()
        assert "sdk" in [one.name for one in millpond.models()]


def test_models_come_back_from_the_lake(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    with a_server(tmp_path / "lost", store) as lost:
        a_commit(lost, {"best/w": b"1"})
        admin, project = the_admin(lost), the_project(lost)
        for number in range(1, 5):
            asked = NewModelVersion(
                "Chest X", FromCommit("xray@main:best"), description=f"v{number}", metrics={"a": 0.5}
            )
            registration.register(lost, admin, project, asked)
        aliases.point(lost, admin, project, "Chest X", "champion", "2")
        bin.delete_version(lost, admin, project, "Chest X", "3")
    with an_empty_server(tmp_path / "new", store) as new:
        assert not reindex.reindex(new).problems
        project = the_project(new)
        view = models.get(new, project, "Chest X")
        assert (view.aliases, view.versions, view.model.next_version) == ({"champion": 2}, 3, 5)
        found = versions.get(new, project, "Chest X", "champion")
        assert (found.version.description, found.facts.metrics, found.commit.files) == ("v2", {"a": 0.5}, 1)
        with new.db.read() as tx:
            binned = rows.versions(tx, [view.model.dataset.id], deleted=True)
        assert [one.number for one in binned] == [3]
