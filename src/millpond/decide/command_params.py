"""Parameters in the arguments of a command: found, and set to another value.

Known forms are `--lr 0.1`, `--lr=0.1`, `-lr 0.1`, `lr=0.1` and `+lr=0.1` (Hydra's), and a flag like `--amp`. In names
of options, `_` and `-` are the same. The text of `sh -c "…"` is searched like the arguments themselves.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_SHELLS = ("sh", "bash", "dash", "zsh", "ash")
_WORD = r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|<>()])+"""
_NUMBER = re.compile(r"-\d|-\.\d")
_ON, _OFF = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def find_param(command: Sequence[str], key: str) -> str | None:
    """The value that a command gives a parameter, the last one if it gives several; `true` for a flag, None if none."""
    found = [_unquoted(match["value"]) for match in _in_text(key).finditer(_shell_text(command) or "")]
    if found:
        return found[-1]
    places = list(_places(command, key))
    if not places:
        return None
    return _value(command, places[-1])


def set_param(command: Sequence[str], key: str, value: str) -> tuple[str, ...] | None:
    """The command with another value for a parameter, wherever it stands; None if it stands nowhere.

    A flag takes `true`, or `false`, which removes it; for another value it is no place.
    """
    text, pattern = _shell_text(command) or "", _in_text(key)
    if pattern.search(text):
        after = pattern.sub(lambda match: match["name"] + match["sign"] + shlex.quote(value), text)
        return tuple(after if part is text else part for part in command)
    places = list(_places(command, key))
    if not places or any(_is_flag(command, place) and value.lower() not in (*_ON, *_OFF) for place in places):
        return None
    changed = list(command)
    for place in reversed(places):
        word = changed[place]
        if "=" in word:
            changed[place] = f"{word.partition('=')[0]}={value}"
        elif not _is_flag(command, place):
            changed[place + 1] = value
        elif value.lower() in _OFF:
            del changed[place]
    return tuple(changed)


def _shell_text(command: Sequence[str]) -> str | None:
    """The program of `sh -c PROGRAM`."""
    if len(command) < 3 or command[0].rpartition("/")[2] not in _SHELLS:
        return None
    return command[2] if re.fullmatch(r"-[a-z]*c", command[1]) else None


def _places(command: Sequence[str], key: str) -> list[int]:
    """Indices of the words that name the parameter; not of the program itself."""
    wanted = _plain(key)
    first = 1 if _shell_text(command) is None else 3
    return [place for place, word in enumerate(command) if place >= first and _names(word, wanted, key)]


def _names(word: str, wanted: str, key: str) -> bool:
    name, equals, _ = word.partition("=")
    if name.startswith("-"):
        return _plain(name.lstrip("-")) == wanted and name.lstrip("-") != ""
    return bool(equals) and name.lstrip("+") == key


def _value(command: Sequence[str], place: int) -> str:
    _, equals, value = command[place].partition("=")
    if equals:
        return value
    return "true" if _is_flag(command, place) else command[place + 1]


def _is_flag(command: Sequence[str], place: int) -> bool:
    """True for an option without a value: the last word, or before another option."""
    if "=" in command[place]:
        return False
    following = command[place + 1] if place + 1 < len(command) else "-"
    return following.startswith("-") and not _NUMBER.match(following)


def _in_text(key: str) -> re.Pattern[str]:
    dashed = "[-_]".join(re.escape(part) for part in re.split(r"[-_]", key))
    name = rf"--?{dashed}(?=[=\s])|\+{{0,2}}{re.escape(key)}(?==)"
    return re.compile(rf"(?<![^\s;&|(])(?P<name>{name})(?P<sign>=|\s+)(?P<value>{_WORD})")


def _unquoted(text: str) -> str:
    try:
        return "".join(shlex.split(text)[:1])
    except ValueError:
        return text


def _plain(name: str) -> str:
    return name.replace("_", "-")
