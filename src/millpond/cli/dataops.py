"""`mill dataops`: the commands of the DataOps Toolkit as they are, on workspaces."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from millpond import __version__
from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.dataops import k8s, traditional
from millpond.dataops.errors import DataOpsError
from millpond.dataops.verbs import Option, Verb
from millpond.dataops.verbs_kubernetes import KUBERNETES
from millpond.dataops.verbs_traditional import TRADITIONAL
from millpond.errors import BadRequest, Conflict

app = typer.Typer()

_KUBERNETES = "k8s"
_SNAPMIRROR = "snapmirror-relationship"
_TABLE = "List them: mill dataops help"
_HELP = ("-h", "--help")
# What else the toolkit calls its nouns, in the singular.
_NOUNS = {
    "vol": "volume", "pvc": "volume", "persistentvolumeclaim": "volume", "snap": "snapshot", "sm": _SNAPMIRROR,
    "snapmirror": _SNAPMIRROR, "cloud-sync": "cloud-sync-relationship", "cif": "cifs-share", "cifsshare": "cifs-share",
    "qt": "qtree", "fc": "flexcache", "volumesnapshot": "volume-snapshot", "jupyter": "jupyterlab",
    "jupyterlabsnapshot": "jupyterlab-snapshot", "jupyter-snapshot": "jupyterlab-snapshot",
    "jupytersnapshot": "jupyterlab-snapshot", "triton": "triton-server", "triton_server": "triton-server",
}  # fmt: skip


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
    verbs, words = (KUBERNETES, words[1:]) if is_kubernetes else (TRADITIONAL, words)
    if not words or words[0] in ("help", *_HELP):
        _show_commands(mill, verbs)
        return
    if words[0] == "version":
        mill.out.line(f"Millpond {__version__}")
        return
    verb, rest = find_verb(words, verbs)
    if set(rest) & set(_HELP):
        _show_options(mill, verb)
        return
    if verb.here is None:
        raise BadRequest(f"`{verb.command}` is not available.", hint=verb.refused)
    given = read_options(verb, rest)
    # Where the toolkit asks, so do we; scripts that it does not ask run on.
    asks = any(one.long == "force" and not one.ignored for one in verb.options)
    if given.pop("force", None) is None and asks:
        mill.confirm(f"{verb.command.capitalize()} {' '.join(map(str, given.values()))}?", yes=False)
    _use(mill)
    call = getattr(k8s if is_kubernetes else traditional, verb.function)
    answer = _called(call, given, print_output=not mill.out.as_json and not mill.flags.quiet)
    if mill.out.as_json:
        mill.out.json(answer if answer is not None else {"done": verb.command})


def find_verb(words: Sequence[str], verbs: Sequence[Verb]) -> tuple[Verb, Sequence[str]]:
    """The verb that these words begin with, and what follows it."""
    written = [_singular(word) for word in words]
    # The longest first: `config dataset-manager` before `config`.
    for verb in sorted(verbs, key=lambda one: -len(one.command.split())):
        typed = verb.command.split()
        if typed and written[: len(typed)] == [_singular(word) for word in typed]:
            return verb, words[len(typed) :]
    shown = " ".join(word for word in words[:2] if not word.startswith("-"))
    raise BadRequest(f"The toolkit has no command `{shown}`.", hint=_TABLE)


def _singular(word: str) -> str:
    """`list snapshot` for `list snapshots`: the toolkit takes both, and short nouns."""
    single = word.rstrip("s")
    return _NOUNS.get(single, single)


def read_options(verb: Verb, words: Sequence[str]) -> dict[str, Any]:
    """`--name=x`, `--name x`, `-n x` and `-nx` as arguments of the function. BadRequest for what the command does not
    have."""
    given: dict[str, Any] = {}
    waiting = list(words)
    while waiting:
        option, value = _find_option(verb, waiting.pop(0))
        if not option.flag and value is None:
            if not waiting:
                raise BadRequest(f"Option --{option.long} of `{verb.command}` needs a value.")
            value = waiting.pop(0)
        if not option.ignored:
            given |= _argument(option, value or "")
    return given


def _find_option(verb: Verb, word: str) -> tuple[Option, str | None]:
    """The option, and its value if that is part of the word."""
    name, has_value, value = word.partition("=")
    if name.startswith("--"):
        exact = [one for one in verb.options if name == f"--{one.long}"]
        found = exact or [one for one in verb.options if f"--{one.long}".startswith(name) and name != "--"]
    else:
        found = [one for one in verb.options if one.short and name[:2] == f"-{one.short}"]
        if found and len(word) > 2 and not found[0].flag:
            has_value, value = "=", word[2:].removeprefix("=")
    if len(found) != 1:
        raise BadRequest(
            f"`{verb.command}` has no option {name}.", hint=f"List them: mill dataops {verb.command} --help"
        )
    return found[0], value if has_value else None


def _argument(option: Option, value: str) -> dict[str, Any]:
    if option.flag:
        return {option.name: True}
    if option.long == "retention":  # `5`, or `5d` for days
        number = value.removesuffix("d")
        if not number.isdigit():
            raise BadRequest(f"{value!r} is not a retention.", hint="Write 5 for five snapshots, or 5d for five days.")
        return {"retention_count": int(number), "retention_days": value.endswith("d")}
    return {option.name: value}


def _show_commands(mill: Session, verbs: Sequence[Verb]) -> None:
    columns: list[Column[Verb]] = [
        ("COMMAND", lambda one: one.command),
        ("HERE", lambda one: one.here or f"refused: {one.refused}"),
    ]
    found = [one for one in verbs if one.command]
    if mill.out.as_json:
        mill.out.json({"items": [{"command": one.command, "here": one.here, "refused": one.refused} for one in found]})
    else:
        mill.out.items(found, columns, empty="")


def _show_options(mill: Session, verb: Verb) -> None:
    columns: list[Column[Option]] = [
        ("OPTION", lambda one: f"--{one.long}" if one.flag else f"--{one.long}="),
        ("SHORT", lambda one: f"-{one.short}" if one.short else ""),
        ("EFFECT", lambda one: "none here" if one.ignored else one.name.replace("_", " ")),
    ]
    if mill.out.as_json:
        mill.out.json({"items": [asdict(one) for one in verb.options]})
    else:
        mill.out.items(verb.options, columns, empty=verb.refused or f"`{verb.command}` has no options.")


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
