"""Options of the model server."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

from .errors import ServeError
from .http import Limits
from .replica import Listening, Options, serve
from .repository import ModelFolder

_MODEL = re.compile(r"(?P<name>[^=@]+)(@(?P<version>[1-9][0-9]*))?=(?P<folder>.+)")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 after SIGTERM or SIGINT; 1 if nothing could be served."""
    parser = _parser()
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    try:
        options = _options(given)
    except ServeError as error:
        parser.error(error.message)
    try:
        return uvloop.run(serve(options))
    except (ServeError, OSError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        logging.getLogger(__name__).error("cannot serve: %s", said)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m millpond.serve", description="Serve models by Triton's protocol.")
    parser.add_argument("--repository", type=Path, metavar="DIR", help="Folder with a folder for each model.")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME[@VERSION]=DIR",
        help="One model; with VERSION its newest version is served under that number. May be given several times.",
    )
    parser.add_argument("--explicit", action="store_true", help="Load no model at the start; clients load them.")
    parser.add_argument(
        "--control", action="store_true", help="Let clients load and unload models, and send files of their own."
    )
    parser.add_argument("--host", default="127.0.0.1", help="Address to listen at (default: 127.0.0.1).")
    parser.add_argument("--listen-unix", type=Path, metavar="PATH", help="Unix socket for HTTP, beside --http-port.")
    parser.add_argument("--http-port", type=int, metavar="N", help="Port for HTTP; 0 is any free one (default: 8000).")
    parser.add_argument("--grpc-port", type=int, metavar="N", help="Port for gRPC; none without it.")
    parser.add_argument("--grpc-unix", type=Path, metavar="PATH", help="Unix socket for gRPC, beside --grpc-port.")
    parser.add_argument("--metrics-port", type=int, metavar="N", help="Port for Prometheus; none without it.")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="File with the token that requests must carry.")
    parser.add_argument("--ready-file", type=Path, metavar="FILE", help="File to write once the models serve.")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="Certificate in PEM; HTTP and gRPC use TLS.")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="Key of the certificate in PEM.")
    parser.add_argument("--max-body", type=int, metavar="BYTES", help="Largest body of a request (default: 256 MiB).")
    parser.add_argument(
        "--drain-seconds", type=float, default=5.0, help="How long to serve after SIGTERM, not ready (default: 5)."
    )
    return parser


def _options(given: argparse.Namespace) -> Options:
    if given.repository is None and not given.model:
        raise ServeError(400, "give --repository DIR or --model NAME=DIR")
    if given.repository is not None and not given.repository.is_dir():
        raise ServeError(400, f"--repository {given.repository} is not a folder")
    token = given.token_file.read_text("utf-8").strip() if given.token_file else None
    if token == "":
        raise ServeError(400, f"--token-file {given.token_file} is empty")
    if given.listen_unix is not None:
        http = f"unix:{given.listen_unix.absolute()}"
    else:
        http = f"tcp:{given.host}:{8000 if given.http_port is None else given.http_port}"
    return Options(
        repository=given.repository,
        models=dict(_model(written) for written in given.model),
        explicit=given.explicit,
        control=given.control,
        listening=Listening(
            http=http,
            grpc=_grpc_address(given),
            remote_http=_port(given.host, given.http_port) if given.listen_unix is not None else None,
            remote_grpc=_port(given.host, given.grpc_port) if given.grpc_unix is not None else None,
            metrics=_port(given.host, given.metrics_port),
            tls_cert=given.tls_cert,
            tls_key=given.tls_key,
        ),
        token=token,
        ready_file=given.ready_file,
        drain_seconds=given.drain_seconds,
        limits=Limits(body_bytes=given.max_body) if given.max_body else Limits(),
    )


def _grpc_address(given: argparse.Namespace) -> str | None:
    if given.grpc_unix is not None:
        return f"unix:{given.grpc_unix.absolute()}"
    return _port(given.host, given.grpc_port)


def _port(host: str, port: int | None) -> str | None:
    return None if port is None else f"tcp:{host}:{port}"


def _model(written: str) -> tuple[str, ModelFolder]:
    found = _MODEL.fullmatch(written)
    if found is None:
        raise ServeError(400, f"--model {written}: write NAME=DIR or NAME@VERSION=DIR")
    folder = Path(found["folder"])
    if not folder.is_dir():
        raise ServeError(400, f"--model {written}: {folder} is not a folder")
    return found["name"], ModelFolder(found["name"], folder, int(found["version"]) if found["version"] else None)
