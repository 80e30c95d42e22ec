"""The threat model names a test for every boundary, and each of them exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "docs" / "design" / "035-threat-model.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[list[str]]:
    """The table of boundaries, without its head."""
    section = MODEL.read_text().partition("## Boundaries")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return cells[2:]


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_every_boundary_is_guarded_by_a_test() -> None:
    assert len(rows()) > 20
    for between, threat, against, guarded in rows():
        assert between and threat and against
        assert _TEST.search(guarded), f"no test guards the boundary {between!r}"


def test_the_tests_that_are_named_exist() -> None:
    named = _TEST.findall(MODEL.read_text())
    missing = [f"{file}::{name}" for file, name in named if not (ROOT / file).exists() or name not in functions(file)]
    assert not missing
