"""Secrets of the command line: from a prompt, a file or stdin, never from an argument, where others see them."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from millpond.cli.session import Session
from millpond.errors import BadRequest, NotFound


def read_secret(path: Path, noun: str) -> str:
    """The secret in a file (`-` is stdin), without the end of its line."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
    except FileNotFoundError:
        raise NotFound(f"File not found: {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"Cannot read {path}: {error}") from error
    secret = text.strip("\r\n")
    if not secret:
        raise BadRequest(f"{path} is empty; expected a {noun}.")
    return secret


def ask_secret(mill: Session, question: str, *, twice: bool = False) -> str:
    if not mill.may_ask:
        raise BadRequest("Cannot ask for the password: no terminal.", hint="Use --password-file FILE, or - for stdin.")
    answer: str = typer.prompt(question, hide_input=True, confirmation_prompt=twice, err=True)
    return answer
