"""Writes docs/cli.md, the reference of the command line, from the commands themselves; `--check` only compares."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millpond.cli.command import COMMON_OPTIONS
from millpond.cli.main import ENTRIES

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"

HEAD = """# The command line

<!-- Made by dev/make_cli_docs.py from the commands themselves: `make docs`. -->

`mill NOUN VERB`, and the verbs of jobs at the top. Every command explains itself with `--help`.

## What holds for every command

- **Options**: `--server NAME|URL`, `-p/--project NAME`, `--json`, `-q/--quiet`, `--no-color`, `--debug`;
  also before the verb (`mill --server lab list`).
  A flag wins over the environment, the environment over the folder's `.mill/config.json`, that over the user's own
  files. See [the environment](reference/environment.md).
- **Output**: data on stdout, words and progress on stderr. A table on a terminal, tab-separated lines without a head
  when piped, JSON with `--json`: `{"items": […]}` for lists, the thing itself otherwise, as in the API, `{}` where
  there is nothing to tell. The JSON is stable; what people see may change. Times are ISO 8601 with an offset in both.
  Control characters in names are written as `\\x1b`, in JSON as `\\u001b`.
- **Errors**: `error: …` and `  hint: …` on stderr; with `--json`
  `{"error": {"code", "message", "hint", "request_id", "details"}}`.
- **Questions** are asked on a terminal only; `--yes` answers them. Secrets are read from a prompt, a file or stdin.
- **Names**: `project/dataset@ref:path`, everything but the dataset may be left out; in a working copy the dataset too.
  A job is meant by its name (the newest), `NAME#2` or its id.
- **Completion**: `mill --install-completion`.

| exit code | what it means |
|---|---|
| 0 | it worked |
| 1 | it failed |
| 2 | wrong usage, or a name or value that cannot be |
| 3 | there is no such thing, or you may not see it |
| 4 | not signed in, or your role does not allow it |
| 5 | a conflict: a name taken, something in use, a branch moved, no room |
| 6 | the server or the lake cannot be reached, or breaks off |
| 100 | the job waited for failed |
| 101 | the job waited for has not finished |
| 103 | the job waited for was cancelled |
| 130 | Ctrl-C |
"""


def main() -> int:
    text = HEAD + "".join(f"\n{part}" for part in _parts())
    if "--check" in sys.argv:
        same = TARGET.exists() and TARGET.read_text("utf-8") == text
        print("docs/cli.md is current" if same else "docs/cli.md is old: run make docs")
        return 0 if same else 1
    TARGET.write_text(text, "utf-8")
    print(f"wrote {TARGET}")
    return 0


def _parts() -> Iterator[str]:
    panels = list(dict.fromkeys(entry.panel for entry in ENTRIES))
    for panel in panels:
        yield f"## {panel}\n"
        for entry in (e for e in ENTRIES if e.panel == panel):
            loaded = entry.load()
            if entry.verb:
                yield from _command(f"mill {entry.name}", loaded)
                continue
            yield f"### mill {entry.name}\n\n{entry.help}\n"
            yield from _group(f"mill {entry.name}", loaded)


def _group(name: str, group: Any) -> Iterator[str]:
    """Commands of a noun; some verbs have kinds, which are groups again."""
    for verb, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _group(f"{name} {verb}", command)
        else:
            yield from _command(f"{name} {verb}", command)


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"#### {name}\n\n    {_usage(name, command)}\n\n{inspect.cleandoc(command.help or '')}\n"
    rows = [_row(p) for p in command.params if p.name not in (*COMMON_OPTIONS, "help")]
    if rows:
        yield "| | |\n|---|---|\n" + "".join(rows)


def _usage(name: str, command: Any) -> str:
    words = [name]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            metavar = _metavar(parameter)
            words.append(metavar if parameter.required else f"[{metavar}]")
    own = [p for p in command.params if p.param_type_name == "option" and p.name not in (*COMMON_OPTIONS, "help")]
    if own:
        words.insert(1, "[OPTIONS]")
    return " ".join(words) + (" -- COMMAND..." if name == "mill submit" else "")


def _row(parameter: Any) -> str:
    text = (parameter.help or "").replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return f"| `{_metavar(parameter)}` | {text} |\n"
    written = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else f" {_metavar(parameter)}"
    default = parameter.default
    shown = default not in (None, False, True, "", [], ()) and not callable(default)
    tail = f" Default: `{getattr(default, 'value', default)}`." if shown else ""
    return f"| `{written}{value}` | {text}{tail} |\n"


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or (parameter.name or "").upper())


if __name__ == "__main__":
    sys.exit(main())
