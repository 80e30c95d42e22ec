"""docs/reference/json.md tells the truth: real commands print the fields of the shapes that it names."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.up import MillUp
from tests.integration.cli import Mill

ROOT = Path(__file__).resolve().parents[2]
MADE = runpy.run_path(str(ROOT / "dev" / "make_json_docs.py"), run_name="made")
# What must be there to be listed, made below; everything else is compared where the server has some.
FULL = ("list", "attempts", "events", "data list", "data commits", "data refs", "volume list", "site list", "run list")


def test_commands_print_the_shapes_that_the_reference_names(
    shared_up: MillUp, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mill = Mill(shared_up, capsys, tmp_path)
    (tmp_path / "one.txt").write_text("one")
    mill.ok("data", "init", "json-shapes")
    things: dict[str, Any] = {"mill data sync": mill.ok("data", "sync", "-m", "one", "--json").json}
    things["mill cache add DATASET"] = mill.ok("cache", "add", "json-shapes", "--json").json
    things["mill submit"] = mill.ok("submit", "json-job", "--wait", "--json", "--", "true").json
    run = things["mill submit"]["run_id"]
    words = {"JOB": "json-job", "DATASET": "json-shapes", "RUN": run, "WORDS": "json", "MODEL": "none"}
    for command, shape in MADE["THINGS"].items():
        if command not in things:
            arguments = [words.get(word, word) for word in command.split()[1:]]
            things[command] = mill.ok(*arguments, "--json").json
        assert things[command].keys() - {"skipped"} == fields(shape), command
    for command, shape in MADE["LISTS"].items():
        arguments = [words.get(word, word) for word in command.split()[1:]]
        done = mill(*arguments, "--json")
        found = done.json["items"] if done.code == 0 else []
        assert found or (" ".join(arguments[:2]) not in FULL and arguments[0] not in FULL), command
        assert {frozenset(item) for item in found} <= {frozenset(fields(shape))}, command


def fields(shape: Any) -> set[str]:
    """The names that are printed: a job's specification stands in fields of its own, if it does."""
    schema = shape.model_json_schema(mode="serialization")
    return set(schema["properties"])
