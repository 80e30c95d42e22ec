"""A real Kubernetes with a node for tests, started from a folder of scripts beside the project; see `why_no_kube`."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.testing.images import copy_packages, copy_programs, copy_python, write_millpond

FOLDER = "MILL_TEST_KUBE"
IMAGE = "localhost/mill-python:1"

_BESIDE = Path(__file__).parents[4] / "shared" / "kube"
_CGROUPS = Path("/sys/fs/cgroup/memory")
# Ends the cluster when whoever holds the other end of its standard input is gone, however that one ended.
_GUARD = "import subprocess, shutil, sys; sys.stdin.read(); subprocess.run(sys.argv[1:3]); shutil.rmtree(sys.argv[3])"


@dataclass(frozen=True, slots=True)
class Kube:
    """A running cluster with the node `node1`, which has `IMAGE`; its pods see the files of this machine."""

    folder: Path
    state: Path

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        command: list[str | Path] = [self.folder / "bin" / "kubectl", "--kubeconfig", self.kubeconfig, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, input=stdin).stdout

    @property
    def network(self) -> Path:
        """The network namespace of its node and pods, which the machine around it does not reach."""
        return Path("/proc") / (self.state / "pids" / "kubelet.pid").read_text().split()[0] / "ns" / "net"

    def make_image(self, name: str, packages: Iterable[str]) -> None:
        """Give the node one more image with Python, and these packages (see `copy_packages`)."""
        image = self.state / "more.tar"
        _make_image(self.folder, image, name, packages)
        subprocess.run([self.state / "ctr", "images", "import", image], check=True, capture_output=True)
        image.unlink()

    def make_millpond_image(self, name: str) -> None:
        """Give the node an image with this Millpond, whose Python finds it."""
        image = self.state / "millpond.tar"
        with tempfile.TemporaryDirectory(dir=self.state) as root:
            links = write_millpond(Path(root))
            packages = ["--env", "PYTHONPATH=/opt/millpond"]
            _pack_image(self.folder, image, name, Path(root), links, packages)
        subprocess.run([self.state / "ctr", "images", "import", image], check=True, capture_output=True)
        image.unlink()

    @contextmanager
    def exposing(self, port: int) -> Iterator[str]:
        """Pods find this port of 127.0.0.1 at the address given, while the block lasts."""
        inside = (self.state / "pids" / "kubelet.pid").read_text().split()[0]
        command: list[str | Path] = [sys.executable, self.folder / "netns-forward", inside]
        with subprocess.Popen([*command, f"in:10.244.0.1:{port}=out:127.0.0.1:{port}"]) as process:
            try:
                yield f"10.244.0.1:{port}"
            finally:
                process.kill()


def why_no_kube() -> str | None:
    """Why there can be no cluster here; None if there can."""
    if _folder() is None:
        return f"There is no folder with kube-up: set {FOLDER} to one."
    if os.geteuid() != 0:
        return "Only root can start a node that runs pods."
    return None if _CGROUPS.is_dir() else "The node needs cgroup v1 hierarchies."


@contextmanager
def running_kube(*exposed: int) -> Iterator[Kube]:
    """A cluster that ends with the block or with this process. Pods find `exposed` ports of 127.0.0.1 at 10.244.0.1."""
    folder, image = _prepared()
    # The path of a socket is short, and not below pytest's own directories.
    home = Path(tempfile.mkdtemp(prefix="mill-kube-"))
    down: list[str | Path] = [folder / "kube-down", home / "state", home]
    guard = subprocess.Popen(
        [sys.executable, "-c", _GUARD, *down], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        options = [argument for port in exposed for argument in ("--expose", str(port))]
        up: list[str | Path] = [folder / "kube-up", home / "state", "--node", "--image", image, *options]
        done = subprocess.run(up, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise RuntimeError(f"kube-up failed:\n{done.stderr}")
        yield Kube(folder, home / "state")
    finally:
        guard.communicate()


def _folder() -> Path | None:
    found = Path(os.environ.get(FOLDER) or _BESIDE)
    return found if (found / "kube-up").is_file() else None


def _prepared() -> tuple[Path, Path]:
    """A copy of the folder with its programs unpacked, and the image: made once, kept for the next run."""
    source = _folder()
    assert source is not None, "ask why_no_kube first"
    home = Path(tempfile.gettempdir()) / f"mill-test-kube-{os.geteuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.lstat().st_uid != os.geteuid() or home.is_symlink():
        raise RuntimeError(f"{home} belongs to somebody else.")
    folder, image = home / "kube", home / "image.tar"
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "debroot").is_dir():
            shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("bin", "debroot"))
            folder.chmod(0o755)
            subprocess.run([folder / "get-debs"], check=True, capture_output=True)
        if not image.exists():
            _make_image(folder, image)
    return folder, image


def _make_image(folder: Path, image: Path, name: str = IMAGE, packages: Iterable[str] = ()) -> None:
    """This Python, a shell and a few programs, with the libraries they load: seconds, where a distribution takes a
    minute."""
    with tempfile.TemporaryDirectory(dir=image.parent) as root:
        links = {"python3": copy_python(Path(root)), **copy_programs(Path(root))}
        copy_packages(Path(root), packages)
        _pack_image(folder, image, name, Path(root), links)


def _pack_image(
    folder: Path, image: Path, name: str, root: Path, links: Mapping[str, Path], more: Sequence[str] = ()
) -> None:
    arguments = [word for name, path in links.items() for word in ("--link", f"{path}=usr/local/bin/{name}")]
    arguments += [
        "--link",
        f"{links['sh']}=bin/sh",
        "--env",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "--dir",
        "tmp",
        *more,
    ]
    part = image.with_suffix(".part")
    subprocess.run([folder / "mkimage", "--root", root, *arguments, name, part], check=True, capture_output=True)
    part.replace(image)
