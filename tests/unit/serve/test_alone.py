"""Jobs carry the folder as `millpond_serve`: it must work under that name, without Millpond."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import millpond.serve

FOLDER = Path(millpond.serve.__file__).parent


def test_imports_itself_only_relatively() -> None:
    found = [
        f"{path.relative_to(FOLDER)}: {name}"
        for path in sorted(FOLDER.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in _absolute(node)
        if name.split(".")[0] == "millpond"
    ]
    assert found == []


def test_is_imported_under_the_name_that_jobs_give_it(tmp_path: Path) -> None:
    (tmp_path / "millpond_serve").symlink_to(FOLDER)
    code = "import sys, millpond_serve.http; print([name for name in sys.modules if name.split('.')[0] == 'millpond'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _absolute(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module or ""]
    return []
