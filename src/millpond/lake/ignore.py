"""Ignore files: gitignore syntax, in every directory, for what lies below it."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millpond.errors import Forbidden
from millpond.lake.ignore_patterns import IgnoreRule, rule_of
from millpond.lake.long_paths import open_at
from millpond.model.path import to_text

IGNORE_FILE = b".millignore"
# What to do about something that may not be read.
LEAVE_OUT = "Make it readable, or leave it out by naming it in .millignore."
_UNREADABLE = "Without it nobody knows what must stay out: make it readable, or remove it."
# Neither a link nor a fifo in its place may lead elsewhere or hold us up.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one directory and those above it; the deepest rule that says anything decides."""

    layers: tuple[tuple[bytes, tuple[IgnoreRule, ...]], ...] = ()

    @classmethod
    def everywhere(cls, lines: Sequence[str]) -> IgnoreRules:
        """Rules that are in no file."""
        return cls(((b"", _rules(map(os.fsencode, lines))),)) if lines else cls()

    def below(self, root: bytes, directory: bytes, names: Sequence[bytes]) -> IgnoreRules:
        """With the ignore files called `names` that lie in `directory` (relative to `root`) added."""
        layers = self.layers
        for name in names:
            prefix = directory + b"/" if directory else b""
            lines = _lines(root, prefix + name)
            if lines is not None:
                layers = (*layers, (prefix, _rules(lines)))
        return IgnoreRules(layers)

    def ignores(self, path: bytes, *, directory: bool) -> bool:
        for prefix, rules in reversed(self.layers):
            below = path[len(prefix) :]
            for rule in reversed(rules):
                if rule.matches(below, directory=directory):
                    return not rule.keeps
        return False


def _rules(lines: Iterable[bytes]) -> tuple[IgnoreRule, ...]:
    return tuple(rule for line in lines if (rule := rule_of(line)) is not None)


def _lines(root: bytes, path: bytes) -> list[bytes] | None:
    """The lines of an ignore file, as git reads them; None if there is none. A link is none: it may lead anywhere."""
    try:
        descriptor = open_at(root, path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        if not os.access(os.path.dirname(root + b"/" + path), os.X_OK):  # noqa: PTH120 - bytes path
            return None  # whoever lists the directory says that it cannot be read
        raise Forbidden(f"{to_text(path)!r} cannot be read: {error.strerror}.", hint=_UNREADABLE) from error
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        text = file.read().removeprefix(codecs.BOM_UTF8)
    return [line.removesuffix(b"\r") for line in text.split(b"\n")]
