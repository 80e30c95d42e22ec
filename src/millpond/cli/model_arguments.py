"""Arguments that commands of `mill model` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from millpond.errors import BadRequest

ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model.")]
Version = Annotated[str, typer.Argument(metavar="MODEL[@VERSION]", help="Model, and a number or alias of a version.")]


def split_tags(written: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` texts; an empty value stands for removing the tag."""
    found: dict[str, str] = {}
    for text in written:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise BadRequest(f"{text!r} is not a tag.", hint="Write KEY=VALUE, or KEY= to remove it.")
        found[key] = value
    return found
