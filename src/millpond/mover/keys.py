"""Which keys of a bucket can be files below a directory, and where each would lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NAME_BYTES = 255
# What the mover itself keeps in a directory.
OWN = ".mill-move"


def path_of(key: str) -> tuple[str | None, str]:
    """The relative path for a key below the prefix, or None with the reason; ("", "") for the marker of a directory."""
    if not key or key.endswith("/"):
        return ("", "") if not key.strip("/") or "//" not in key else (None, "has an empty part")
    for part in key.split("/"):
        if not part:
            return None, "has an empty part"
        if part in (".", ".."):
            return None, f"has the part {part!r}"
        if "\0" in part:
            return None, "has a null character"
        if len(part.encode("utf-8", "surrogatepass")) > NAME_BYTES:
            return None, f"has a part of more than {NAME_BYTES} bytes"
    if key.split("/", 1)[0] == OWN:
        return None, f"begins with {OWN!r}, where the mover keeps its state"
    return key, ""


def both_file_and_directory(paths: Iterable[str]) -> Iterator[str]:
    """Paths that are also the directory of others: a bucket can hold both, a file system cannot."""
    known = set(paths)
    found: set[str] = set()
    for path in known:
        parent = path.rpartition("/")[0]
        while parent:
            if parent in known:
                found.add(parent)
            parent = parent.rpartition("/")[0]
    yield from sorted(found)
