"""Puts the parameters of a trial into its job: where they stand as `{name}`, else as `--name VALUE` at the end."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from millpond.decide.flows.document import scalar
from millpond.model.job_spec import JobSpec
from millpond.model.search import SEARCH_TAG, TRIAL_TAG, Parameter, Params, ParamValue, Search, Trial, as_text

# `${lr}` is a variable of a shell, not a parameter.
_WRITTEN = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*")
_EXPONENT = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+")
# The same in the text of a script, where nothing is quoted.
_LISTED = re.compile(r"(?<!\S)(--?[A-Za-z][A-Za-z0-9_.-]*)(=|[ \t]+)([^\s,'\"$`;|&]+(?:,[^\s,'\"$`;|&]+)+)(?=\s|$)")


def names_in(texts: Iterable[str]) -> list[str]:
    """What stands in braces, once each, in order."""
    return list(dict.fromkeys(name for text in texts for name in _WRITTEN.findall(text)))


def texts_of(job: JobSpec) -> list[str]:
    """Where parameters may stand."""
    return [*job.command, *job.env.values()]


def with_params(job: JobSpec, params: Params) -> JobSpec:
    """The job of a trial. A command for `sh -c` gets them quoted, at its end as everywhere."""
    missing = [name for name in params if name not in names_in(texts_of(job))]
    env = {name: _filled(text, params, str) for name, text in job.env.items()}
    if is_script(job.command):
        script = _filled(job.command[2], params, shlex.quote)
        appended = "".join(f" --{name} {shlex.quote(as_text(params[name]))}" for name in missing)
        command: Sequence[str] = (*job.command[:2], script + appended, *job.command[3:])
    else:
        appended_words = [word for name in missing for word in (f"--{name}", as_text(params[name]))]
        command = (*(_filled(text, params, str) for text in job.command), *appended_words)
    return replace(job, command=tuple(command), env=env)


def job_of(search: Search, trial: Trial) -> JobSpec:
    """What is submitted for a trial. Unless the job names an experiment, that of its run is called like the search.

    Its script finds the parameters in its command, and in the file that MILL_PARAMS names.
    """
    job = with_params(search.spec.job, trial.params)
    tags = {**job.tags, SEARCH_TAG: search.id, TRIAL_TAG: str(trial.number)}
    params = {**job.params, **trial.params}
    return replace(job, tags=tags, params=params, experiment=job.experiment or search.name)


def is_script(command: Sequence[str]) -> bool:
    return len(command) >= 3 and command[0] in ("sh", "bash", "/bin/sh", "/bin/bash") and command[1] == "-c"


def grid_of(command: Sequence[str]) -> tuple[tuple[str, ...], tuple[Parameter, ...]]:
    """The parameters that a command lists by commas (`--lr 0.1,0.01`, `--lr=0.1,0.01`), and the command with `{lr}`.

    Only values of options count; everything else stays as it is.
    """
    found: dict[str, Parameter] = {}
    if is_script(command):
        script = _LISTED.sub(lambda match: f"{match[1]}{match[2]}{_noted(found, match[1], match[3])}", command[2])
        return (*command[:2], script, *command[3:]), tuple(found.values())
    words: list[str] = []
    option = ""
    for word in command:
        name, equals, text = word.partition("=")
        if _OPTION.fullmatch(name) and equals and "," in text:
            words.append(f"{name}={_noted(found, name, text)}")
            option = ""
        elif option and "," in word:
            words.append(_noted(found, option, word))
            option = ""
        else:
            words.append(word)
            option = word if _OPTION.fullmatch(word) else ""
    return tuple(words), tuple(found.values())


def _noted(found: dict[str, Parameter], option: str, text: str) -> str:
    name = option.lstrip("-")
    found[name] = Parameter(name=name, values=tuple(_value(part.strip()) for part in text.split(",") if part.strip()))
    return f"{{{name}}}"


def _value(text: str) -> ParamValue:
    """A number if it is written back as it was, or was written like 1e-3; `007` and `1.10` stay text."""
    value = scalar(text)
    is_number = isinstance(value, int | float) and (as_text(value) == text or _EXPONENT.fullmatch(text))
    return value if is_number else text


def _filled(text: str, params: Params, quote: Callable[[str], str]) -> str:
    def written(match: re.Match[str]) -> str:
        name = match[1]
        return quote(as_text(params[name])) if name in params else match[0]

    return _WRITTEN.sub(written, text)
