from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

import millpond
from millpond.errors import MillError

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("script", ["make_cli_docs.py", "make_error_docs.py", "make_json_docs.py"])
def test_pages_that_are_made_are_current(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [script, "--check"])
    assert runpy.run_path(str(ROOT / "dev" / script))["main"]() == 0, "run `make docs`"


def test_every_error_says_what_to_do() -> None:
    made = runpy.run_path(str(ROOT / "dev" / "make_error_docs.py"), run_name="made")
    without = [cls.__name__ for cls in made["classes_of"](MillError) if len(made["advice"](cls)) < 20]
    assert without == [], "say it after the first paragraph of the class's docstring"


_VARIABLE = re.compile(r"\bMILL_[A-Z][A-Z_]*[A-Z]\b")
# Of our own examples and of the build: nobody sets them on a server, an agent or a client.
_NOT_SETTINGS = re.compile(r"MILL_OPTION_\w+|MILL_INPUT_\w+|MILL_REQUIRE_PAGE")


def test_every_environment_variable_is_explained() -> None:
    page = (ROOT / "docs/reference/environment.md").read_text("utf-8")
    sources = [
        path
        for folder in ("src/millpond", "deploy")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".yaml", ".tpl", "") and path.is_file() and "testing" not in path.parts
    ]
    used = {name for path in sources for name in _VARIABLE.findall(path.read_text("utf-8"))}
    assert {name for name in used if f"`{name}" not in page and not _NOT_SETTINGS.fullmatch(name)} == set()
    # And nothing is explained that is not there any more.
    assert {name for name in _VARIABLE.findall(page) if name not in used} == set()


def test_every_public_name_of_the_sdk_is_explained() -> None:
    page = (ROOT / "docs/sdk.md").read_text("utf-8")
    public = [name for name in millpond.__all__ if name not in ("__version__", "Run")]
    assert [name for name in public if f"`{name}(" not in page] == []
    assert all(hasattr(millpond, name) for name in millpond.__all__)
