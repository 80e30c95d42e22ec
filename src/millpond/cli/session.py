"""What every command gets: its flags, the server it talks to, and where its words go."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import NamedTuple

import typer

from millpond.cli.output import Output
from millpond.client.credentials import ServerTarget, resolve_target
from millpond.client.http import Api
from millpond.errors import BadRequest


class Flags(NamedTuple):
    """The options every command takes."""

    server: str | None = None
    project: str | None = None
    as_json: bool = False
    quiet: bool = False
    no_color: bool = False
    debug: bool = False


class Session:
    """Opens nothing until it is asked for, so a command that only looks at files needs no server."""

    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    @cached_property
    def out(self) -> Output:
        return Output(as_json=self.flags.as_json, quiet=self.flags.quiet, no_color=self.flags.no_color)

    @cached_property
    def target(self) -> ServerTarget:
        return resolve_target(self.flags.server, self.flags.project)

    @property
    def project(self) -> str:
        return self.target.project

    @cached_property
    def api(self) -> Api:
        """The server. Without a token it is asked all the same: it may be down, which is the better thing to say."""
        return Api(self.target.server, self.target.token, waiting=self.out.waiting)

    def close(self) -> None:
        if "api" in self.__dict__:
            self.api.close()

    @property
    def may_ask(self) -> bool:
        return sys.stdin.isatty() and self.out.stderr.isatty()

    def confirm(self, question: str, *, yes: bool) -> None:
        """Go on only with `--yes` or a person's yes; without a terminal, `--yes` is needed."""
        if yes:
            return
        if not self.may_ask:
            raise BadRequest(f"{question} Nothing was changed.", hint="Add --yes to skip the confirmation.")
        if not typer.confirm(question, err=True):
            raise typer.Exit(1)
