"""What the kernel does and Python has no name for."""

from __future__ import annotations

import ctypes

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
FALLOC_KEEP_SIZE = 1
FALLOC_PUNCH_HOLE = 2


def prctl(option: int, value: int | bytes) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def punch(descriptor: int, begin: int, length: int) -> int:
    call = ctypes.CDLL(None, use_errno=True).fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
    return int(call(descriptor, FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE, begin, length))
