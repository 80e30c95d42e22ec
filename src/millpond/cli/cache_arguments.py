"""How the commands about cached commits name one: as an argument, and in a sentence."""

from __future__ import annotations

from typing import Annotated, Protocol

import typer

Written = Annotated[str, typer.Argument(metavar="DATASET[@REF]", help="Dataset and commit (default: main).")]
On = Annotated[str | None, typer.Option("--on", metavar="VOLUME", help="Volume.")]


class CachedArgument(Protocol):
    """A cached commit, in whatever shape."""

    @property
    def dataset(self) -> str: ...

    @property
    def commit_id(self) -> str: ...


def name_of(cached: CachedArgument) -> str:
    return f"{cached.dataset}@{cached.commit_id[:8]}"
