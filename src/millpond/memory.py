"""Keeping long-lived processes small: large buffers go back to the system when freed, not into a store."""

from __future__ import annotations

import ctypes

# Of <malloc.h>. Setting the thresholds also ends their growing by themselves, up to 64 MiB per thread.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGE_BYTES = 1 << 20


def return_large_buffers() -> None:
    """Call it once, at the start. Does nothing where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_ARENA_MAX, 2)
