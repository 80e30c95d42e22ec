"""The agent's far end as one file that any Python from 3.9 on can run: see `far`."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

NAME = "far.pyz"

_PACKAGE = Path(__file__).parents[1]
_MODULES = (
    "agent/beside.py", "agent/confine.py", "agent/entering.py", "agent/far.py", "agent/framing.py", "agent/gang.py",
    "agent/keeper.py", "agent/serving.py", "agent/drivers/process/reaching.py",
)  # fmt: skip
# The packages' own `__init__` import what is not there.
_PACKAGES = ("", "agent", "agent/drivers", "agent/drivers/process")


@cache
def far_archive() -> bytes:
    """The same bytes for the same Millpond."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for module in _MODULES:
            archive.writestr(zipfile.ZipInfo(f"millpond/{module}"), (_PACKAGE / module).read_bytes())
        for package in _PACKAGES:
            archive.writestr(zipfile.ZipInfo(str(Path("millpond", package, "__init__.py"))), b"")
        archive.writestr(zipfile.ZipInfo("__main__.py"), b"from millpond.agent.far import main\n\nmain()\n")
    return buffer.getvalue()
