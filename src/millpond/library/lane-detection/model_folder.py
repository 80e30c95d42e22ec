"""The folder of a model, as Triton and Millpond serve it: `1/model.*`, `config.pbtxt`, `labels.txt`, `signature.json`.

Copied into the components that write or read models, because a component's folder runs alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA = "millpond.model/1"
BACKENDS = {".onnx": "onnxruntime", ".pt": "pytorch"}
# Types of the Open Inference Protocol → those of config.pbtxt.
_TYPES = {"FP32": "TYPE_FP32", "INT64": "TYPE_INT64", "BYTES": "TYPE_STRING"}
_MAX_BATCH = 64


def tensor(name: str, datatype: str, *shape: int) -> dict[str, Any]:
    """One input or output; the first dimension is the batch, and is not written."""
    return {"name": name, "datatype": datatype, "shape": [-1, *shape]}


def write_model_files(folder: Path, file: str, signature: dict[str, Any]) -> None:
    """Everything but the model itself, which is `1/FILE`. `signature`: inputs, outputs, task, classes, image …"""
    (folder / "signature.json").write_text(json.dumps({"schema": SCHEMA, **signature}, indent=1) + "\n", "utf-8")
    (folder / "config.pbtxt").write_text(_config(file, signature), "utf-8")
    if signature.get("classes"):
        (folder / "labels.txt").write_text("".join(f"{name}\n" for name in signature["classes"]), "utf-8")


def read_signature(folder: Path) -> dict[str, Any]:
    """ValueError if the folder is not that of a model."""
    try:
        found: dict[str, Any] = json.loads((folder / "signature.json").read_text("utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder} is not a model: it has no signature.json") from None
    if found.get("schema") != SCHEMA:
        raise ValueError(f"signature.json has the schema {found.get('schema')!r}, not {SCHEMA}")
    return found


def model_file(folder: Path) -> Path:
    """The model itself, of its newest version. ValueError if there is none that can be read here."""
    versions = sorted((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    files = [path for version in reversed(versions) for path in sorted(version.iterdir()) if path.suffix in BACKENDS]
    if not files:
        raise ValueError(f"{folder} is not a model: it has no 1/model.onnx or 1/model.pt")
    return files[0]


def _config(file: str, signature: dict[str, Any]) -> str:
    labels = bool(signature.get("classes"))
    lines = [f'backend: "{BACKENDS[Path(file).suffix]}"', f"max_batch_size: {_MAX_BATCH}"]
    if Path(file).stem != "model":
        lines.append(f'default_model_filename: "{file}"')
    lines += [_tensor("input", one, labels=False) for one in signature["inputs"]]
    lines += [_tensor("output", one, labels=labels and len(one["shape"]) == 2) for one in signature["outputs"]]
    return "\n".join(lines) + "\n"


def _tensor(kind: str, one: dict[str, Any], *, labels: bool) -> str:
    dims = ", ".join(str(size) for size in one["shape"][1:])
    # Triton wants a dimension besides the batch.
    shape = f"dims: [ {dims} ]" if dims else "dims: [ 1 ] reshape: { shape: [ ] }"
    named = ' label_filename: "labels.txt"' if labels else ""
    return f'{kind} [ {{ name: "{one["name"]}" data_type: {_TYPES[one["datatype"]]} {shape}{named} }} ]'
