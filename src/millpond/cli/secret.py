"""`mill secret`: what jobs of a project need to know and nobody is to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.prompts import ask_secret, read_secret
from millpond.cli.session import Session
from millpond.client.secrets import list_secrets, remove_secret, set_secret

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the secret, like WANDB_API_KEY.")]


@command(app, "set")
def put(
    mill: Session,
    name: Name,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="File with the value (- for stdin).")
    ] = None,
) -> None:
    """Set a secret of a project. The value is read from a prompt, a file or stdin.

    It is encrypted on the server and never shown again. Jobs that start from now on receive the new value.

    Example: mill secret set WANDB_API_KEY --file key.txt
    """
    if file is None and not mill.may_ask:
        file = Path("-")
    value = read_secret(file, "secret") if file is not None else ask_secret(mill, f"Value of {name}")
    secret = set_secret(mill.api, mill.project, name, value)
    mill.out.note(f"Secret {name} set. Use it in a job: mill submit --secret {name} …")
    mill.out.shape(
        secret,
        [
            ("secret", secret.name),
            ("project", secret.project),
            ("changed", secret.changed_at),
            ("by", secret.changed_by),
        ],
    )


@command(app, "list")
def list_all(mill: Session) -> None:
    """List the names of a project's secrets, never their values.

    Example: mill secret list
    """
    mill.out.items(
        list_secrets(mill.api, mill.project),
        [
            ("SECRET", lambda s: s.name),
            ("CHANGED", lambda s: s.changed_at),
            ("BY", lambda s: s.changed_by),
        ],
        empty="No secrets in this project. A project administrator can set one: mill secret set NAME",
    )


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a secret.

    Example: mill secret rm WANDB_API_KEY
    """
    mill.confirm(f"Remove the secret {name}?", yes=yes)
    remove_secret(mill.api, mill.project, name)
    mill.out.note(f"Secret {name} removed.")
