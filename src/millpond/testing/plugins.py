"""Declaring plug-ins for tests without installing them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

EntryPoints = Mapping[str, Mapping[str, str]]


def declare(directory: Path, package: str, entry_points: EntryPoints, version: str = "1.0") -> None:
    """Write what pip would: a package of this name, with these entry points by group and name, in `directory`."""
    info = directory / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in found.items()) for group, found in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def use_packages(monkeypatch: pytest.MonkeyPatch, *directories: Path) -> None:
    """Let Python find the packages in these directories until the test ends."""
    monkeypatch.setattr(sys, "path", [*map(str, directories), *sys.path])
