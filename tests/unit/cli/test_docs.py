from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

import millpond

ROOT = Path(__file__).resolve().parents[3]


def test_the_reference_of_the_command_line_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["make_cli_docs.py", "--check"])
    assert runpy.run_path(str(ROOT / "dev" / "make_cli_docs.py"))["main"]() == 0, "run `make docs`"


def test_every_environment_variable_is_explained() -> None:
    page = (ROOT / "docs/reference/environment.md").read_text("utf-8")
    used = {
        name
        for path in (ROOT / "src/millpond").rglob("*.py")
        if "testing" not in path.parts
        for name in re.findall(r'"(MILL_[A-Z_]+)"', path.read_text("utf-8"))
    }
    assert {name for name in used if f"`{name}" not in page} == set()


def test_every_public_name_of_the_sdk_is_explained() -> None:
    page = (ROOT / "docs/sdk.md").read_text("utf-8")
    public = [name for name in millpond.__all__ if name not in ("__version__", "Run")]
    assert [name for name in public if f"`{name}(" not in page] == []
    assert all(hasattr(millpond, name) for name in millpond.__all__)
