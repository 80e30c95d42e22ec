"""A noun whose main verb may be left out: `mill audit --who ada` is `mill audit list --who ada`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class ListByDefault(TyperGroup):
    """The verb `list`, unless another one or `--help` is given."""

    default = "list"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class ShowByDefault(ListByDefault):
    """The verb `show`."""

    default = "show"
