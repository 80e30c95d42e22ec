"""Programs that the agent copies to other machines or beside jobs, each one file for Python 3.9 or newer: keeper, far
end, and what makes a job a driver of a Ray cluster."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

KEEPER = "keeper.pyz"
FAR = "far.pyz"
RAY_DRIVER = "ray_driver.pyz"

_AGENT = Path(__file__).parent
# The name that the programs of clusters have wherever they are carried.
_CLUSTERS = "millpond_clusters"
_FAR = ("enter_job.py", "exec_session.py", "framing.py", "serving.py", "tunnel_endpoint.py", "drivers/process/ports.py")
# Understood by every Python there ever was.
_MAIN = """\
import sys

if sys.version_info < (3, 9):
    sys.exit("Millpond needs Python 3.9 or newer where jobs run; this is %d.%d." % tuple(sys.version_info[:2]))
from {main} import main

main()
"""
# The packages' own `__init__` import what is not there.
_FAR_PACKAGES = ("millpond", "millpond/agent", "millpond/agent/drivers", "millpond/agent/drivers/process")


@cache
def archives() -> Mapping[str, bytes]:
    """Content by file name; reproducible for each version of Millpond."""
    keeper = {f"keeper/{path.name}": path.read_bytes() for path in sorted((_AGENT / "keeper").glob("*.py"))}
    far = {**keeper, **{name: (_AGENT / name).read_bytes() for name in _FAR}}
    far = {f"millpond/agent/{name}": content for name, content in far.items()}
    far |= {f"{package}/__init__.py": b"" for package in _FAR_PACKAGES}
    return {KEEPER: _archive(keeper, "keeper.keeper"), FAR: _archive(far, "millpond.agent.tunnel_endpoint")}


@cache
def ray_driver() -> bytes:
    """The programs of clusters, as one that runs a command as a driver."""
    top = _AGENT.parent / "clusters"
    files = {f"{_CLUSTERS}/{path.name}": path.read_bytes() for path in sorted(top.glob("*.py"))}
    return _archive(files, f"{_CLUSTERS}.ray_driver")


def write_once(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write atomically. Existing files stay: a starting keeper may be reading them."""
    for name, content in contents.items():
        if not (folder / name).exists():
            temporary = folder / f"{name}.{os.getpid()}.new"
            temporary.write_bytes(content)
            temporary.replace(folder / name)


def _archive(files: Mapping[str, bytes], main: str) -> bytes:
    """Uncompressed: a minimal Python may lack zlib. A Python that is too old says so before it claims."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {**files, "__main__.py": _MAIN.format(main=main).encode()}.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()
