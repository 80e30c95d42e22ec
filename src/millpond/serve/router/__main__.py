"""`python -m millpond.serve.router --config FILE --state-dir DIR`: run a router."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import ServeError
from .run import RouterOptions, run_router


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run_router(options))
    except ServeError as error:
        logging.getLogger(__name__).error("%s", error.message)
        return 1
    return 0


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where it is installed: it takes half the time of Python's own."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        return None
    return uvloop.new_event_loop


def parse(arguments: list[str] | None = None) -> RouterOptions:
    parser = argparse.ArgumentParser(prog="millpond.serve.router", description="Run the router of a site's endpoints.")
    parser.add_argument("--config", type=Path, required=True, help="Configuration file, reread when it changes.")
    parser.add_argument("--state-dir", type=Path, required=True, help="Directory for stats.json and the request log.")
    parser.add_argument("--host", default="0.0.0.0", help="Address to listen at (default: all).")
    parser.add_argument("--http-port", type=int, default=8000, help="Port for HTTP (default: 8000).")
    parser.add_argument("--grpc-port", type=int, help="Port for gRPC (default: no gRPC).")
    parser.add_argument("--metrics-port", type=int, help="Port for Prometheus metrics (default: none).")
    parser.add_argument("--tls-cert", type=Path, help="PEM file of the certificate, reread when it changes.")
    parser.add_argument("--tls-key", type=Path, help="PEM file of its key.")
    parser.add_argument(
        "--answer-seconds", type=float, default=120.0, help="Longest wait for a replica (default: 120)."
    )
    parser.add_argument("--drain-seconds", type=float, default=30.0, help="Longest wait at the end (default: 30).")
    parser.add_argument("--log-bytes", type=int, default=1024**3, help="Most bytes of request log on disk.")
    found = parser.parse_args(arguments)
    host = f"[{found.host}]" if ":" in found.host else found.host
    return RouterOptions(
        config=found.config,
        state_dir=found.state_dir,
        http=f"tcp:{host}:{found.http_port}",
        grpc=f"tcp:{host}:{found.grpc_port}" if found.grpc_port is not None else None,
        metrics=f"tcp:{host}:{found.metrics_port}" if found.metrics_port is not None else None,
        tls_cert=found.tls_cert,
        tls_key=found.tls_key,
        answer_seconds=found.answer_seconds,
        drain_seconds=found.drain_seconds,
        log_bytes=found.log_bytes,
    )


if __name__ == "__main__":
    raise SystemExit(main())
