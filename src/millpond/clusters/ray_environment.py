"""What Ray reads once, when it is loaded."""

from __future__ import annotations

import os

from .folder import ServiceFolder

# Less than the job's grace, so that Ray ends in order. A head has nothing to hand over.
DRAIN_SECONDS = 40


def ray_environment(folder: ServiceFolder) -> None:
    """Set it for this process and all that it starts."""
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN_PATH"] = folder.file("token")
    os.environ["RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"] = "0" if folder.role == "scheduler" else str(DRAIN_SECONDS)
    # The client server forks beside threads of gRPC, whose handlers then crash the child every now and then.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"
