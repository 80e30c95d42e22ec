"""A release as its users install it: the wheel in an empty environment, with the pins or with other versions."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from millpond.testing.up import environment
from millpond.testing.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "src" / "millpond" / "api" / "static" / "index.html"
CONSTRAINTS = ROOT / "deploy" / "constraints.txt"


def interpreter(version: str) -> str:
    """A Python of this version that really runs, not only the name of one."""
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    names = [shutil.which(f"python{version}"), *map(str, sorted(kept.glob(f"{version}.*/bin/python")))]
    for name in filter(None, names):
        done = subprocess.run([name, "-c", "import ssl, venv"], capture_output=True, check=False)
        if done.returncode == 0:
            return name
    pytest.skip(f"no Python {version} here")


@pytest.fixture(scope="module")
def uv() -> str:
    found = shutil.which("uv")
    if found is None:
        pytest.skip("uv is not installed: pip install uv")
    return found


@pytest.fixture(scope="module")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PAGE.exists():
        pytest.skip("the page is not built: make web")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)], check=True)
    return next(folder.glob("*.whl"))


def clean(folder: Path) -> dict[str, str]:
    """An environment in which nothing of this project is found."""
    return {name: value for name, value in environment(folder / "home").items() if name != "PYTHONPATH"}


@contextmanager
def server_of(python: Path, folder: Path) -> Iterator[str]:
    """The server of an environment, in a folder that has nothing of this project."""
    log = folder / "log"
    command = [str(python), "-m", "millpond", "up", "--port", "0", "--data-dir", str(folder / "data")]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=clean(folder), stdout=output, stderr=output)
    try:

        def ready() -> str:
            assert process.poll() is None, log.read_text()
            return log.read_text().partition("ready at ")[2].partition("\n")[0]

        yield wait_until(ready, within=120, what="the server's readiness")
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize(
    ("version", "packages"),
    [
        ("3.11", "pinned"),
        ("3.12", "pinned"),
        ("3.13", "pinned"),
        ("3.11", "lowest-direct"),
        ("3.11", "highest"),
        ("3.13", "highest"),
    ],
)
def test_the_wheel_in_an_empty_environment(uv: str, wheel: Path, tmp_path: Path, version: str, packages: str) -> None:
    venv = tmp_path / "venv"
    subprocess.run([uv, "venv", "--quiet", "--python", interpreter(version), str(venv)], check=True)
    python = venv / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    if packages == "pinned":
        subprocess.run([*install, "--require-hashes", "-r", str(CONSTRAINTS)], check=True)
        subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    else:
        subprocess.run([*install, "--resolution", packages, str(wheel)], check=True)
    told = subprocess.run(
        [venv / "bin" / "mill", "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert wheel.name.split("-")[1] in told.stdout
    with server_of(python, tmp_path) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        assert client.get("/readyz").status_code == 200
        page = client.get("/", headers={"Accept": "text/html"})
        assert page.status_code == 200 and "assets/" in page.text
        follow_the_story(python.with_name("mill"), tmp_path)


def follow_the_story(program: Path, folder: Path) -> None:
    """From a folder to the output of a job that read it."""
    data = folder / "x-ray"
    data.mkdir()
    (data / "a.txt").write_text("from the lake")

    def mill(*arguments: str) -> str:
        done = subprocess.run([program, *arguments], cwd=data, env=clean(folder), capture_output=True, text=True)
        assert done.returncode == 0, f"mill {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    assert "submit" in mill("--help") and "--data" in mill("submit", "--help")
    mill("data", "init", "x-ray")
    mill("data", "sync", "-m", "first")
    mill("submit", "copy", "-d", "x-ray", "--wait", "--", "sh", "-c", "cat $MILL_DATA_X_RAY/a.txt | tee $MILL_OUTPUT/b")
    assert mill("logs", "copy") == "from the lake"
    assert "succeeded" in mill("list")
    program_of_a_run = (
        "import millpond\n"
        "with millpond.init(name='run', params={'lr': 0.1}) as run:\n"
        "    run.log_metric('acc', 0.5)\n"
        "assert millpond.Dataset('x-ray').read('a.txt') == b'from the lake'\n"
    )
    subprocess.run([program.with_name("python"), "-c", program_of_a_run], cwd=data, env=clean(folder), check=True)
    assert "acc" in mill("run", "show", "run")
