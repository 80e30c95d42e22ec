"""Imports from https sites: single files and listings, sites that do not keep to the rules, and the command line."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from millpond.cli.main import main
from millpond.client.clone import clone
from millpond.client.connections import create_connection
from millpond.client.datasets import create_dataset, list_entries
from millpond.client.file_reader import read_file
from millpond.client.http import Api
from millpond.client.sources import import_objects
from millpond.errors import BadRequest, ChangedOutside, Corrupt, Forbidden, MillError
from millpond.services.sources.source_runs import run_due
from millpond.testing.server import ADMIN, RunningServer, running_server
from millpond.testing.website import Website, resolving, running_website
from millpond.wire.imports import ConnectionCreate, Import, Imported

BIG = random.Random(8).randbytes(1_500_000)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Website]:
    with running_website(tmp_path_factory.mktemp("site")) as running, resolving({"files.test": ["127.0.0.1"]}):
        yield running


@pytest.fixture(autouse=True)
def tidy(site: Website) -> None:
    site.files.clear()
    site.etags.clear()
    site.password, site.ignores_headers = None, False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, site: Website) -> Iterator[RunningServer]:
    root = tmp_path_factory.mktemp("web")
    with running_server(root, import_hosts="files.test") as running, pytest.MonkeyPatch.context() as environment:
        token = running.token_of(ADMIN)
        for name, value in (("MILL_SERVER", running.url), ("MILL_TOKEN", token), ("MILL_HOME", str(root / "home"))):
            environment.setenv(name, value)
        create_connection(_api(running), "default", ConnectionCreate(name="site", url=site.url("/pub")))
        yield running


@pytest.fixture
def api(server: RunningServer) -> Iterator[Api]:
    with _api(server) as made:
        yield made


def _api(server: RunningServer) -> Api:
    return Api(server.url, server.token_of(ADMIN))


def bring(api: Api, dataset: str, uri: str, **more: object) -> Imported:
    create_dataset(api, "default", dataset)
    asked = Import.model_validate({"connection": "site", "uri": uri, **more})
    return import_objects(api, "default", dataset, asked)


def test_a_listing_of_sha256sum_names_files_and_digests(api: Api, site: Website, tmp_path: Path) -> None:
    files = {"a.txt": b"one\n", "deep/b c#1.bin": BIG, "empty": b""}
    site.files |= {f"/pub/v1/{name}": data for name, data in files.items()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    site.files["/pub/v1/SHA256SUMS"] = b"# a release\n" + sums.encode()
    done = bring(api, "release", site.url("/pub/v1/SHA256SUMS"), listing=True)
    assert (done.added, done.skipped_count) == (3, 0)
    copy = clone(api, "default", "release", "main", tmp_path / "release").copy
    assert (copy.root / "deep/b c#1.bin").read_bytes() == BIG
    with millpond.Dataset("release") as dataset, dataset.open("deep/b c#1.bin") as file:
        file.seek(1_000_000)
        assert file.read(10) == BIG[1_000_000:1_000_010]


def test_a_digest_that_does_not_fit_is_found_out(api: Api, site: Website, tmp_path: Path) -> None:
    site.files["/pub/bad"] = b"not what was promised"
    site.files["/pub/sums"] = f"{'0' * 64}  bad\n".encode()
    bring(api, "promised", site.url("/pub/sums"), listing=True)
    with pytest.raises(Corrupt, match="SHA-256"):
        clone(api, "default", "promised", "main", tmp_path / "promised")


def test_a_plain_listing_of_urls(api: Api, site: Website) -> None:
    site.files |= {"/pub/x/1": b"1", "/pub/x/sub/2": b"22", "/pub/list": b"x/1\n\nx/sub/2?v=1\n"}
    done = bring(api, "listed", site.url("/pub/list"), listing=True, path="in")
    assert done.added == 2
    assert b"".join(read_file(api, "default", "listed", "main", "in/x/sub/2")) == b"22"
    site.files["/pub/list"] = b"https://elsewhere.test/x\n"
    with pytest.raises(MillError, match="is not below"):
        bring(api, "listed2", site.url("/pub/list"), listing=True)


def test_files_whose_changes_would_go_unnoticed_are_left_out(api: Api, site: Website) -> None:
    site.files |= {"/pub/weak": b"w", "/pub/none": b"n", "/pub/good": b"g", "/pub/all": b"weak\nnone\ngood\n"}
    site.etags |= {"/pub/weak": 'W/"1"', "/pub/none": None}
    done = bring(api, "unnoticed", site.url("/pub/all"), listing=True)
    assert (done.added, done.skipped_count) == (1, 2)
    assert all("ETag" in skipped.reason for skipped in done.skipped)


def test_a_site_without_ranges_and_conditions_is_read_rightly_or_not_at_all(api: Api, site: Website) -> None:
    site.ignores_headers = True
    site.files["/pub/simple"] = b"0123456789"
    bring(api, "simple", site.url("/pub/simple"))
    assert b"".join(read_file(api, "default", "simple", "main", "simple", "3-5")) == b"345"
    with millpond.Dataset("simple") as dataset:
        assert dataset.read("simple") == b"0123456789"
    site.files["/pub/simple"] = b"9876543210"
    with pytest.raises(ChangedOutside, match="pub/simple"):
        b"".join(read_file(api, "default", "simple", "main", "simple", "3-5"))
    with millpond.Dataset("simple") as dataset, pytest.raises(ChangedOutside, match="simple"):
        dataset.read("simple")


def test_credentials_of_a_site(api: Api, site: Website, server: RunningServer) -> None:
    site.password = "Bearer let-me-in"
    site.files["/pub/locked"] = b"treasure"
    with pytest.raises(Forbidden):
        bring(api, "locked", site.url("/pub/locked"))
    asked = {"name": "signed-in", "url": site.url("/pub/"), "credentials": {"bearer": "let-me-in"}}
    create_connection(api, "default", ConnectionCreate.model_validate(asked))
    body = Import(connection="signed-in", uri=site.url("/pub/locked"))
    import_objects(api, "default", "locked", body)
    with millpond.Dataset("locked") as dataset:
        assert dataset.read("locked") == b"treasure"


def test_from_the_command_line(
    site: Website, server: RunningServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def mill(*arguments: str) -> str:
        assert main(arguments) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    site.files |= {"/pub/cli/a": b"a", "/pub/cli/list": b"a\n"}
    secret = tmp_path / "password"
    secret.write_text("hush\n")
    mill("connection", "add", "cli", site.url("/pub/cli"), "--user", "maria", "--secret-file", str(secret))
    assert "hush" not in mill("connection", "show", "cli", "--json")
    assert "cli" in mill("connection", "list")
    mill("connection", "test", "cli")
    mill("connection", "credentials", "cli")
    mill("data", "create", "cli")
    mill("data", "import", site.url("/pub/cli/a"), "cli:x", "-m", "from the site")
    assert mill("data", "cat", "cli:x/a") == "a"
    mill("source", "add", "cli:y", site.url("/pub/cli/list"), "--listing", "--copy", "--every", "10m", "--name", "ten")
    run_due(server.deps, server.deps.clock.now())
    assert '"added": 1' in mill("source", "show", "ten", "--json")
    mill("source", "pause", "ten")
    mill("source", "resume", "ten")
    mill("source", "set", "ten", "--every", "1d")
    assert "ten" in mill("source", "list", "cli")
    assert main(["connection", "rm", "cli", "--yes"]) == 5
    assert "mill source rm ten" in capsys.readouterr().err
    mill("source", "rm", "ten", "--yes")
    assert main(["connection", "rm", "cli", "--yes"]) == 5
    assert "--force" in capsys.readouterr().err
    mill("connection", "rm", "cli", "--yes", "--force")
    assert main(["data", "cat", "cli:x/a"]) == 3
    assert "connection 'cli'" in capsys.readouterr().err
    assert mill("data", "cat", "cli:y/a") == "a"


def test_nothing_there_is_said(api: Api, site: Website) -> None:
    create_dataset(api, "default", "nothing")
    for uri, error in ((site.url("/pub/no"), MillError), (site.url("/other/x"), BadRequest)):
        with pytest.raises(error):
            import_objects(api, "default", "nothing", Import(connection="site", uri=uri))
    with pytest.raises(MillError):
        next(iter(list_entries(api, "default", "nothing", "main", "")))
