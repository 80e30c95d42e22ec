"""Clients move bytes on systems that are not POSIX, and start without loading the object stores."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None
import millpond.lake.push, millpond.lake.fetch, millpond.lake.http, millpond.lake.verify
assert "obstore" not in sys.modules
"""


def test_the_lake_needs_no_posix_modules_and_no_object_store() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)
