"""Reads requirements.txt, pyproject.toml or a lock file, as the files that an environment is built from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.client import environment_build
from millpond.errors import BadRequest

PYPROJECT = "pyproject.toml"
# Lock files that pin versions of what the pyproject beside them asks for.
_PINNING = ("uv.lock", "poetry.lock")


@dataclass(frozen=True, slots=True)
class Requirements:
    """`constraints`: versions to use if a package is needed. `complete`: all packages are listed, with dependencies."""

    lines: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    complete: bool = False

    def files(self) -> Mapping[str, str]:
        found = {"requirements.txt": _text(self.lines), "build.py": Path(environment_build.__file__).read_text("utf-8")}
        if self.constraints:
            found["constraints.txt"] = _text(self.constraints)
        if self.complete:
            found["no-deps"] = ""
        return found


def read_requirements(path: Path) -> Requirements:
    """Requirements in the file. Raises BadRequest if it cannot be read or refers to local paths."""
    try:
        if path.name == PYPROJECT:
            return Requirements(_project_lines(path))
        if path.name in _PINNING:
            return Requirements(_project_lines(path.with_name(PYPROJECT)), constraints=_pinned(path))
        if path.suffix == ".toml":  # pylock.toml, pylock.NAME.toml
            return Requirements(_locked(path), complete=True)
        return Requirements(_plain(path, seen=()))
    except FileNotFoundError as error:
        raise BadRequest(
            f"File not found: {error.filename}", hint="Give a requirements, pyproject or lock file."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"Cannot read requirements from {path}: {error}.") from error


def _project_lines(path: Path) -> tuple[str, ...]:
    project = _toml(path).get("project", {})
    if "dependencies" not in project:
        raise ValueError(f"{path.name} lists no [project] dependencies")
    return tuple(project["dependencies"])


def _pinned(path: Path) -> tuple[str, ...]:
    packages = [package for package in _toml(path)["package"] if "version" in package and _is_published(package)]
    return tuple(sorted(f"{package['name']}=={package['version']}" for package in packages))


def _is_published(package: Mapping[str, Any]) -> bool:
    """True if the package comes from an index. uv lock files also list the project itself."""
    source = package.get("source", {})
    return not any(kind in source for kind in ("editable", "virtual", "directory"))


def _locked(path: Path) -> tuple[str, ...]:
    """The packages of a pylock file (PEP 751), each at its version and only where its marker holds."""
    packages = [package for package in _toml(path)["packages"] if "version" in package]
    markers = [f" ; {package['marker']}" if "marker" in package else "" for package in packages]
    return tuple(f"{one['name']}=={one['version']}{marker}" for one, marker in zip(packages, markers, strict=True))


def _plain(path: Path, seen: tuple[Path, ...]) -> tuple[str, ...]:
    """The lines of a requirements file and of those it takes in, without comments."""
    if path.resolve() in seen:
        raise ValueError(f"{path} includes itself")
    lines: list[str] = []
    for line in path.read_text("utf-8").replace("\\\n", " ").splitlines():
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        option, _, value = text.replace("=", " ", 1).partition(" ") if text.startswith("--") else text.partition(" ")
        if option in ("-r", "--requirement"):
            lines += _plain(path.parent / value.strip(), (*seen, path.resolve()))
        elif option in ("-e", "--editable", "-c", "--constraint") or text.startswith((".", "/", "file:")):
            raise ValueError(f"{text!r} is a local file or folder; a job's own code needs no requirement")
        else:
            lines.append(" ".join(text.split()))
    return tuple(lines)


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)
