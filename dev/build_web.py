"""Builds the web page when its sources changed; without Node it says so and Millpond works without the page.

`--check` runs the page's own linters and type checker, `--test` its unit tests.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "millpond" / "api" / "static"
STAMP = STATIC / ".stamp"
LEAST_NODE = (20, 19)
# A copy that is hardly smaller is not worth its room.
LEAST_SAVING = 0.9


def main(arguments: list[str]) -> int:
    npm = find_npm()
    if npm is None:
        print("▸ no Node 20.19 or newer here: the web page is not built; everything else works")
        return 0
    install(npm)
    if "--check" in arguments:
        return run(npm, "run", "check")
    if "--test" in arguments:
        return run(npm, "test")
    stamp = digest_of_sources()
    if STAMP.exists() and STAMP.read_text() == stamp:
        return 0
    print("▸ building the web page (about half a minute)", flush=True)
    # Its list of files and sizes is for those who work on the page, not for those who wait for it.
    if code := run(npm, "run", "--silent", "build", "--", "--logLevel", "error"):
        return code
    compress(STATIC)
    STAMP.write_text(stamp)
    return 0


def find_npm() -> str | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2] if part.isdigit())
    return npm if version >= LEAST_NODE else None


def install(npm: str) -> None:
    """`npm ci` when the lock file is newer than what is installed."""
    mark, lock = WEB / "node_modules" / ".millpond-lock", (WEB / "package-lock.json").read_text()
    if mark.exists() and mark.read_text() == lock:
        return
    print("▸ installing the web page's packages (about a minute)", flush=True)
    if run(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"):
        sys.exit("The web page's packages could not be installed; see above.")
    mark.write_text(lock)


def run(npm: str, *arguments: str) -> int:
    return subprocess.run([npm, *arguments], cwd=WEB, check=False).returncode


def compress(directory: Path) -> None:
    """A compressed copy beside every file that shrinks, so that the server has nothing to compress."""
    for file in [path for path in directory.rglob("*") if path.is_file() and path.suffix != ".gz"]:
        data = file.read_bytes()
        # Without a time: the same page is the same bytes on every machine.
        small = gzip.compress(data, 9, mtime=0)
        if len(small) < LEAST_SAVING * len(data):
            file.with_name(file.name + ".gz").write_bytes(small)


def digest_of_sources() -> str:
    found = [path for path in sorted(WEB.rglob("*")) if path.is_file() and not in_generated(path)]
    # What this script makes of the sources belongs to them.
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in found:
        digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def in_generated(path: Path) -> bool:
    return bool({"node_modules", "test-results", "dist"} & set(path.relative_to(WEB).parts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
