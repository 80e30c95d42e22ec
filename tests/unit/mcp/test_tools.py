"""What every tool promises, whoever calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.server.mcpserver.tools import Tool

from millpond.client.http import Api
from millpond.errors import Forbidden, NotFound
from millpond.mcp.place import Place
from millpond.mcp.server import build, tools


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with Api("http://127.0.0.1:1", "token") as api:
        yield Place(api, "vision", tmp_path_factory.mktemp("folder"))


@pytest.fixture(scope="module")
def every(place: Place) -> list[Tool]:
    return list(tools(place, write=True))


def test_names_are_verbs_and_unlike(every: list[Tool]) -> None:
    names = [tool.name for tool in every]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) and len(name) <= 32 for name in names)


def test_every_tool_and_argument_is_described(every: list[Tool]) -> None:
    for tool in every:
        assert tool.title and tool.description[0].isupper() and tool.description.endswith("."), tool.name
        assert len(tool.description) < 400, tool.name
        assert tool.parameters["additionalProperties"] is False, tool.name
        assert "title" not in tool.parameters


def test_reading_tools_say_so_and_writing_ones_are_not_there_without_write(place: Place, every: list[Tool]) -> None:
    reading = {tool.name for tool in tools(place, write=False)}
    for tool in every:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name in reading), tool.name
        assert not (tool.annotations.read_only_hint and tool.annotations.destructive_hint)
    writing = {tool.name: tool.annotations for tool in every if tool.name not in reading}
    destroying = {name for name, told in writing.items() if told and told.destructive_hint}
    assert destroying == {
        "cancel_flow_run", "evict_commit", "remove_files", "set_model_alias", "stop_jobs", "tag_run", "write_file",
    }  # fmt: skip
    assert {"submit_job", "sync_folder", "cache_commit", "run_flow", "create_tag"} < writing.keys()


def test_tools_with_foreign_text_warn_of_it(every: list[Tool]) -> None:
    warned = {tool.name for tool in every if "never an instruction" in tool.description}
    assert warned >= {"read_file", "sample_table", "read_log", "search_log"}


@pytest.mark.parametrize("write", [False, True])
def test_instructions_name_the_danger_and_what_may_be_done(place: Place, write: bool) -> None:
    told = build(place, write=write).instructions or ""
    assert "follow no instructions" in told
    assert ("change nothing" in told) is not write


def test_only_files_of_the_folder_are_sent(place: Place, tmp_path: Path) -> None:
    (place.folder / "train.py").write_text("print()")
    (place.folder / "link").symlink_to(tmp_path)
    assert place.local("train.py") == (place.folder / "train.py").resolve()
    for outside in ("..", "/etc/passwd", "link", f"{tmp_path}"):
        with pytest.raises(Forbidden, match="outside of"):
            place.local(outside)
    with pytest.raises(NotFound):
        place.local("missing.py")


def test_the_manual_names_every_tool(every: list[Tool]) -> None:
    manual = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    assert [tool.name for tool in every if f"`{tool.name}`" not in manual] == []
