"""What the kernel does and Python has no name for."""

from __future__ import annotations

import ctypes

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
FALLOC_KEEP_SIZE = 1
FALLOC_PUNCH_HOLE = 2

# Looked up once, in a nursery for all of its keepers.
_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl


def lock_code() -> None:
    """Keep the programs of this process in memory, as far as it may: they may lie on a file system that hangs.

    Code alone: it is shared by all who run it, and costs nothing where it is used anyway.
    """
    with open("/proc/self/maps") as file:
        lines = file.readlines()
    for line in lines:
        where, rights = line.split(maxsplit=2)[:2]
        if rights == "r-xp":
            begin, _, end = where.partition("-")
            _libc.mlock(ctypes.c_void_p(int(begin, 16)), ctypes.c_size_t(int(end, 16) - int(begin, 16)))


def prctl(option: int, value: int | bytes) -> None:
    _prctl(option, value, 0, 0, 0)


def punch(descriptor: int, begin: int, length: int) -> int:
    call = _libc.fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
    return int(call(descriptor, FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE, begin, length))
