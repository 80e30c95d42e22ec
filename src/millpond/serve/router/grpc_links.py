"""Channels to the gRPC ports of replicas."""

from __future__ import annotations

import threading
from typing import Any

import grpc

from .replicas import Replica

_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # The router itself sends a request again where that is right.
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


class GrpcLinks:
    """One channel for each replica, made when it is first needed. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channels: dict[Replica, Any] = {}
        self._calls: dict[tuple[Replica, str], Any] = {}

    def call(self, replica: Replica, method: str) -> Any:
        """The method of a replica, from bytes to bytes; None if it has no gRPC port."""
        found = self._calls.get((replica, method))
        if found is not None or replica.address.grpc is None:
            return found
        with self._lock:
            channel = self._channels.get(replica)
            if channel is None:
                channel = self._channels[replica] = grpc.insecure_channel(_target(replica.address.grpc), _OPTIONS)
            found = channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
            self._calls[replica, method] = found
            return found

    def forget(self, present: list[Replica]) -> None:
        """Close the channels of replicas that are gone and have nothing outstanding."""
        with self._lock:
            gone = [replica for replica in self._channels if replica not in present and not replica.outstanding]
            for replica in gone:
                self._channels.pop(replica).close()
            self._calls = {key: call for key, call in self._calls.items() if key[0] not in gone}

    def close(self) -> None:
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()
            self._calls.clear()


def _target(address: str) -> str:
    kind, _, rest = address.partition(":")
    return f"unix:{rest}" if kind == "unix" else rest
