"""`mill dataops`: the commands of the DataOps Toolkit as they are, on workspaces."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.dataops import k8s, traditional
from millpond.dataops.errors import DataOpsError
from millpond.dataops.verbs import KUBERNETES, TRADITIONAL, Option, Verb
from millpond.errors import BadRequest, Conflict

app = typer.Typer()

_KUBERNETES = "k8s"
_TABLE = "See docs/reference/dataops.md for all of them."


@command(app, "dataops", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def dataops(
    mill: Session,
    words: Annotated[list[str], typer.Argument(metavar="[k8s] VERB NOUN [OPTIONS]", help="As the toolkit has them.")],
) -> None:
    """Run a command of NetApp's DataOps Toolkit on workspaces: a volume is a workspace, a namespace a project.

    With `k8s` first, it is one of the toolkit for Kubernetes. Options that only concern ONTAP have no effect.

    Example: mill dataops list volumes
    """
    is_kubernetes = words[0] == _KUBERNETES
    verb, rest = find_verb(words[1:] if is_kubernetes else words, KUBERNETES if is_kubernetes else TRADITIONAL)
    if verb.here is None:
        raise BadRequest(f"`{verb.command}` is not available.", hint=verb.refused)
    given = read_options(verb, rest)
    if given.pop("force", None) is None and verb.command.split()[0] in ("delete", "restore"):
        mill.confirm(f"{verb.command.capitalize()} {' '.join(map(str, given.values()))}?", yes=False)
    _use(mill)
    call = getattr(k8s if is_kubernetes else traditional, verb.function)
    answer = _called(call, given, print_output=not mill.out.as_json and not mill.flags.quiet)
    if mill.out.as_json:
        mill.out.json(answer if answer is not None else {"done": verb.command})


def find_verb(words: Sequence[str], verbs: Sequence[Verb]) -> tuple[Verb, Sequence[str]]:
    """The verb that these words begin with, and what follows it."""
    for verb in verbs:
        typed = verb.command.split()
        # `list snapshot` for `list snapshots`: the toolkit takes both.
        if [word.rstrip("s") for word in words[: len(typed)]] == [word.rstrip("s") for word in typed]:
            return verb, words[len(typed) :]
    shown = " ".join(word for word in words[:2] if not word.startswith("-"))
    raise BadRequest(f"The toolkit has no command `{shown}`.", hint=_TABLE)


def read_options(verb: Verb, words: Sequence[str]) -> dict[str, Any]:
    """`--name=x`, `--name x` and `-n x` as arguments of the function. BadRequest for what the command does not have."""
    by_name: Mapping[str, Option] = {
        name: option for option in verb.options for name in (f"--{option.long}", f"-{option.short}") if name != "-"
    }
    given: dict[str, Any] = {}
    waiting = list(words)
    while waiting:
        name, has_value, value = waiting.pop(0).partition("=")
        option = by_name.get(name)
        if option is None:
            raise BadRequest(f"`{verb.command}` has no option {name}.", hint=_TABLE)
        if not option.flag and not has_value:
            if not waiting:
                raise BadRequest(f"Option {name} of `{verb.command}` needs a value.")
            value = waiting.pop(0)
        if not option.ignored:
            given |= _argument(option, value)
    return given


def _argument(option: Option, value: str) -> dict[str, Any]:
    if option.flag:
        return {option.name: True}
    if option.long == "retention":  # `5`, or `5d` for days
        number = value.removesuffix("d")
        if not number.isdigit():
            raise BadRequest(f"{value!r} is not a retention.", hint="Write 5 for five snapshots, or 5d for five days.")
        return {"retention_count": int(number), "retention_days": value.endswith("d")}
    return {option.name: value}


def _use(mill: Session) -> None:
    """The functions find server and project as scripts do."""
    for name, value in (("MILL_SERVER", mill.flags.server), ("MILL_PROJECT", mill.flags.project)):
        if value:
            os.environ[name] = value


def _called(call: Any, given: Mapping[str, Any], *, print_output: bool) -> Any:
    try:
        inspect.signature(call).bind(**given)
    except TypeError as error:
        raise BadRequest(f"Something is missing: {error}.", hint=_TABLE) from error
    try:
        return call(**given, print_output=print_output)
    except DataOpsError as error:
        raise Conflict(str(error)) from error
