"""Runs the tests that failed once more, and names those that only passed then as the last lines of output.

A test that fails twice is red. One that passes the second time is not, but depends on luck: it wants mending.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAILED = Path(".pytest_cache/v/cache/lastfailed")
AGAIN = ("-q", "-n", "1", "--dist", "loadgroup", "--last-failed", "--last-failed-no-failures", "none")


def main(folder: Path, pytest: list[str]) -> int:
    before = failed(folder)
    code = subprocess.run([*pytest, *AGAIN], cwd=folder, check=False).returncode
    lucky = sorted(before - failed(folder))
    if lucky and code in (0, 1):  # anything else: the run itself was cut off
        print(f"\nPassed only the second time ({len(lucky)}):")
        print("\n".join(f"  {name}" for name in lucky), flush=True)
    return code


def failed(folder: Path) -> set[str]:
    """Names of the tests that failed when they were last run."""
    file = folder / FAILED
    return set(json.loads(file.read_text())) if file.exists() else set()


if __name__ == "__main__":
    sys.exit(main(ROOT, [".venv/bin/pytest", "-m", "not long"]))
