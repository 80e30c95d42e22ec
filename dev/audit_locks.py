"""Reviews the locks without a network: everything pinned and hashed, nothing known to be bad, licences that fit ours.

A service that knows today's advisories is asked by `make audit`, where one is reachable. This runs in `make check`:
what it finds is wrong whoever asks.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from locks import ROOT, Locked, normal, npm_packages, python_packages
from make_constraints import EXTRAS
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

# Words in a licence that forbid to ship a package with this one. LGPL is allowed: nothing of it is copied or linked in.
REFUSED = ("AGPL", "AFFERO", "GPL", "SSPL", "BUSL", "BUSINESS SOURCE", "ELASTIC", "COMMONS CLAUSE", "NON-COMMERCIAL")
ALLOWED = ("LGPL", "LESSER GENERAL PUBLIC")
MOST_LICENSE = 120  # longer ones are texts, not names


def main() -> int:
    python, npm = list(python_packages()), list(npm_packages())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    problems = [
        *unpinned(requirements(project), python),
        *unhashed([*python, *npm]),
        *known_bad([*python, *npm], json.loads((ROOT / "dev" / "known_bad.json").read_text())),
        *refused_licenses([*python, *npm], installed_licenses()),
    ]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not problems:
        print(f"Locks: {len(python)} Python and {len(npm)} npm packages, all pinned with hashes.")
    return 1 if problems else 0


def requirements(project: Mapping[str, Any]) -> list[Requirement]:
    """What a release may bring along."""
    extras = project["optional-dependencies"]
    return [Requirement(text) for text in [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]]


def unpinned(wanted: Iterable[Requirement], locked: Sequence[Locked]) -> Iterator[str]:
    """Requirements that no pin meets: the lock was forgotten."""
    for requirement in wanted:
        found = [one.version for one in locked if one.name == normal(requirement.name)]
        if not any(requirement.specifier.contains(version, prereleases=True) for version in found):
            yield f"{requirement} is not in deploy/constraints.txt. Run: make lock"


def unhashed(locked: Iterable[Locked]) -> Iterator[str]:
    """Optional packages of npm for other systems have none where a registry lacks them: they are never installed."""
    for one in locked:
        strong = [found for found in one.hashes if one.kind == "pypi" or found.startswith("sha512-")]
        if not strong and not (one.kind == "npm" and one.is_optional):
            yield f"{one.name} {one.version} ({one.kind}) has no hash"


def known_bad(locked: Iterable[Locked], known: Mapping[str, Any]) -> Iterator[str]:
    for one in locked:
        for bad in known[one.kind]:
            if bad["name"] == one.name and SpecifierSet(bad["versions"]).contains(_version(one), prereleases=True):
                yield f"{one.name} {one.version} ({one.kind}) is known to be bad: {bad['why']}"


def refused_licenses(locked: Iterable[Locked], installed: Mapping[str, str]) -> Iterator[str]:
    """Of Python packages only those that are installed here tell theirs. What only builds or tests is not shipped."""
    for one in locked:
        told = (one.license or installed.get(one.name, "")).upper()
        for word in ALLOWED:
            told = told.replace(word, "")
        # Of a choice (`MIT OR GPL-2.0`) one takes what fits.
        if not one.is_development and all(any(word in way for word in REFUSED) for way in told.split(" OR ")):
            yield f"{one.name} {one.version} ({one.kind}) has the licence {one.license or installed[one.name]}"


def installed_licenses() -> dict[str, str]:
    found = {}
    for package in metadata.distributions():
        told = package.metadata
        name = told.get("License-Expression") or told.get("License") or ""
        classified = [
            text.rpartition(" :: ")[2] for text in told.get_all("Classifier", []) if text.startswith("License")
        ]
        chosen = name if name and len(name) <= MOST_LICENSE else ", ".join(classified)
        found[normal(told["Name"])] = chosen
    return found


def _version(one: Locked) -> Version | str:
    try:
        return Version(one.version)
    except InvalidVersion:
        return one.version


if __name__ == "__main__":
    sys.exit(main())
