"""Opens the wheel and the sdist in `dist/` and makes sure that the page is in them, with every file it names."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

STATIC = "millpond/api/static/"
_NAMED = re.compile(r"""["'`](?:\./)?((?:assets/)?[\w-]+-[\w-]{8}\.(?:js|css|woff2?|svg|png))["'`]""")
_IN_PAGE = re.compile(r"""(?:src|href)="(?:\./)?([^":]+\.\w+)\"""")


def main(folder: Path) -> int:
    archives = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    problems = [] if len(archives) == 2 else [f"{folder} holds {len(archives)} archives, not a wheel and an sdist"]
    for archive in archives:
        files = page_files(archive)
        problems += [f"{archive.name}: {problem}" for problem in problems_of(files)]
        print(f"{archive.name}: {archive.stat().st_size:,} bytes, {len(files)} files of the page")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def page_files(archive: Path) -> dict[str, bytes]:
    """The files of the page, by name below its folder."""
    found: dict[str, bytes] = {}
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            found = {name: wheel.read(name) for name in wheel.namelist()}
    else:
        with tarfile.open(archive) as sdist:
            for member in sdist:
                data = sdist.extractfile(member)
                if data is not None and STATIC in member.name:
                    found[member.name] = data.read()
    return {name.partition(STATIC)[2]: data for name, data in found.items() if STATIC in name}


def problems_of(files: Mapping[str, bytes]) -> list[str]:
    if "index.html" not in files:
        return ["the page is missing (index.html)"]
    named = set(_IN_PAGE.findall(files["index.html"].decode()))
    for name, data in files.items():
        if name.endswith(".js"):
            named |= {f"assets/{one.removeprefix('assets/')}" for one in _NAMED.findall(data.decode())}
    return [f"the page names {name}, which is missing" for name in sorted(named - files.keys())]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
