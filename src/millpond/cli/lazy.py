"""A group whose commands are imported only when they are used, so that `mill --help` is quick."""

from __future__ import annotations

import gc
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from millpond.errors import BadRequest


class Entry(NamedTuple):
    """One name under `mill`: a noun (all commands of a module's `app`) or a verb (one command of it)."""

    name: str
    module: str
    help: str
    panel: str
    # The command of that name is taken out of the module's app; a noun takes the app as a whole.
    verb: bool = False
    # Verbs of a noun that people wait for, each with the module whose app has few but it.
    quick: Mapping[str, str] = {}

    @property
    def is_present(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    def load(self, used: str | None = None) -> Any:
        """The real command. Called once it is used (with its verb `used`, if that is known), or for the reference."""
        # The whole point of this class: a command pays for its own imports only.
        app: typer.Typer = importlib.import_module(self.quick.get(used or "", self.module)).app
        # A callback makes Typer keep a group even when the app has one command only.
        if not app.registered_callback:
            app.callback()(_group)
        group = typer.main.get_group(app)
        if not gc.isenabled():  # the program itself: see main()
            gc.freeze()
            gc.enable()
        if self.verb:
            return group.commands[self.name]
        group.name = self.name
        group.help = self.help
        group.no_args_is_help = True
        return group


class LazyGroup(TyperGroup):
    """Lists stand-ins that know their name and help; loads the real command when one is resolved."""

    entries: Sequence[Entry] = ()
    # Verbs that people know from elsewhere, and what they are here.
    elsewhere: Mapping[str, str] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in self.entries:
            self.commands[entry.name] = TyperCommand(
                entry.name, help=entry.help, rich_help_panel=entry.panel, add_help_option=False
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args and args[0] in self.elsewhere and args[0] not in self.commands:
            raise BadRequest(f"There is no command {args[0]!r}.", hint=self.elsewhere[args[0]])
        name, found, rest = super().resolve_command(ctx, args)
        entry = next((e for e in self.entries if e.name == name), None)
        return name, entry.load(rest[0] if rest else None) if entry else found, rest


def _group() -> None:
    """Commands of one noun."""
