"""What the agent brings to other machines runs with a bare Python, wherever it is put."""

from __future__ import annotations

import ast
import io
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from millpond.agent.archives import FAR, KEEPER, archives, write_once


def frame(text: str) -> bytes:
    return struct.pack(">cI", b"t", len(text)) + text.encode()


def test_the_far_end_needs_nothing_but_python(tmp_path: Path) -> None:
    write_once(tmp_path, archives())
    placement = tmp_path / "placement"
    placement.mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / FAR), str(placement)],
        input=frame('{"kind": "port", "port": 1}'), capture_output=True, env={}, timeout=60, check=True,
    )  # fmt: skip
    assert b"No process of the job listens on port 1." in done.stdout
    assert done.stderr == b""


# What Python does on its own way out must not matter: it fails where a thread is still ending and libgcc is not there.
NO_WAY_OUT = """
import atexit, os, runpy, sys
atexit.register(os._exit, 6)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_the_far_end_leaves_when_all_is_said(tmp_path: Path) -> None:
    write_once(tmp_path, archives())
    placement = tmp_path / "placement"
    placement.mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", NO_WAY_OUT, str(tmp_path / FAR), str(placement)],
        input=frame('{"kind": "port", "port": 1}'), capture_output=True, env={}, timeout=60,
    )  # fmt: skip
    assert b"No process of the job listens on port 1." in done.stdout
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_keeper_may_be_reading_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / KEEPER).write_bytes(b"of another Millpond")
    write_once(tmp_path, archives())
    assert (tmp_path / KEEPER).read_bytes() == b"of another Millpond"
    assert {path.name for path in tmp_path.iterdir()} == {KEEPER, FAR}


@pytest.mark.parametrize("name", [KEEPER, FAR])
def test_they_are_written_in_the_oldest_python_they_promise(name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(archives()[name])) as archive:
        for module in archive.namelist():
            ast.parse(archive.read(module), filename=module, feature_version=(3, 9))


OLD_PYTHON = """
import runpy, sys
sys.version_info = (3, 8, 20, "final", 0)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", [KEEPER, FAR])
def test_an_older_python_is_told_so_before_anything_is_claimed(name: str, tmp_path: Path) -> None:
    write_once(tmp_path, archives())
    placement = tmp_path / "placement"
    placement.mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", OLD_PYTHON, str(tmp_path / name), str(placement)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, env={}, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1, "Millpond needs Python 3.9 or newer where jobs run; this is 3.8.\n"
    )  # fmt: skip
    assert list(placement.iterdir()) == []
