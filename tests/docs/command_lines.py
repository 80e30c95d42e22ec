"""The `mill …` calls within shell text, and whether the real command line takes them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from typer.main import get_command

from millpond.cli.main import ENTRIES, app
from millpond.errors import MillError

_ENDS = {"|", "||", "&", "&&", ";", ";;", ">", ">>", "<", "<<", "<<<", ">&", "&>", "(", ")", "|&"}
_NEVER_PARSED = re.compile(r"…|\.\.\.|[\[\]{}]")
# Where a line names several words without spaces between them: no pipe.
_OR = "\u2502"
_ABSENT = re.compile(r"(?:File|Directory|Path) '.*' does not exist")
_ROOT = get_command(app)


def mill_calls(shell: str) -> Iterator[list[str]]:
    """The words after `mill`, of each call of it."""
    for line in _logical_lines(shell):
        words = _words(line)
        starts = [n for n, word in enumerate(words) if word == "mill" and _begins(words[:n])]
        for start in starts:
            own = words[start + 1 :]
            end = next((n for n, word in enumerate(own) if word in _ENDS), len(own))
            # What is redirected by number is no argument.
            is_redirected = own[end : end + 1] in ([">"], [">>"], [">&"]) and own[end - 1 : end] in (["1"], ["2"])
            yield from _alternatives(own[: end - is_redirected])


def problem_of(words: Sequence[str], *, is_whole: bool = True) -> str | None:
    """What the parser says against this call. With `is_whole` false arguments may be missing."""
    try:
        return _check(_ROOT, "mill", _without_parts(words), is_whole=is_whole and not _is_elided(words))
    except MillError as error:
        return error.message
    except Exception as error:
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        words_of_parser = str(message())
        return None if _ABSENT.search(words_of_parser) else words_of_parser


def _check(command: Any, name: str, words: list[str], *, is_whole: bool) -> str | None:
    if not hasattr(command, "commands"):
        if "--help" in words:
            return None
        command.make_context(name, words, resilient_parsing=not is_whole)
        return None if is_whole else _unknown_option(command, words)
    if not words or words[0] in ("--help", "-h", "--version"):
        return None
    context = command.make_context(name, words)
    rest = [*context._protected_args, *context.args]
    if not rest:
        return None
    found, rest = _resolved(command, context, rest)
    return _check(found, f"{name} {words[0]}", list(rest), is_whole=is_whole)


def _resolved(command: Any, context: Any, words: list[str]) -> tuple[Any, list[str]]:
    entry = next((one for one in getattr(command, "entries", ()) if one.name == words[0]), None)
    if entry:
        return _loaded(entry.name), words[1:]
    _, found, rest = command.resolve_command(context, words)
    return found, rest


@cache
def _loaded(name: str) -> Any:
    """Making a command out of its function takes a tenth of a second."""
    return next(entry for entry in ENTRIES if entry.name == name).load()


def _unknown_option(command: Any, words: Sequence[str]) -> str | None:
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    own = words[: words.index("--")] if "--" in words else words
    written = (word.partition("=")[0] for word in own if re.match(r"--?[a-z]", word))
    return next((f"No such option: {word}" for word in written if word not in known | {"--help", "-h"}), None)


def _is_elided(words: Sequence[str]) -> bool:
    return any(_NEVER_PARSED.search(word) for word in words)


def _without_parts(words: Sequence[str]) -> list[str]:
    """The words without `…`, and without the brackets around what may be left out."""
    plain = [word.strip("[]") for word in words]
    return [word for word in plain if word and not re.fullmatch(r"[….]+", word)]


def _logical_lines(shell: str) -> Iterator[str]:
    """Lines with their continuations; what a here-document holds is no command."""
    joined = re.sub(r"\\\n\s*", " ", shell)
    until = ""
    for line in joined.split("\n"):
        if until:
            until = "" if line.strip() == until else until
            continue
        yield line
        here = re.search(r"<<-?\s*['\"]?(\w+)", line)
        until = here[1] if here else ""


def _alternatives(words: list[str]) -> Iterator[list[str]]:
    """`pause|resume NAME` stands for two calls."""
    place = next((n for n, word in enumerate(words) if _OR in word), None)
    if place is None:
        yield words
        return
    for one in words[place].split(_OR):
        yield from _alternatives([*words[:place], one, *words[place + 1 :]])


def _words(line: str) -> list[str]:
    line = re.sub(r"(?<=[\w-])\|(?=[\w-])", _OR, line)
    line = re.sub(r"(?:^|\s)#\s.*$", "", line).replace("$(", " ( ").replace("`", " ")
    reader = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:  # a quotation that goes on in the next line
        return line.split()


def _begins(before: Sequence[str]) -> bool:
    """True if `mill` after these words is the program: at the beginning, or behind variables, `sudo` and the like."""
    for word in reversed(before):
        if word in _ENDS or word in ("!", "then", "do", "else", "if", "while"):
            return True
        if not re.match(r"[A-Za-z_]+=", word) and word not in ("time", "sudo", "exec", "env", "watch"):
            return False
    return True
