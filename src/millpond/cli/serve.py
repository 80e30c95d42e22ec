"""`mill serve`: models of a folder, or a version of a model, served from this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.model import Model
from millpond.errors import BadRequest, SetupError
from millpond.model.model import split_written

app = typer.Typer()

# Files that make a folder one model, and not a folder of models.
_MODEL_FILES = ("config.pbtxt", "config.json", "MLmodel", "model.onnx", "model.pt", "model.pt2", "model.py",
                "model.joblib", "model.pkl")  # fmt: skip


@command(app, "serve")
def serve(
    mill: Session,
    what: Annotated[str, typer.Argument(metavar="FOLDER|MODEL@VERSION", help="Folder of models, or a version.")],
    port: Annotated[int, typer.Option(help="Port for HTTP (default: 8000); 0 is any free one.")] = 8000,
    grpc_port: Annotated[int | None, typer.Option(help="Port for gRPC; none without it.")] = None,
    metrics_port: Annotated[int | None, typer.Option(help="Port for Prometheus; none without it.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
) -> None:
    """Serve models from this machine by the protocol of Triton, until Ctrl-C.

    A folder is a repository of models, or one model. A version is fetched once, and kept in your cache. Code of the
    model runs with your rights.

    Example: mill serve chest-xray@champion --port 8000
    """
    arguments = ["--host", host, "--http-port", str(port), "--drain-seconds", "0", *_what(mill, what)]
    if grpc_port is not None:
        arguments += ["--grpc-port", str(grpc_port)]
    if metrics_port is not None:
        arguments += ["--metrics-port", str(metrics_port)]
    try:
        # Not before it is used: the server is an extra.
        from millpond.serve.command import main  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(f"Cannot serve: {error}.", hint="Install it: pip install 'millpond[serve]'") from error
    raise typer.Exit(main(arguments))


def _what(mill: Session, what: str) -> list[str]:
    folder = Path(what)
    if folder.is_dir():
        if not is_model(folder):
            return ["--repository", str(folder)]
        return ["--model", f"{folder.resolve().name}={folder}"]
    if folder.exists() or what.startswith((".", "/")):
        raise BadRequest(f"{what} is not a folder.", hint="Give a folder of models, or a version: MODEL@3")
    name, version = split_written(what)
    found = Model(f"{name}@{version}", server=mill.api.base_url, project=mill.project)
    return ["--model", f"{name}@{found.version}={found.path()}"]


def is_model(folder: Path) -> bool:
    """True for a folder of one model: it has a configuration, a version or a model in it."""
    if any((folder / name).exists() for name in _MODEL_FILES):
        return True
    return any(entry.name.isdecimal() and entry.is_dir() for entry in folder.iterdir())
