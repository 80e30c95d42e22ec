"""A shell of its own for one page: what a reader types, in order, beside one server; and how the output is compared."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from millpond.testing.up import environment
from tests.docs.blocks import Block, Call, calls
from tests.docs.comparing import matches

_MARK = "end-of-command"
_SOON_SECONDS, _END_SECONDS = 180.0, 60.0
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

    def leave_running(self, command: str, log: Path) -> None:
        """As in another terminal, with what it prints in a file. It ends with the shell."""
        self.run(f"{{ {command}\n}} > '{log}' 2>&1 &")

    def close(self) -> None:
        """End it, and what it left running."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        for end in (psutil.Process.terminate, psutil.Process.kill):
            left = group_of(self._process.pid)
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    end(process)
            psutil.wait_procs(left, timeout=_END_SECONDS)
        self._process.wait()
        os.close(self._main)


def group_of(leader: int) -> list[psutil.Process]:
    """The processes of its group."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getpgid(process.pid) == leader:
                found.append(process)
    return found


@contextmanager
def opened_shell(folder: Path, home: Path | None, **more: str) -> Iterator[Shell]:
    """`home` has the credentials (None: where they are without tests); programs of this environment are found first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = {"HOME": str(folder), "PATH": path, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "120", "LINES": "40"}
    variables = environment(home or folder) | words | more
    if home is None:
        variables = {name: value for name, value in variables.items() if name not in ("MILL_HOME", "XDG_CONFIG_HOME")}
    shell = Shell(folder, variables)
    try:
        yield shell
    finally:
        shell.close()


def run_block(shell: Shell, block: Block, stand_ins: Mapping[str, str]) -> str | None:
    """Run a block; what went wrong, in words for whoever changes the page. `stand_ins`: what to use for its words."""
    if block.kind == "file":
        shell.run(
            f"mkdir -p \"$(dirname '{block.title}')\" && cat > '{block.title}' <<'{_MARK}'\n"
            + "\n".join([*replaced(block.lines, stand_ins), _MARK])
        )
        return None
    todo = list(calls(block))
    for number, call in enumerate(todo):
        is_last = number == len(todo) - 1
        run = _run_until if block.soon or (block.stays and is_last) else _run_once
        if problem := run(shell, call, stand_ins, exits=block.exits if is_last else 0, stays=block.stays and is_last):
            return problem
    return None


def _run_once(shell: Shell, call: Call, stand_ins: Mapping[str, str], *, exits: int, stays: bool = False) -> str | None:
    answer = shell.run(*replaced([call.command], stand_ins))
    return _problem(call, answer, stand_ins, exits)


def _run_until(shell: Shell, call: Call, stand_ins: Mapping[str, str], *, exits: int, stays: bool) -> str | None:
    """Until it prints what the page shows. One that `stays` is started once, as in another terminal."""
    (command,) = replaced([call.command], stand_ins)
    if stays:
        printed = f'"$HOME/.printed-{call.where.rpartition(":")[2]}"'
        # In a shell of its own: it is none of the jobs (%1) of this one.
        shell.run(f"({{ {command}\n}} > {printed} 2>&1 &)")
        command = f"cat {printed}"
    until = time.monotonic() + _SOON_SECONDS
    while problem := _problem(call, shell.run(command), stand_ins, exits):
        if time.monotonic() > until:
            return problem
        time.sleep(0.2)
    return None


def _problem(call: Call, answer: Answer, stand_ins: Mapping[str, str], exits: int) -> str | None:
    (output,) = replaced([answer.output], {new: old for old, new in stand_ins.items()})
    if answer.code != exits:
        return f"{call.where}: exit code {answer.code} instead of {exits}: {call.command}\n{output}"
    if call.output is not None and not matches(call.output, output.splitlines()):
        shown = "\n".join(call.output)
        return f"{call.where}: {call.command}\n--- the page shows\n{shown}\n--- it printed\n{output}"
    return None


def replaced(lines: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """All words at once, so that none of those that come in is replaced again."""
    if not words:
        return list(lines)
    longest_first = sorted(words, key=len, reverse=True)
    either = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return [either.sub(lambda found: words[found[0]], line) for line in lines]
