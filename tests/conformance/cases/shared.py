"""Shared memory, over both protocols: Triton reads it where it runs beside its client; we refuse it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.registry import Answer, Session, attempt


def _both(method: str, *arguments: Any) -> Callable[[Session], Answer]:
    return lambda session: [
        attempt(lambda client=client: getattr(client, method)(*arguments))  # type: ignore[misc]
        for client in (session.http, session.grpc)
    ]


CASES = {
    "system_status": _both("get_system_shared_memory_status"),
    "system_status_unknown": _both("get_system_shared_memory_status", "nothing"),
    "system_register_missing": _both("register_system_shared_memory", "region", "/no-such-region", 64),
    "system_unregister_unknown": _both("unregister_system_shared_memory", "nothing"),
    "system_unregister_all": _both("unregister_system_shared_memory"),
    "cuda_status": _both("get_cuda_shared_memory_status"),
    "cuda_status_unknown": _both("get_cuda_shared_memory_status", "nothing"),
    "cuda_register": _both("register_cuda_shared_memory", "region", b"AAAA", 0, 64),
    "cuda_unregister_unknown": _both("unregister_cuda_shared_memory", "nothing"),
    "cuda_unregister_all": _both("unregister_cuda_shared_memory"),
}
