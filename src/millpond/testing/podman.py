"""A Podman with a store of its own, and two images without any registry: one with Python, one without."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.testing.images import copy_packages, copy_programs, copy_python

WITH_PYTHON = "localhost/mill-python:1"
WITHOUT_PYTHON = "localhost/mill-plain:1"


@dataclass(frozen=True, slots=True)
class TestPodman:
    """`arguments` name its store; nothing of the machine's own is seen or touched."""

    __test__ = False

    arguments: tuple[str, ...]

    def make_image(self, name: str, packages: Iterable[str]) -> None:
        """One more with Python, and these packages (see `copy_packages`)."""
        with tempfile.TemporaryDirectory(prefix="millpond-image-") as directory:
            _import(self, Path(directory) / "root", name, python=True, packages=packages)

    def run(self, *command: str, stdin: bytes | None = None) -> str:
        done = subprocess.run(["podman", *self.arguments, *command], input=stdin, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"podman {command[0]} failed: {done.stderr.decode()}")
        return done.stdout.decode()


def why_no_podman() -> str | None:
    """Why containers cannot be tried here; None when they can."""
    missing = [name for name in ("podman", "runc", "catatonit") if shutil.which(name) is None]
    return f"{', '.join(missing)}: not installed (apt-get install podman runc catatonit)" if missing else None


@contextmanager
def a_podman() -> Iterator[TestPodman]:
    directory = Path(tempfile.mkdtemp(prefix="millpond-podman-"))
    store = (f"--root={directory}/store", f"--runroot={directory}/run", f"--tmpdir={directory}/tmp")
    podman = TestPodman((*store, "--cgroup-manager=cgroupfs", "--runtime=runc", "--events-backend=none"))
    try:
        _import(podman, directory / "plain", WITHOUT_PYTHON, python=False)
        _import(podman, directory / "python", WITH_PYTHON, python=True)
        yield podman
    finally:
        podman.run("rm", "--all", "--force", "--time", "0")
        subprocess.run(["podman", *podman.arguments, "unmount", "--all"], capture_output=True, check=False)
        shutil.rmtree(directory, ignore_errors=True)


def _import(podman: TestPodman, root: Path, name: str, *, python: bool, packages: Iterable[str] = ()) -> None:
    root.mkdir()
    links = dict(copy_programs(root))
    if python:
        links["python3"] = copy_python(root)
    copy_packages(root, packages)
    for directory in ("bin", "tmp", "proc", "sys", "dev", "etc", "data"):
        (root / directory).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    for program, path in links.items():
        if not (root / "bin" / program).exists():
            (root / "bin" / program).symlink_to(path)
    packed = subprocess.run(["tar", "-C", root, "-c", "."], capture_output=True, check=True).stdout
    podman.run("import", "--quiet", "--change", "ENV PATH=/bin:/usr/bin", "-", name, stdin=packed)
    shutil.rmtree(root)
