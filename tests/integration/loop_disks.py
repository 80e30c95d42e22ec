"""File systems of their own in files, mounted for as long as a test needs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MAKE = {
    "xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"],
    "btrfs": ["mkfs.btrfs", "-q"],
    "ext4": ["mkfs.ext4", "-q", "-F"],
}
# The smallest that each of them can be.
SIZES = {"xfs": 320 << 20, "btrfs": 160 << 20, "ext4": 96 << 20}


@contextmanager
def loop_disk(kind: str, root: Path, size: int | None = None) -> Iterator[Path]:
    """A directory with a file system of this kind. Skips where that is not possible."""
    make = MAKE[kind]
    lacking = [tool for tool in (make[0], "mount", "umount") if shutil.which(tool) is None]
    if os.geteuid() != 0 or lacking:
        pytest.skip(f"needs root and {', '.join(lacking) or 'mounts'}")
    image, place = root / f"{kind}.img", root / kind
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(size or SIZES[kind])
    subprocess.run([*make, image], check=True, capture_output=True)
    try:
        subprocess.run(["mount", "-o", "loop", image, place], check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine mounts no {kind} on loop devices: {error.stderr.decode(errors='replace').strip()}")
    try:
        yield place
    finally:
        # Whatever a test has mounted below it goes, too.
        subprocess.run(["umount", "-R", place], check=False, capture_output=True)
        image.unlink()
