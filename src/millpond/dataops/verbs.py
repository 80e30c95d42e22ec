"""What a command of the DataOps Toolkit is here, and how it is typed. The commands themselves are in
`verbs_traditional` and `verbs_kubernetes`.

The toolkit's *volume* is a workspace, its *namespace* a project, its *storage class* a volume.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command, by the toolkit's long and short name. `ignored`: it says something about ONTAP alone."""

    long: str
    short: str = ""
    parameter: str = ""
    flag: bool = False
    ignored: bool = False

    @property
    def name(self) -> str:
        return self.parameter or self.long.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Verb:
    """`command` as it is typed (empty: it is a function alone), `function` as it is imported. `here` is what it comes
    to; None: `refused` says why."""

    command: str
    function: str
    here: str | None
    options: tuple[Option, ...] = ()
    refused: str = ""


def option(long: str, short: str = "", parameter: str = "", *, flag: bool = False, ignored: bool = False) -> Option:
    return Option(long, short, parameter, flag, ignored)


def without_effect(**names: str) -> tuple[Option, ...]:
    """Options that are taken and change nothing, each with its short name; `_` stands for `-`."""
    return tuple(Option(long.replace("_", "-"), short, ignored=True) for long, short in names.items())
