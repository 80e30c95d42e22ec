"""`mill queue`: templates that jobs try in turn."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.templates import create_queue, get_queue, list_queues, put_queue, remove_queue
from millpond.model.quantity import format_seconds, parse_seconds
from millpond.wire.templates import Queue, QueueCreate, QueueEntry, QueuePut

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the queue.")]
_TEMPLATES = "Templates in the order they are tried, each with how long a job waits for it, like gpu-real:10m."


@command(app, "list")
def list_all(mill: Session) -> None:
    """List queues and their templates.

    The jobs that wait are listed by `mill pending`.

    Example: mill queue list
    """
    mill.out.items(
        list_queues(mill.api),
        [
            ("QUEUE", lambda q: q.name),
            ("TEMPLATES", lambda q: ", ".join(_entry(e) for e in q.templates)),
            ("CHANGED", lambda q: q.changed_at),
            ("DESCRIPTION", lambda q: q.description),
        ],
        empty="No queues yet. An administrator can create one: mill queue create NAME TEMPLATE:PATIENCE TEMPLATE",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a queue.

    Example: mill queue show burst
    """
    _show(mill, get_queue(mill.api, name))


@command(app, "create")
def create(
    mill: Session,
    name: Name,
    templates: Annotated[list[str], typer.Argument(metavar="TEMPLATE[:PATIENCE]...", help=_TEMPLATES)],
    description: Annotated[str, typer.Option("--description", "-d", help="Description.")] = "",
) -> None:
    """Create a queue: templates that a job tries in turn.

    A job starts on the first template that has room for it. If it waited as long as the patience of a template says, it
    tries the next one as well. Without a patience, the next one is tried at once.

    Example: mill queue create burst gpu-real:10m cloud
    """
    entries = [_parse(text) for text in templates]
    queue = create_queue(mill.api, QueueCreate(name=name, templates=entries, description=description))
    mill.out.note(f"Queue {queue.name} created. Use it: mill submit --on {queue.name} -- COMMAND")
    _show(mill, queue)


@command(app, "update")
def update(
    mill: Session,
    name: Name,
    templates: Annotated[list[str] | None, typer.Argument(metavar="[TEMPLATE[:PATIENCE]]...", help=_TEMPLATES)] = None,
    description: Annotated[str | None, typer.Option("--description", "-d", help="Description.")] = None,
) -> None:
    """Replace the templates of a queue, or its description. Queued jobs follow the change.

    Example: mill queue update burst gpu-real:1h cloud
    """
    before = get_queue(mill.api, name)
    changed = QueuePut(
        templates=[_parse(text) for text in templates] if templates else before.templates,
        description=before.description if description is None else description,
    )
    queue = put_queue(mill.api, name, changed)
    mill.out.note(f"Queue {queue.name} updated.")
    _show(mill, queue)


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a queue. Refused while queued jobs name it.

    Example: mill queue rm burst
    """
    mill.confirm(f"Remove the queue {name}?", yes=yes)
    remove_queue(mill.api, name)
    mill.out.note(f"Queue {name} removed.")


def _parse(text: str) -> QueueEntry:
    template, colon, patience = text.partition(":")
    return QueueEntry(template=template, patience_seconds=parse_seconds(patience) if colon else 0)


def _entry(entry: QueueEntry) -> str:
    return f"{entry.template} ({format_seconds(entry.patience_seconds)})" if entry.patience_seconds else entry.template


def _show(mill: Session, queue: Queue) -> None:
    mill.out.shape(
        queue,
        [
            ("queue", queue.name),
            ("description", queue.description),
            *(("template", _entry(entry)) for entry in queue.templates),
            ("created", queue.created_at),
            ("changed", queue.changed_at),
            ("by", queue.changed_by),
        ],
    )
