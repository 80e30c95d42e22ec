"""One process that serves: loads, warms up, listens, says so, and ends without losing a request."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .core import ModelServer
from .errors import ServeError
from .grpc import GrpcServer, serve_grpc
from .http import HttpServer, Limits, serve_http, tls_context
from .repository import ModelFolder
from .rest import Routes

log = logging.getLogger(__name__)

# How long requests in flight may take once nothing new is accepted.
FINISH_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Listening:
    """Addresses, `unix:/path` or `tcp:host:port`. Those that are `remote` are for other machines, beside sockets."""

    http: str
    grpc: str | None = None
    remote_http: str | None = None
    remote_grpc: str | None = None
    metrics: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None


@dataclass(frozen=True, slots=True)
class Options:
    repository: Path | None
    models: Mapping[str, ModelFolder]
    listening: Listening
    # Load nothing at the start; and let clients load and unload models.
    explicit: bool = False
    control: bool = False
    token: str | None = None
    ready_file: Path | None = None
    drain_seconds: float = 5.0
    limits: Limits = field(default_factory=Limits)


async def serve(options: Options) -> int:
    """Serve until SIGTERM or SIGINT; 0 then, 1 if none of the models could be loaded."""
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    began = time.monotonic()
    server = ModelServer(options.repository, options.models, control=options.control or options.explicit)
    # Ports answer while models load, so that whoever asks is told "not ready" and not refused.
    http = await _listen(server, options)
    grpc = _listen_grpc(server, options)
    try:
        if options.explicit:
            server.start_empty()
        else:
            errors = await asyncio.to_thread(server.load_all)
            if errors and not server.served():
                return 1
        loaded = time.monotonic() - began
        if options.ready_file:
            _write_ready(options.ready_file, _told(server, options.listening, http, grpc, loaded))
        log.info("serving %d models at %s", len(server.served()), http[0].address)
        await ending.wait()
        server.accepting = False
        for each in http:
            each.draining = True
        # Routers and clients that look at readiness go elsewhere; what still comes is served.
        await asyncio.sleep(options.drain_seconds)
        calls = [asyncio.to_thread(grpc.drain, FINISH_SECONDS)] if grpc else []
        await asyncio.gather(*(each.drain(FINISH_SECONDS) for each in http), *calls)
        return 0
    finally:
        if grpc:
            await asyncio.to_thread(grpc.drain, 0)
        for each in http:
            await each.close()
        await asyncio.to_thread(server.close)


async def _listen(server: ModelServer, options: Options) -> list[HttpServer]:
    where = options.listening
    tls = tls_context(where.tls_cert, where.tls_key) if where.tls_cert else None
    routes = Routes(server, options.token)
    addresses = [one for one in (where.http, where.remote_http) if one]
    http = [await serve_http(routes, listen=one, limits=options.limits, tls=tls) for one in addresses]
    if where.metrics:
        http.append(await serve_http(routes.metrics, listen=where.metrics, limits=options.limits))
    return http


def _listen_grpc(server: ModelServer, options: Options) -> GrpcServer | None:
    where = options.listening
    if where.grpc is None:
        return None
    return serve_grpc(
        server,
        listen=where.grpc,
        also=where.remote_grpc,
        token=options.token,
        most_bytes=options.limits.body_bytes,
        tls_cert=where.tls_cert,
        tls_key=where.tls_key,
    )


def _told(
    server: ModelServer, where: Listening, http: list[HttpServer], grpc: GrpcServer | None, seconds: float
) -> dict[str, Any]:
    warmup = server.repository.warmup_seconds
    models: dict[str, list[str]] = {}
    for served in server.served():
        models.setdefault(served.config.name, []).append(served.version)
    remote = {
        "remote_http": http[1].address if where.remote_http else None,
        "remote_grpc": grpc.addresses[1] if grpc and where.remote_grpc else None,
    }
    return {
        "http": http[0].address,
        "grpc": grpc.address if grpc else None,
        **{name: address for name, address in remote.items() if address},
        "metrics": http[-1].address if where.metrics else None,
        "pid": os.getpid(),
        "models": models,
        "load_s": round(seconds - warmup, 3),
        "warmup_s": round(warmup, 3),
    }


def _write_ready(path: Path, told: Mapping[str, Any]) -> None:
    """By rename: whoever finds the file finds all of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(told), "utf-8")
        draft.rename(path)
    except OSError as error:
        raise ServeError(500, f"cannot write --ready-file {path}: {error.strerror}") from error
