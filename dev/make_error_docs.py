"""Writes docs/reference/errors.md, all codes of errors, from `millpond.errors`; `--check` only compares."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from millpond.errors import MillError

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "errors.md"

HEAD = """# Error codes

<!-- Made by dev/make_error_docs.py from millpond.errors: `make docs`. -->

Every error has a message (what happened, to what), mostly a hint (what to do now), and a stable code for programs. The
API answers with a problem (RFC 9457): `{"title", "status", "code", "detail", "hint", "request_id", "details"}`.
`mill` prints both on stderr, with `--json` as `{"error": {"code", "message", "hint", "request_id", "details"}}`.
The SDK raises the class of the same meaning from `millpond.errors`. `mill docs CODE` opens this page at a code.

A **transient** error may go away by itself: clients of Millpond try such calls again before they tell of it.
[What exit codes mean](../cli.md#what-holds-for-every-command).

| code | HTTP status | `mill` exits with | transient | raised as |
|---|---|---|---|---|
"""


def main() -> int:
    classes = list(classes_of(MillError))
    rows = "".join(f"{_row(cls)}\n" for cls in classes)
    text = HEAD + rows + "".join(f"\n{_section(cls)}" for cls in classes)
    if "--check" in sys.argv:
        same = TARGET.exists() and TARGET.read_text("utf-8") == text
        print("docs/reference/errors.md is current" if same else "docs/reference/errors.md is old: run make docs")
        return 0 if same else 1
    TARGET.write_text(text, "utf-8")
    print(f"wrote {TARGET}")
    return 0


def advice(cls: type[MillError]) -> str:
    """What to do about the error: its docstring without the first paragraph, as one line."""
    _, _, rest = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")
    return " ".join(rest.split())


def classes_of(cls: type[MillError]) -> Iterator[type[MillError]]:
    yield cls
    for below in cls.__subclasses__():
        # Others may derive their own in plug-ins and tests.
        if below.__module__ == MillError.__module__:
            yield from classes_of(below)


def _row(cls: type[MillError]) -> str:
    cells = (
        f"[`{cls.code}`](#{cls.code})",
        cls.status,
        cls.exit_code,
        "yes" if cls.transient else "",
        f"`{cls.__name__}`",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _section(cls: type[MillError]) -> str:
    message = inspect.cleandoc(cls.__doc__ or "").splitlines()[0]
    status = f"{cls.status} {HTTPStatus(cls.status).phrase}"
    return f"## `{cls.code}`\n\n{message} ({status})\n\n{advice(cls)}\n"


if __name__ == "__main__":
    sys.exit(main())
