"""The files of small container images, taken from this machine: seconds, where a distribution takes a minute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import millpond

# What commands of tests need beside Python.
PROGRAMS = ("sh", "bash", "sleep", "touch", "true", "cat", "ls", "mkdir", "env", "id")
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo", "pydoc_data",
    "config-*", "site-packages", "dist-packages", "*.a",
)  # fmt: skip


def copy_programs(root: Path, names: Iterable[str] = PROGRAMS) -> dict[str, Path]:
    """Copy programs with the libraries they load; where each lies below `root`, by its name."""
    programs = {name: Path(os.path.realpath(shutil.which(name) or name)) for name in names}
    _copy(root, set(programs.values()))
    return programs


def copy_python(root: Path) -> Path:
    """Copy this Python with its standard library; where it lies below `root`."""
    python, stdlib = Path(os.path.realpath(sys.executable)), Path(sysconfig.get_path("stdlib"))
    shutil.copytree(stdlib, f"{root}{stdlib}", ignore=_LEFT_OUT, symlinks=True)
    _copy(root, {python}, loading=stdlib.glob("lib-dynload/*.so"))
    return python


def copy_packages(root: Path, names: Iterable[str]) -> None:
    """Copy packages of this Python, to where the one of `copy_python` finds them, with the libraries they load.

    Each is the name of a folder or file beside other packages, or a pattern of them.
    """
    source, target = Path(sysconfig.get_path("purelib")), f"{root}{sysconfig.get_path('stdlib')}/site-packages"
    found = [path for name in names for path in source.glob(name)]
    for path in found:
        if path.is_dir():
            shutil.copytree(path, f"{target}/{path.name}", ignore=shutil.ignore_patterns("__pycache__", "tests"))
        else:
            shutil.copy2(path, f"{target}/{path.name}")
    libraries = [file for path in found if path.is_dir() for file in path.rglob("*.so*")]
    _copy(root, set(), loading=libraries)


def packages_of(*requirements: str) -> list[str]:
    """The folders and files that are installed for requirements, and for those in turn; see `copy_packages`."""
    names = {name for requirement in requirements for name in _distributions(requirement)}
    files = [file for name in sorted(names) for file in metadata.distribution(name).files or ()]
    return sorted({file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")})


def _copy(root: Path, programs: set[Path], loading: Iterable[Path] = ()) -> None:
    for path in programs | _libraries([*programs, *loading]):
        target = Path(f"{root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def _libraries(programs: list[Path]) -> set[Path]:
    """What the loader finds for them, at the paths by which they ask for it."""
    found = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return {
        Path(word) for line in found.splitlines() for word in line.split() if word.startswith("/") and word[-1] != ":"
    }


def write_millpond(root: Path) -> dict[str, Path]:
    """Copy this Millpond with all it needs; where it, its Python and some programs lie below `root`, by name."""
    links = {"python3": copy_python(root), **copy_programs(root, (*PROGRAMS, "chown"))}
    packages = root / "opt" / "millpond"
    for name in _distributions("millpond[postgres]"):
        found = metadata.distribution(name)
        for file in found.files or ():
            source = Path(str(found.locate_file(file)))
            if ".." not in file.parts and file.suffix != ".pth" and source.is_file():
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, packages / file)
    shutil.copytree(Path(millpond.__file__).parent, packages / "millpond", dirs_exist_ok=True)
    _copy(root, set(), loading=packages.rglob("*.so*"))
    # Without any, clients of object stores do not begin, whether they speak HTTPS or not.
    if _AUTHORITIES.exists():
        (root / _AUTHORITIES.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_AUTHORITIES, root / _AUTHORITIES.relative_to("/"))
    program = root / "opt" / "mill"
    program.write_text(
        f"#!{links['python3']}\nimport sys\nsys.path.insert(0, '/opt/millpond')\n"
        "from millpond.cli.main import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    return {**links, "mill": Path("/opt/mill")}


def _distributions(requirement: str) -> set[str]:
    """The names of what is installed for a requirement, and for those in turn."""
    found: set[str] = set()
    waiting = [Requirement(requirement)]
    while waiting:
        needed = waiting.pop()
        if needed.name in found:
            continue
        found.add(needed.name)
        for text in metadata.requires(needed.name) or ():
            parsed = Requirement(text)
            if parsed.marker is None or any(parsed.marker.evaluate({"extra": extra}) for extra in (*needed.extras, "")):
                waiting.append(parsed)
    return found
