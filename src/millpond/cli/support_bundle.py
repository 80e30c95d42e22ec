"""`mill support-bundle`: one file with what support needs to see of the server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.files import write_atomically
from millpond.errors import NameTaken
from millpond.model.quantity import format_bytes

app = typer.Typer()

_SECONDS = 300.0


@command(app, "support-bundle")
def support_bundle(
    mill: Session,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to write.", show_default="millpond-support-TIME.tar.gz"),
    ] = None,
) -> None:
    """Save what support needs to see of the server, without secrets, as one tar.gz. For site administrators.

    Inside are the diagnosis, versions, settings, recent logs, metrics, counts and failures; its README says what.
    Secrets are removed, names of projects and hosts are not: look through it before you send it.

    Example: mill support-bundle --out support.tar.gz
    """
    target = out or Path(f"millpond-support-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar.gz")
    if target.exists():
        raise NameTaken(f"{target} already exists.", hint="Choose another file: --out FILE")
    answer = mill.api.request("POST", "/support-bundle", idempotent=True, timeout=_SECONDS)
    write_atomically(target, answer.content, mode=0o600)
    if mill.out.as_json:
        mill.out.json({"file": str(target), "bytes": len(answer.content)})
        return
    mill.out.note(f"Saved {target} ({format_bytes(len(answer.content))}). Look through it before you send it.")
