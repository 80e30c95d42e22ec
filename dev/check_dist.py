"""Opens the wheel and the sdist in `dist/` and makes sure that the page and the documentation are in them, whole."""

from __future__ import annotations

import gzip
import posixpath
import re
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

STATIC = "millpond/api/static/"
DOCUMENTATION = "millpond/api/documentation/"
_NAMED = re.compile(r"""["'`](?:\./)?((?:assets/)?[\w-]+-[\w-]{8}\.(?:js|css|woff2?|svg|png))["'`]""")
_IN_DOCUMENT = re.compile(r"""(?:src|href)="([^":?#]+?)(?:[?#][^"]*)?\"""")
_IN_PAGE = re.compile(r"""(?:src|href)="(?:\./)?([^":]+\.\w+)\"""")


def main(folder: Path) -> int:
    archives = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    problems = [] if len(archives) == 2 else [f"{folder} holds {len(archives)} archives, not a wheel and an sdist"]
    for archive in archives:
        packed = packed_files(archive)
        page, documentation = below(packed, STATIC), below(packed, DOCUMENTATION)
        found = [*problems_of(page), *documentation_problems(documentation)]
        problems += [f"{archive.name}: {problem}" for problem in found]
        sizes = f"{len(page)} files of the page, {len(documentation)} of the documentation"
        held = sum(len(data) for data in documentation.values())
        print(f"{archive.name}: {archive.stat().st_size:,} bytes, {sizes} ({held:,} bytes)")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def packed_files(archive: Path) -> dict[str, bytes]:
    """The built files of an archive by their names in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    found: dict[str, bytes] = {}
    with tarfile.open(archive) as sdist:
        for member in sdist:
            data = sdist.extractfile(member)
            if data is not None and (STATIC in member.name or DOCUMENTATION in member.name):
                found[member.name] = data.read()
    return found


def below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    return {name.partition(folder)[2]: data for name, data in files.items() if folder in name}


def problems_of(files: Mapping[str, bytes]) -> list[str]:
    if "index.html" not in files:
        return ["the page is missing (index.html)"]
    named = set(_IN_PAGE.findall(files["index.html"].decode()))
    for name, data in files.items():
        if name.endswith(".js"):
            named |= {f"assets/{one.removeprefix('assets/')}" for one in _NAMED.findall(data.decode())}
    return [f"the page names {name}, which is missing" for name in sorted(named - files.keys())]


def documentation_problems(files: Mapping[str, bytes]) -> list[str]:
    """Pages and what they name, which lies beside them compressed or plain."""
    plain = {
        name.removesuffix(".gz"): gzip.decompress(data) if name.endswith(".gz") else data
        for name, data in files.items()
    }
    if "index.html" not in plain:
        return ["the documentation is missing (make docs-site)"]
    found: list[str] = []
    for name, data in plain.items():
        for link in _IN_DOCUMENT.findall(data.decode()) if name.endswith(".html") else ():
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
            target = posixpath.normpath(f"{target}/index.html") if link.endswith(("/", ".")) else target
            if target not in plain:
                found.append(f"{name} of the documentation names {target}, which is missing")
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
