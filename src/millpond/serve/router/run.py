"""A router put together and run: ports, the watched configuration, reports, and an end without lost requests."""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ServeError
from ..http import HttpServer, Limits, serve_http, tls_context
from . import batches
from .config import ConfigError, read_config
from .dispatch import Dispatcher
from .health import PROBE_SECONDS, Health
from .holding import Holding
from .links import Links
from .proxy import HttpProxy, RequestIds
from .report import Reporter
from .request_log import RequestLog
from .shadow import Shadow
from .watch import WatchedFiles

if TYPE_CHECKING:
    from .grpc_proxy import GrpcProxy

log = logging.getLogger(__name__)

_WATCH_SECONDS = 0.2
_REPORT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RouterOptions:
    """What the command line says. Addresses are `tcp:host:port` or `unix:/path`; port 0 is any free one."""

    config: Path
    state_dir: Path
    http: str
    grpc: str | None = None
    metrics: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    answer_seconds: float = 120.0
    drain_seconds: float = 30.0
    log_bytes: int = 1024 * 1024 * 1024


class Router:
    """All parts of a router, made inside a running event loop."""

    def __init__(self, options: RouterOptions) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self.dispatcher = Dispatcher(on_ready=self._wake)
        self.holding = Holding(self.dispatcher)
        self._links = Links(answer_seconds=options.answer_seconds)
        self.health = Health(self.dispatcher, self._links)
        self.batches = batches.BatchWatch(self.dispatcher, self._links)
        self.reporter = Reporter(self.dispatcher, self.holding, lambda: self._request_log.counts())
        self._request_log = RequestLog(options.state_dir / "log", self.reporter.since, most_bytes=options.log_bytes)
        ids = RequestIds()
        self.proxy = HttpProxy(
            self.dispatcher,
            self._links,
            self.health,
            self.holding,
            ids,
            Shadow(self.dispatcher),
            self._request_log,
        )
        self._config_file = WatchedFiles(options.config)
        self._tls: ssl.SSLContext | None = None
        self._tls_files: WatchedFiles | None = None
        self._servers: list[HttpServer] = []
        self._grpc: GrpcProxy | None = None
        self._background: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read the configuration, listen, and begin to report."""
        options = self._options
        options.state_dir.mkdir(parents=True, exist_ok=True)
        if options.tls_cert is not None:
            self._tls = tls_context(options.tls_cert, options.tls_key)
            self._tls_files = WatchedFiles(options.tls_cert, options.tls_key or options.tls_cert)
            self._tls_files.changed()
        self.look_at_files()
        self._request_log.start()
        server = await serve_http(self.proxy, listen=options.http, tls=self._tls, decode_bodies=False)
        self._servers.append(server)
        if options.metrics is not None:
            self._servers.append(
                await serve_http(self.reporter.serve_metrics, listen=options.metrics, limits=Limits(body_bytes=1024))
            )
        if options.grpc is not None:
            self._grpc = self._start_grpc(options.grpc)
        self._background = [
            self._loop.create_task(self._every(_WATCH_SECONDS, self.look_at_files)),
            self._loop.create_task(self._every(PROBE_SECONDS, self._look_at_replicas)),
            self._loop.create_task(self._every(batches.SECONDS, self.batches.look)),
            self._loop.create_task(self._every(_REPORT_SECONDS, self.report)),
        ]

    @property
    def addresses(self) -> dict[str, str]:
        """Where it listens: `http`, `metrics` and `grpc` as far as they were asked for."""
        found = dict(zip(("http", "metrics"), (server.address for server in self._servers), strict=False))
        if self._grpc is not None:
            found["grpc"] = self._grpc.address
        return found

    async def stop(self) -> None:
        """Take no new requests, finish those under way, and end."""
        seconds = self._options.drain_seconds
        draining: list[Awaitable[object]] = [self._servers[0].drain(seconds)]
        if self._grpc is not None:
            draining.append(asyncio.to_thread(self._grpc.drain, seconds))
        await asyncio.gather(*draining)
        self.batches.stop()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for server in self._servers[1:]:
            await server.close()
        self.report()
        self._links.close()
        self._request_log.stop()

    def _start_grpc(self, listen: str) -> GrpcProxy:
        # Packages for gRPC are needed only where it is asked for.
        from .grpc_proxy import GrpcProxy  # noqa: PLC0415

        return GrpcProxy(self.proxy, listen=listen, tls=self._options.tls_cert, tls_key=self._options.tls_key)

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self.holding.wake)

    async def _every(self, seconds: float, work: object) -> None:
        assert callable(work)
        while True:
            try:
                work()
            except Exception:
                log.exception("background work of the router failed")
            await asyncio.sleep(seconds)

    def look_at_files(self) -> None:
        if self._config_file.changed():
            self._read_config()
        if self._tls is not None and self._tls_files is not None and self._tls_files.changed():
            self._reload_tls(self._tls)

    def _read_config(self) -> None:
        try:
            config = read_config(self._options.config.read_bytes())
        except (ConfigError, OSError) as error:
            # The last good one goes on; the agent reads of it in the report.
            self.reporter.config_error = str(error)
            log.error("cannot use %s, going on with revision %d: %s", self._options.config, self._revision, error)
            return
        self.reporter.config_error = None
        self.dispatcher.apply(config)
        self._request_log.limit(self._options.log_bytes if config.log_bytes is None else config.log_bytes)
        log.info("configuration revision=%d endpoints=%d", config.revision, len(config.endpoints))

    @property
    def _revision(self) -> int:
        return self.dispatcher.config.revision

    def _reload_tls(self, context: ssl.SSLContext) -> None:
        assert self._options.tls_cert is not None
        try:
            context.load_cert_chain(self._options.tls_cert, self._options.tls_key)
        except (OSError, ssl.SSLError) as error:
            log.error("cannot read the changed certificate, going on with the last one: %s", error)

    def _look_at_replicas(self) -> None:
        self._links.sweep(self.dispatcher.replicas)
        if self._grpc is not None:
            self._grpc.forget(self.dispatcher.replicas)
        self.health.probe_all()

    def report(self) -> None:
        try:
            self.reporter.write(self._options.state_dir / "stats.json")
        except OSError as error:
            log.warning("cannot write stats.json: %s", error)


async def run_router(options: RouterOptions) -> None:
    """Run until SIGTERM or SIGINT. ServeError where it cannot begin."""
    router = Router(options)
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    try:
        await router.start()
    except OSError as error:
        raise ServeError(500, f"cannot start the router: {error.strerror or error}") from error
    log.info("router listens %s", " ".join(f"{kind}={address}" for kind, address in router.addresses.items()))
    await ending.wait()
    log.info("router drains")
    await router.stop()
