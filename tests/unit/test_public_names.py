"""`import millpond` offers what scripts call: quickly, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import millpond


def test_dir_shows_the_public_names_and_each_is_there() -> None:
    assert dir(millpond) == sorted(millpond.__all__)
    assert all(getattr(millpond, name) is not None for name in millpond.__all__)


def test_a_public_name_is_itself_whatever_else_was_imported() -> None:
    """No package beside it has its name: importing one would put the package in its place."""
    code = (
        "import millpond, pkgutil\n"
        "beside = {one.name for one in pkgutil.iter_modules(millpond.__path__)}\n"
        "assert not beside & set(millpond.__all__), beside\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_package_loads_nothing_of_the_sdk() -> None:
    code = "import millpond, sys; assert not [name for name in sys.modules if name.startswith('millpond.')]"
    subprocess.run([sys.executable, "-c", code], check=True)
