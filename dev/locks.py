"""Reads the two locks of a release: deploy/constraints.txt (Python) and web/package-lock.json (npm)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "deploy" / "constraints.txt"
PACKAGE_LOCK = ROOT / "web" / "package-lock.json"

_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*$")


@dataclass(frozen=True, slots=True)
class Locked:
    """One version of a package. `hashes` as they are written: hex for Python, base64 after `sha512-` for npm."""

    kind: str  # pypi or npm
    name: str
    version: str
    hashes: tuple[str, ...] = ()
    marker: str = ""
    license: str = ""
    # Only needed to build or test; or only on some machines.
    is_development: bool = False
    is_optional: bool = False

    @property
    def url(self) -> str:
        """Its package URL."""
        name = self.name.replace("@", "%40", 1) if self.kind == "npm" else self.name
        return f"pkg:{self.kind}/{name}@{self.version}"


def python_packages(file: Path = CONSTRAINTS) -> Iterator[Locked]:
    """ValueError for a line that pins nothing."""
    text = re.sub(r"^#.*$", "", file.read_text(), flags=re.M).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        words, *hashes = re.split(r"\s+--hash=sha256:", line)
        found = _PIN.fullmatch(words.strip())
        if found is None:
            raise ValueError(f"{file.name}: {words!r} is not NAME==VERSION")
        yield Locked(
            "pypi", normal(found["name"]), found["version"], tuple(one.strip() for one in hashes), found["marker"] or ""
        )


def npm_packages(file: Path = PACKAGE_LOCK) -> Iterator[Locked]:
    for place, found in json.loads(file.read_text())["packages"].items():
        if not place or found.get("link"):
            continue
        name = found.get("name") or place.rpartition("node_modules/")[2]
        integrity = found.get("integrity", "")
        yield Locked(
            "npm",
            name,
            found["version"],
            tuple(integrity.split()),
            license=found.get("license", ""),
            is_development=bool(found.get("dev") or found.get("devOptional")),
            is_optional=bool(found.get("optional") or found.get("devOptional")),
        )


def normal(name: str) -> str:
    """As registries compare names of Python packages."""
    return re.sub(r"[-_.]+", "-", name).lower()
