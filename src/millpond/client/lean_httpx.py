"""httpx without its own command line, whose libraries (rich, pygments, click) are a quarter of its import."""

from __future__ import annotations

import sys

if "httpx" not in sys.modules:
    # None makes the import of a module fail; httpx then does without it.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]

import httpx

if sys.modules.get("httpx._main", httpx) is None:
    del sys.modules["httpx._main"]

__all__ = ["httpx"]
