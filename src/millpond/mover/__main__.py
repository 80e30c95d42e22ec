"""`python -m millpond_mover CONNECTION URI DIRECTORY [--out] [--delete] [--dry-run]`, in a job."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from .bucket import Bucket, MoveFailed, Server
from .moving import Move, Summary, told


def main() -> int:
    parser = argparse.ArgumentParser(prog="millpond_mover")
    parser.add_argument("connection")
    parser.add_argument("uri")
    parser.add_argument("directory")
    for flag in ("--out", "--delete", "--dry-run"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--state", help="where to keep notes, if the directory cannot be written")
    given = parser.parse_args()
    server = Server(os.environ["MILL_SERVER"], os.environ["MILL_TOKEN"], os.environ["MILL_PROJECT"], given.connection)
    directory = Path(os.path.expandvars(given.directory))
    if given.out and not directory.is_dir():
        return _ended(f"There is no directory {directory}.")
    if not given.dry_run and not given.out:
        directory.mkdir(parents=True, exist_ok=True)
    move = Move(
        Bucket(server, given.uri), directory, outwards=given.out, delete=given.delete, dry_run=given.dry_run,
        tell=_say, state_in=Path(os.path.expandvars(given.state)) if given.state else None,
    )  # fmt: skip
    try:
        summary = move.run()
    except MoveFailed as error:
        _write(move.summary)
        return _ended(str(error))
    _write(summary)
    for kind, found in (("conflict", summary.conflicts), ("skipped", summary.skipped), ("failed", summary.failed)):
        for path, why in found:
            _say(f"{kind}: {path}: {why}")
    words = "would be copied" if summary.dry_run else "copied"
    _say(
        f"{summary.copied} files {words} ({summary.copied_bytes} bytes), {summary.unchanged} unchanged, "
        f"{summary.removed} removed, {summary.conflict_count} conflicts, {summary.skipped_count} skipped, "
        f"{summary.failed_count} failed"
    )
    return 1 if summary.failed_count else 0


def _write(summary: Summary) -> None:
    output = os.environ.get("MILL_OUTPUT")
    if output:
        Path(output, "move.json").write_text(json.dumps(told(summary)))


def _ended(problem: str) -> int:
    sys.stderr.write(f"The move has stopped: {problem}\n")
    return 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
