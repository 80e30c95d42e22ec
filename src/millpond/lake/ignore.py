"""Ignore files: gitignore syntax, in every directory, for what lies below it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = b".millignore"


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
            try:
                with open(os.path.join(root, directory, name), "rb") as file:  # noqa: PTH118 - bytes path
                    lines = os.fsdecode(file.read()).splitlines()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                continue
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:
                    raise
                continue
            prefix = directory + b"/" if directory else b""
            layers = (*layers, (prefix, spec_of(lines)))
        return IgnoreRules(layers)

    def ignores(self, path: bytes, *, directory: bool) -> bool:
        for prefix, rules in reversed(self.layers):
            text = os.fsdecode(path[len(prefix) :]) + ("/" if directory else "")
            verdict = rules.check_file(text).include
            if verdict is not None:
                return bool(verdict)
        return False


def spec_of(lines: Sequence[str]) -> GitIgnoreSpec:
    # Imported where there are rules: most folders have none, and it takes as long as looking at thousands of files.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    # With RE2 installed pathspec would use that, which knows no names that are not Unicode.
    return GitIgnoreSpec.from_lines(lines, backend="simple")
