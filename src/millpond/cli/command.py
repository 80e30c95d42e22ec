"""Registers commands: each also takes the options every command takes, gets a Session, and ends with the right code."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from millpond.cli.report import report, use_color
from millpond.cli.session import Flags, Session
from millpond.errors import MillError

Function = TypeVar("Function", bound=Callable[..., Any])

_PANEL = "Every command"
COMMON_OPTIONS = {
    "server": Annotated[
        str | None,
        typer.Option("--server", metavar="URL", help="The server to talk to (MILL_SERVER).", rich_help_panel=_PANEL),
    ],
    "project": Annotated[
        str | None,
        typer.Option(
            "--project", "-p", metavar="NAME", help="The project it is about (MILL_PROJECT).", rich_help_panel=_PANEL
        ),
    ],
    "as_json": Annotated[
        bool, typer.Option("--json", help="Print JSON for programs: stable, complete.", rich_help_panel=_PANEL)
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.", rich_help_panel=_PANEL)],
    "no_color": Annotated[bool, typer.Option("--no-color", help="No colours (NO_COLOR).", rich_help_panel=_PANEL)],
    "debug": Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error came from.", rich_help_panel=_PANEL)
    ],
}


def command(app: typer.Typer, name: str, **settings: Any) -> Callable[[Function], Function]:
    """Register a function `(mill: Session, …)` as the command `name` of `app`; the function itself stays callable."""

    def register(function: Function) -> Function:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        common = [
            inspect.Parameter(
                key,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if key in ("server", "project") else False,
                annotation=annotation,
            )
            for key, annotation in COMMON_OPTIONS.items()
        ]

        def run(**values: Any) -> None:
            flags = Flags(**{key: values.pop(key) for key in COMMON_OPTIONS})
            run_command(Session(flags), lambda session: function(session, **values))

        run.__doc__ = function.__doc__
        run.__name__ = function.__name__
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + common
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name, **settings)(run)
        return function

    return register


def run_command(session: Session, call: Callable[[Session], Any]) -> None:
    """Run `call`, close the session, and turn an error into words and an exit code."""
    try:
        call(session)
        session.out.finish()
    except MillError as error:
        if session.flags.debug:
            traceback.print_exc(file=sys.stderr)
        color = use_color(sys.stderr, no_color=session.flags.no_color)
        report(error, as_json=session.flags.as_json, color=color)
        raise typer.Exit(error.exit_code) from error
    finally:
        session.close()
