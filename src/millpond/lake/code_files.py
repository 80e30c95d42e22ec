"""Which files of a folder are code: what jobs run and components are made of."""

from __future__ import annotations

from millpond.lake.ignore import IGNORE_FILE

# What is never code, also in a folder without ignore files. An ignore file can take each of them in again (`!name`).
IGNORED = (".git/", ".hg/", ".svn/", ".venv/", "venv/", "node_modules/", "__pycache__/", "*.pyc", ".mypy_cache/",
           ".pytest_cache/", ".ruff_cache/", ".ipynb_checkpoints/", ".DS_Store")  # fmt: skip
IGNORE_FILES = (b".gitignore", IGNORE_FILE)
