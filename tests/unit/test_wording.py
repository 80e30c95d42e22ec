"""Keeps phrases that had to be guessed from coming back (docs/contributing/wording.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "millpond"

# What people read: messages, hints and help. Docstrings of commands are help, too.
ODD = re.compile(
    r"\banew\b|\bwhoever\b|is said to|nobody is to|\bmeanwhile\b|so often\b|how-manyth|\bany more\b|"
    r"that you may see|is there already|\blet go of\b|is no (?:time|label|mount|origin|pattern|way)\b|"
    r"\bthe way to\b|stands? in the way|In the way|on its way (?:to|from|there)|\bmend(?:ed)?\b|"
    r"\b1 (?:commits|files|jobs|paths|packs|pages)\b",
    re.IGNORECASE,
)
PACKAGES = ("agent", "api", "blobs", "cli", "client", "db", "decide", "lake", "model", "services", "volumes", "wire")


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """String literals with a space in them; of docstrings only those of commands."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {
        id(node.body[0].value): node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or " " not in node.value:
            continue
        owner = docstrings.get(id(node))
        if owner is None or _is_command(owner):
            yield node.lineno, node.value


def _is_command(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and bool(node.args.args) and node.args.args[0].arg == "mill"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_odd_phrase_in_what_people_read(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip()[:100]!r}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for line, text in sentences(path)
        if ODD.search(text)
    ]
    assert found == [], "see docs/contributing/wording.md"
