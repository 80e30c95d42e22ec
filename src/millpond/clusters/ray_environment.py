"""What Ray reads once, when it is loaded."""

from __future__ import annotations

import os

from .folder import ServiceFolder

# Less than the job's grace, so that Ray ends in order. Others have nothing to hand over.
DRAIN_SECONDS = 40
# How long a node may take until the head knows it. Ray's own 30 seconds are too few on a loaded machine.
NODE_START_SECONDS = 300


def ray_environment(folder: ServiceFolder) -> None:
    """Set it for this process and all that it starts."""
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN_PATH"] = folder.file("token")
    os.environ["RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"] = str(DRAIN_SECONDS) if folder.role == "worker" else "0"
    os.environ["RAY_raylet_start_wait_time_s"] = str(NODE_START_SECONDS)  # noqa: SIM112 - as Ray reads it
    # The client server forks beside threads of gRPC, whose handlers then crash the child every now and then.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"
