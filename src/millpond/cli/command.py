"""Registers commands: adds the common options, hands over a Session, turns errors into exit codes."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from millpond.cli.completion import with_completion
from millpond.cli.report import report, use_color
from millpond.cli.server_choice import explain_server
from millpond.cli.session import Flags, Session
from millpond.errors import MillError, ServerUnreachable

Function = TypeVar("Function", bound=Callable[..., Any])

_PANEL = "Every command"
_CONTEXT = "typer_context"
COMMON_OPTIONS = {
    "server": Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="NAME|URL",
            help="Server to use: a name from `mill server list`, or a URL (MILL_SERVER).",
            rich_help_panel=_PANEL,
        ),
    ],
    "project": Annotated[
        str | None,
        typer.Option("--project", "-p", metavar="NAME", help="Project to use (MILL_PROJECT).", rich_help_panel=_PANEL),
    ],
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=_PANEL)],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress and notes.", rich_help_panel=_PANEL)],
    "no_color": Annotated[
        bool, typer.Option("--no-color", help="Turn colours off (NO_COLOR).", rich_help_panel=_PANEL)
    ],
    "debug": Annotated[bool, typer.Option("--debug", help="Print a traceback on errors.", rich_help_panel=_PANEL)],
}


def command(app: typer.Typer, name: str, **settings: Any) -> Callable[[Function], Function]:
    """Register a function `(mill: Session, …)` as the command `name` of `app`; the function itself stays callable."""

    def register(function: Function) -> Function:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        # Typer fills one parameter of this type alone: a command that has its own shares it.
        owns = next((p.name for p in own if p.annotation is typer.Context), None)
        context = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

        def run(**values: Any) -> None:
            given = {key: values.pop(key) for key in COMMON_OPTIONS}
            flags = with_options_before_the_verb(given, values[owns] if owns else values.pop(_CONTEXT))
            run_command(Session(flags), lambda session: function(session, **values))

        run.__doc__ = function.__doc__
        run.__name__ = function.__name__
        parameters = [_completed(p.replace(kind=inspect.Parameter.KEYWORD_ONLY)) for p in [*own, *common_parameters()]]
        sign(run, parameters if owns else [*parameters, context])
        app.command(name, **settings)(run)
        return function

    return register


def _completed(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(annotation=with_completion(parameter.annotation, parameter.name))


def common_parameters() -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            key,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if key in ("server", "project") else False,
            annotation=annotation,
        )
        for key, annotation in COMMON_OPTIONS.items()
    ]


def sign(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> None:
    """Give `function`, which takes anything, the parameters that Typer is to see."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}


def with_options_before_the_verb(given: dict[str, Any], context: typer.Context) -> Flags:
    """The common options: those after the verb win over those before it (`mill --server lab data list`)."""
    before = context.find_root().params
    return Flags(**{key: value or before.get(key, value) for key, value in given.items()})


def run_command(session: Session, call: Callable[[Session], Any]) -> None:
    """Run `call`, close the session, and turn an error into words and an exit code."""
    try:
        call(session)
        session.out.finish()
    except MillError as error:
        if session.flags.debug:
            traceback.print_exc(file=sys.stderr)
        if isinstance(error, ServerUnreachable):
            explain_server(error, session)
        color = use_color(sys.stderr, no_color=session.flags.no_color)
        report(error, as_json=session.flags.as_json, color=color)
        raise typer.Exit(error.exit_code) from error
    finally:
        session.close()
