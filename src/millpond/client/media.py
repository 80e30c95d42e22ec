"""Images, figures, tables, confusion matrices and histograms as files, without the libraries that make them.

What a training script hands over is asked what it can do (`savefig`, `to_dict`, `tolist` …), so that neither numpy,
pandas, PIL nor matplotlib is needed here.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UNSAFE = re.compile(r"[^\w.\- /]+")
_COLOURS = {1: 0, 3: 2, 4: 6}  # channels → colour type of PNG


@dataclass(frozen=True, slots=True)
class Media:
    content: bytes
    extension: str


def safe_name(key: str) -> str:
    """A key as a relative path: `..`, empty parts and odd characters are gone."""
    parts = (_UNSAFE.sub("_", part).strip(". ") for part in key[:200].split("/"))
    return "/".join(part for part in parts if part)


def image(value: Any) -> Media:
    """A path as it is; a PIL image and an array as PNG. TypeError for anything else."""
    if isinstance(value, str | Path):
        path = Path(value)
        return Media(path.read_bytes(), path.suffix.lstrip(".").lower() or "bin")
    if hasattr(value, "save"):
        target = io.BytesIO()
        value.save(target, format="PNG")
        return Media(target.getvalue(), "png")
    return Media(_png(_listed(value)), "png")


def figure(value: Any) -> Media:
    if hasattr(value, "savefig"):
        target = io.BytesIO()
        value.savefig(target, format="png", bbox_inches="tight")
        return Media(target.getvalue(), "png")
    if hasattr(value, "to_json"):
        return Media(str(value.to_json()).encode(), "plotly.json")
    raise TypeError(f"a {type(value).__name__} is not a figure of matplotlib or plotly")


def table(data: Any) -> Media:
    """`{"columns": […], "data": [[…], …]}`."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        found = data.to_dict("split") if hasattr(data, "index") else {"columns": data.columns, "data": data.rows()}
        return _json({"columns": list(found["columns"]), "data": list(found["data"])})
    if isinstance(data, Mapping):
        columns = {str(key): _listed(values) for key, values in data.items()}
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        return _json({"columns": list(columns), "data": rows})
    given = list(data)
    if not all(isinstance(row, Mapping) for row in given):
        raise TypeError("a table is a data frame, a mapping of columns, or a list of mappings")
    names = list(dict.fromkeys(key for row in given for key in row))
    return _json(
        {"columns": [str(name) for name in names], "data": [[row.get(name) for name in names] for row in given]}
    )


def confusion_matrix(matrix: Any, labels: Sequence[Any] | None, truth: Any, predicted: Any) -> Media:
    if matrix is not None:
        counts = _listed(matrix)
        names = [str(label) for label in labels] if labels is not None else [str(n) for n in range(len(counts))]
        if len(names) != len(counts) or any(len(row) != len(counts) for row in counts):
            raise ValueError("a confusion matrix has as many rows and columns as labels")
        return _json({"labels": names, "matrix": counts})
    true, guessed = [str(one) for one in _listed(truth)], [str(one) for one in _listed(predicted)]
    names = [str(label) for label in labels] if labels is not None else sorted({*true, *guessed})
    place = {name: index for index, name in enumerate(names)}
    counts = [[0] * len(names) for _ in names]
    for one, other in zip(true, guessed, strict=True):
        counts[place[one]][place[other]] += 1
    return _json({"labels": names, "matrix": counts})


def histogram(values: Any, bins: int) -> Media:
    """`{"edges": […], "counts": […], "other": n}`; `other` counts NaN and infinities."""
    numbers = [float(number) for number in _flat(_listed(values))]
    finite = [number for number in numbers if math.isfinite(number)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    for number in finite:
        counts[min(int((number - low) / width), bins - 1)] += 1
    edges = [low + width * place for place in range(bins + 1)]
    return _json({"edges": edges, "counts": counts, "other": len(numbers) - len(finite)})


def _listed(value: Any) -> Any:
    """Arrays of numpy and torch as lists; other sequences as they are."""
    for step in ("detach", "cpu", "tolist"):
        value = getattr(value, step)() if hasattr(value, step) else value
    return list(value) if isinstance(value, Iterable) else [value]


def _flat(value: Any) -> Iterable[Any]:
    for part in value:
        if isinstance(part, list | tuple):
            yield from _flat(part)
        else:
            yield part


def _json(document: Any) -> Media:
    return Media(json.dumps(document, default=_word, ensure_ascii=False).encode(), "json")


def _word(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _png(rows: Any) -> bytes:
    """Height × width (× channels); numbers up to 1 are shares of white, larger ones are bytes."""
    if not rows or not isinstance(rows[0], list | tuple) or not rows[0]:
        raise ValueError("an image is an array of height × width, or height × width × channels")
    first = rows[0][0]
    channels = len(first) if isinstance(first, list | tuple) else 1
    if channels not in _COLOURS:
        raise ValueError(f"an image has 1, 3 or 4 channels, not {channels}")
    flat = [list(_flat(row)) for row in rows]
    if any(len(row) != len(rows[0]) * channels for row in flat):
        raise ValueError("the rows of an image have different lengths")
    is_share = all(isinstance(n, float) for row in flat for n in row) and max(max(row) for row in flat) <= 1
    scale = 255 if is_share else 1
    lines = b"".join(b"\0" + bytes(min(max(round(n * scale), 0), 255) for n in row) for row in flat)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, _COLOURS[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
