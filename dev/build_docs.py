"""Builds the documentation site when its sources changed. The server answers it at /docs (api/docs.py).

Broken links and anchors are errors. What shrinks is kept compressed only.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "src" / "millpond" / "api" / "documentation"
STAMP = SITE / ".stamp"
SOURCES = ("docs", "dev/docs_site", "mkdocs.yml", "dev/build_docs.py")
# Maps for those who work on the theme, and the words of languages in which nothing is written here.
LEFT_OUT = ("*.map", "assets/javascripts/lunr", "sitemap.xml*", "404.html")
LEAST_SAVING = 0.9
_MAP = re.compile(rb"\n?(?://# |/\*# )sourceMappingURL=\S+(?: ?\*/)?")


def main() -> int:
    if STAMP.exists() and STAMP.read_text() == stamp():
        return 0
    print("▸ building the documentation site", flush=True)
    built = ROOT / "build" / "documentation"
    code = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(built)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=False,
    ).returncode
    if code:
        return code
    for pattern in LEFT_OUT:
        for path in built.glob(pattern) if "/" in pattern else built.rglob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    compress(built)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(built, SITE)
    STAMP.write_text(stamp())
    return 0


def compress(directory: Path) -> None:
    for file in [path for path in directory.rglob("*") if path.is_file() and path.name[0] != "."]:
        data = file.read_bytes()
        if file.suffix in (".js", ".css"):
            data = _MAP.sub(b"", data)
            file.write_bytes(data)
        # Without a time: the same site is the same bytes on every machine.
        small = gzip.compress(data, 9, mtime=0)
        if len(small) < LEAST_SAVING * len(data):
            file.with_name(file.name + ".gz").write_bytes(small)
            file.unlink()


def stamp() -> str:
    digest = hashlib.sha256()
    for path in sorted(sources()):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def sources() -> Iterator[Path]:
    for name in SOURCES:
        path = ROOT / name
        yield from (one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
        if path.is_file():
            yield path
    linked = SITE / ".linked"
    names = linked.read_text().splitlines() if linked.exists() else ()
    yield from (ROOT / name for name in names if (ROOT / name).is_file())


if __name__ == "__main__":
    sys.exit(main())
