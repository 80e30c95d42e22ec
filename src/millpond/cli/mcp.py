"""`mill mcp`: Millpond's verbs as tools for coding assistants."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.errors import BadRequest, SetupError

app = typer.Typer()


@command(app, "mcp")
def mcp(
    mill: Session,
    write: Annotated[
        bool, typer.Option("--write", help="Also offer tools that change things: commit, submit, stop …")
    ] = False,
    folder: Annotated[
        Path, typer.Option(help="Folder whose files tools may send (default: the current one).", metavar="FOLDER")
    ] = Path(),
    http: Annotated[
        int | None,
        typer.Option(
            "--http", metavar="PORT", min=1, max=65535,
            help="Serve streamable HTTP at 127.0.0.1:PORT instead of stdio, with a key (MILL_MCP_KEY, or a new one).",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Serve Millpond's verbs as tools to a coding assistant, by the Model Context Protocol.

    The assistant starts this command and speaks to it by stdin and stdout. Tools work with your token, on the server
    and project that other commands use. Without --write they change nothing. Settings of assistants: docs/mcp.md.

    Example: mill mcp --project vision
    """
    if not folder.is_dir():
        raise BadRequest(f"{folder} is not a folder.", hint="Name one with --folder, or leave it out.")
    try:
        # Not before it is used: the protocol is an extra.
        from millpond.mcp.place import Place  # noqa: PLC0415
        from millpond.mcp.server import build  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(f"Cannot serve tools: {error}.", hint="Install it: pip install 'millpond[mcp]'") from error
    server = build(Place(mill.api, mill.project, folder.resolve()), write=write)
    if http is None:
        if sys.stdin.isatty():
            mill.out.note("Waiting for an assistant on stdin. To set one up, see docs/mcp.md; Ctrl-C ends this.")
        server.run("stdio")
        return
    from millpond.mcp.over_http import HOST, PATH, serve  # noqa: PLC0415

    key = os.environ.get("MILL_MCP_KEY") or secrets.token_urlsafe(24)
    mill.out.note(f"Tools at http://{HOST}:{http}{PATH}, with the header: Authorization: Bearer {key}")
    serve(server, http, key)
