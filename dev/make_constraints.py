"""Writes deploy/constraints.txt: every package that Millpond may bring along, pinned, with the hashes of its files.

For all platforms and for Python 3.11 and newer. The file names no registry: whichever one installs from has to deliver
these very files. Packages published within the last week are left out, if the registry tells when: most that were
tampered with are found sooner. `--upgrade` looks for newer versions; without it pins stay as long as they fit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "deploy" / "constraints.txt"
# What an installation may have; those of development, demo and library are no part of a release.
EXTRAS = ("fsspec", "kubernetes", "otel", "ldap", "mcp", "pandas", "perf", "postgres", "serve", "ssh")
OLDEST_PYTHON = "3.11"
WAIT = timedelta(days=7)
HEAD = """\
# Every package that Millpond may bring along, with the hashes of its files: dev/make_constraints.py (make lock).
# pip install --require-hashes -r constraints.txt && pip install --no-deps millpond-*.whl
"""


def main() -> int:
    program = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if program is None:
        print("error: uv is not installed: pip install uv", file=sys.stderr)
        return 1
    before = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - WAIT
    command = [program, "pip", "compile", "pyproject.toml", "--universal", "--python-version", OLDEST_PYTHON]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command += ["--exclude-newer", before.isoformat(), "--quiet", "-o", str(TARGET)]
    command += [word for extra in EXTRAS for word in ("--extra", extra)]
    command += ["--upgrade"] if "--upgrade" in sys.argv[1:] else []
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode == 0:
        TARGET.write_text(HEAD + TARGET.read_text().removeprefix(HEAD))
        print(f"wrote {TARGET.relative_to(ROOT)}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
