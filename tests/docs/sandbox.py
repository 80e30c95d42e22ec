"""A shell of its own for one page: what a reader types, in order, beside one server; and how the output is compared."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.testing.up import environment
from tests.docs.blocks import Block, calls
from tests.docs.comparing import matches

# The address in the pages, whatever port the server of the tests has.
SHOWN_URL = "http://127.0.0.1:8420"
_MARK = "end-of-command"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][AB0]|[^\n]*\r(?!\n)")


@dataclass(frozen=True)
class Answer:
    code: int
    output: str


class Shell:
    """Bash at a terminal without colours; each command sees an empty input."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._main, inner = pty.openpty()
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE, stdout=inner, stderr=inner, cwd=folder, env=variables, start_new_session=True,
        )  # fmt: skip
        os.close(inner)

    def run(self, command: str) -> Answer:
        assert self._process.stdin is not None
        script = f"{{ {command}\n}} < /dev/null\nprintf '\\n%s %d\\n' {_MARK} $?\n"
        self._process.stdin.write(script.encode())
        self._process.stdin.flush()
        text = ""
        while not (found := re.search(rf"\r?\n?\r?\n{_MARK} (\d+)\r?\n", text)):
            try:
                data = os.read(self._main, 65536)
            except OSError:  # the shell has ended
                data = b""
            if not data:
                return Answer(self._process.wait(), text)
            text += data.decode(errors="replace")
        shown = _ESCAPES.sub("", text[: found.start()].replace("\r\n", "\n"))
        return Answer(int(found[1]), shown)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
        os.close(self._main)


@contextmanager
def opened_shell(folder: Path, home: Path, **more: str) -> Iterator[Shell]:
    """`home` has the credentials; programs of this environment are found first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = {"HOME": str(folder), "PATH": path, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "120", "LINES": "40"}
    shell = Shell(folder, environment(home) | words | more)
    try:
        yield shell
    finally:
        shell.close()


def run_block(shell: Shell, block: Block, url: str) -> str | None:
    """Run a block; what went wrong, in words for whoever changes the page."""
    if block.kind == "file":
        shell.run(
            f"mkdir -p \"$(dirname '{block.title}')\" && cat > '{block.title}' <<'{_MARK}'\n"
            + "\n".join([*block.lines, _MARK])
        )
        return None
    todo = list(calls(block))
    for number, call in enumerate(todo):
        answer = shell.run(call.command.replace(SHOWN_URL, url))
        output = answer.output.replace(url, SHOWN_URL).replace(url.partition("://")[2], SHOWN_URL.partition("://")[2])
        expected = block.exits if number == len(todo) - 1 else 0
        if answer.code != expected:
            return f"{call.where}: exit code {answer.code} instead of {expected}: {call.command}\n{output}"
        if call.output is not None and not matches(call.output, output.splitlines()):
            shown = "\n".join(call.output)
            return f"{call.where}: {call.command}\n--- the page shows\n{shown}\n--- it printed\n{output}"
    return None
