"""Completes web/package-lock.json with the optional packages of other platforms.

A registry mirror may hold only this platform's builds; `npm install` then leaves the others out of the lock file, and
`npm ci` refuses such a lock file everywhere. Run this after every change of web/package.json.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parent.parent / "web" / "package-lock.json"
SYSTEMS = ("android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32")
PROCESSORS = ("arm64", "x64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "arm")


def complete(packages: dict[str, Any]) -> int:
    """Add an entry for each optional package that is named but missing; how many there were."""
    before = len(packages)
    for owner, package in list(packages.items()):
        for name, version in package.get("optionalDependencies", {}).items():
            key = f"node_modules/{name}"
            if owner and key not in packages and f"{owner}/{key}" not in packages:
                packages[key] = entry(name, version, dev=bool(package.get("dev")))
    return len(packages) - before


def entry(name: str, version: str, *, dev: bool) -> dict[str, Any]:
    words = re.split(r"[-/@.]", name.lower())
    processor = next((word for word in PROCESSORS if word in words), None)
    if processor is None:
        sys.exit(f"{name} does not say which processor it is for")
    made: dict[str, Any] = {"version": version, "cpu": [processor], "optional": True}
    if dev:
        made["dev"] = True
    system = next((word for word in SYSTEMS if word in words), None)
    if system:
        made["os"] = [system]
    if system == "linux" and ({"musl", "gnu"} & set(words)):
        made["libc"] = ["musl" if "musl" in words else "glibc"]
    return made


def main() -> None:
    lock = json.loads(LOCK.read_text())
    added = complete(lock["packages"])
    lock["packages"] = dict(sorted(lock["packages"].items()))
    LOCK.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")
    print(f"{added} packages of other platforms added")


if __name__ == "__main__":
    main()
