"""Ignore files: gitignore syntax, in every directory, for what lies below it."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millpond.errors import Forbidden
from millpond.lake.deep import open_at
from millpond.model.path import to_text

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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

    layers: tuple[tuple[bytes, GitIgnoreSpec], ...] = ()

    @classmethod
    def everywhere(cls, lines: Sequence[str]) -> IgnoreRules:
        """Rules that are in no file."""
        return cls(((b"", spec_of(lines)),)) if lines else cls()

    def below(self, root: bytes, directory: bytes, names: Sequence[bytes]) -> IgnoreRules:
        """With the ignore files called `names` that lie in `directory` (relative to `root`) added."""
        layers = self.layers
        for name in names:
            prefix = directory + b"/" if directory else b""
            lines = _lines(root, prefix + name)
            if lines is not None:
                layers = (*layers, (prefix, spec_of(lines)))
        return IgnoreRules(layers)

    def ignores(self, path: bytes, *, directory: bool) -> bool:
        for prefix, rules in reversed(self.layers):
            text = os.fsdecode(path[len(prefix) :]) + ("/" if directory else "")
            verdict = rules.check_file(text).include
            if verdict is not None:
                return bool(verdict)
        return False


def _lines(root: bytes, path: bytes) -> list[str] | None:
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
    return [os.fsdecode(line.removesuffix(b"\r")) for line in text.split(b"\n")]


def spec_of(lines: Sequence[str]) -> GitIgnoreSpec:
    # Imported where there are rules: most folders have none, and it takes as long as looking at thousands of files.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    # With RE2 installed pathspec would use that, which knows no names that are not Unicode.
    return GitIgnoreSpec.from_lines(lines, backend="simple")
