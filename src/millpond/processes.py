"""Whether the process is still there that left something behind on this machine."""

from __future__ import annotations

import os


def exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
