"""What kind of file a name stands for, as far as a browser is told. The name decides, never the bytes."""

from __future__ import annotations

import mimetypes

PLAIN = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"

# What a browser may show by itself in the page's own origin: nothing in these can run. A table of our own, since
# the system's differs from machine to machine.
_SHOWN = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "bmp": "image/bmp", "ico": "image/x-icon",
    "mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "ogg": "audio/ogg", "oga": "audio/ogg",
    "opus": "audio/ogg", "m4a": "audio/mp4", "aac": "audio/aac", "weba": "audio/webm",
    "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "ogv": "video/ogg", "mov": "video/quicktime",
}  # fmt: skip
# Documents that may carry scripts: shown by the second origin alone, in a sandbox.
_DOCUMENTS = {"html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "svg": "image/svg+xml"}
_TEXT = frozenset({"json", "xml", "javascript", "yaml", "x-yaml", "toml", "x-sh", "x-python", "csv", "x-ndjson", "sql"})
_TEXT_SUFFIXES = frozenset({"md", "log", "yml", "yaml", "toml", "ini", "cfg", "jsonl", "ipynb", "csv", "tsv", "txt"})


def shown_type(name: str) -> str:
    """A type that is safe in the page's own origin, whatever the file holds."""
    suffix = _suffix(name)
    if suffix in _SHOWN:
        return _SHOWN[suffix]
    guessed = (mimetypes.guess_type(name)[0] or "").lower()
    kind, _, subtype = guessed.partition("/")
    is_text = kind == "text" or subtype in _TEXT or subtype.endswith(("+xml", "+json"))
    return PLAIN if is_text or suffix in _TEXT_SUFFIXES or suffix in _DOCUMENTS else BINARY


def document_type(name: str) -> str | None:
    """The type of a document that only the second origin shows; None for everything else."""
    found = _DOCUMENTS.get(_suffix(name))
    return f"{found}; charset=utf-8" if found else None


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
