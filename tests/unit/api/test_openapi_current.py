"""The page's API types are those of the server's routes: `make web-api` was run after the last change of a route."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WEB = ROOT / "web"
GENERATOR = WEB / "node_modules" / ".bin" / "openapi-typescript"
HINT = "run `make web-api` and commit what it writes"


def test_the_document_is_that_of_the_routes() -> None:
    made = runpy.run_path(str(ROOT / "dev" / "make_openapi.py"))["document"]()
    assert made == (WEB / "openapi.json").read_text(), HINT


def test_the_types_are_those_of_the_document(tmp_path: Path) -> None:
    if shutil.which("node") is None or not GENERATOR.exists():
        pytest.skip("the page's packages are not installed (make web)")
    made = tmp_path / "schema.d.ts"
    command = [str(GENERATOR), "openapi.json", "-o", str(made), "--alphabetize"]
    subprocess.run(command, cwd=WEB, capture_output=True, check=True)
    assert made.read_text() == (WEB / "src" / "api" / "schema.d.ts").read_text(), HINT
