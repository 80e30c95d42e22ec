from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from millpond.client.credentials import (
    forget_server,
    load_credentials,
    load_project,
    resolve_target,
    save_project,
    save_token,
)
from millpond.client.servers import DEFAULT_SERVER, normalize_server
from millpond.client.working_copy import WorkingCopy
from millpond.errors import BadName, BadRequest, SetupError

LAB = "http://lab:8420"


def a_working_copy(root: Path, server: str = LAB) -> WorkingCopy:
    root.mkdir(parents=True, exist_ok=True)
    copy = WorkingCopy(root=root, server=server, project="vision", dataset="xray", dataset_id="d1")
    copy.save()
    return copy


def test_tokens_are_kept_by_server_and_only_for_their_owner(tmp_path: Path) -> None:
    save_token(tmp_path / "new", LAB, "mill_1", "t1")
    save_token(tmp_path / "new", "https://b", "mill_2")
    known = load_credentials(tmp_path / "new")
    assert known.current == "https://b"
    assert known.token_of(LAB) == "mill_1"
    assert known.servers[LAB].token_id == "t1"
    assert stat.S_IMODE((tmp_path / "new/credentials.json").stat().st_mode) == 0o600
    left = forget_server(tmp_path / "new", "https://b")
    assert list(left.servers) == [LAB]
    assert left.current is None
    assert forget_server(tmp_path / "new", "https://b") == left


def test_files_without_names_get_some(tmp_path: Path) -> None:
    servers = {
        url: {"token": "mill_x"} for url in ("http://127.0.0.1:8420", "http://localhost:9", LAB, "http://10.1.2.3")
    }
    (tmp_path / "credentials.json").write_text(json.dumps({"servers": servers, "current": LAB}))
    assert load_credentials(tmp_path).names == ["local", "local-2", "lab", "10.1.2.3"]


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "credentials.json").write_text('{"servers": []}')
    with pytest.raises(SetupError) as caught:
        load_credentials(tmp_path)
    assert "mill login" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://Lab:8420/", "http://lab:8420"),
        ("127.0.0.1:8420", "http://127.0.0.1:8420"),
        ("localhost:1", "http://localhost:1"),
        ("mill.example.org", "https://mill.example.org"),
        ("https://example.org/mill/", "https://example.org/mill"),
    ],
)
def test_a_server_has_one_spelling(written: str, url: str) -> None:
    assert normalize_server(written) == url


@pytest.mark.parametrize("written", ["", "ftp://x", "http://", "http://x?y=1"])
def test_what_is_no_server(written: str) -> None:
    with pytest.raises(BadRequest):
        normalize_server(written)


def test_flag_before_environment_before_folder_before_home(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "data"
    environ = {"MILL_HOME": str(home)}
    folder.mkdir()
    found = resolve_target(environ=environ, directory=folder)
    assert (found.server, found.token, found.project) == (DEFAULT_SERVER, None, "default")
    save_token(home, LAB, "mill_lab")
    save_project(home, "mine")
    found = resolve_target(environ=environ, directory=folder)
    assert (found.server, found.token, found.project) == (LAB, "mill_lab", "mine")
    a_working_copy(folder, "http://other:1")
    found = resolve_target(environ=environ, directory=folder / "deep" / "er")
    assert (found.server, found.token, found.project) == ("http://other:1", None, "vision")
    environ |= {"MILL_SERVER": "http://env:2", "MILL_TOKEN": "mill_env", "MILL_PROJECT": "envs"}
    found = resolve_target(environ=environ, directory=folder)
    assert (found.server, found.token, found.project) == ("http://env:2", "mill_env", "envs")
    found = resolve_target("http://flag:3", "flags", environ=environ, directory=folder)
    assert (found.server, found.project) == ("http://flag:3", "flags")


def test_a_folder_made_by_somebody_else_does_not_get_the_token_of_the_environment(tmp_path: Path) -> None:
    a_working_copy(tmp_path / "evil", "http://evil.example:1")
    environ = {"MILL_HOME": str(tmp_path / "home"), "MILL_TOKEN": "mill_secret"}
    assert resolve_target(environ=environ, directory=tmp_path / "evil").token is None


def test_the_default_project_leaves_the_rest_of_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\nproject = "old"\n[colors]\nproject = "red"\n')
    save_project(tmp_path, "new")
    assert load_project(tmp_path) == "new"
    assert '[colors]\nproject = "red"' in path.read_text()
    with pytest.raises(BadName):
        save_project(tmp_path, 'a"b')


def test_a_working_copy_survives_being_written_and_read(tmp_path: Path) -> None:
    copy = a_working_copy(tmp_path).at("c" * 64, "feature")
    copy.save()
    document = json.loads((tmp_path / ".mill/config.json").read_text())
    assert document["branch"] == "feature"
    assert document["head"] == "c" * 64
