"""Values of logged tensors, as columns: what drift is measured on, and what labels are compared with."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ServeError
from ..tensors import from_binary, from_json, to_json

Array = np.ndarray[Any, np.dtype[Any]]
# A sample with more values than this is told by their mean and spread.
MOST_VALUES = 64


def tensors_of(body: str | None, side: str) -> Iterator[tuple[str, Array]]:
    """`side` is inputs or outputs. Tensors that were redacted, left out or cannot be read are not among them."""
    document = json.loads(body) if body else {}
    for tensor in document.get(side) or []:
        array = _array(tensor)
        if array is not None and array.size:
            yield str(tensor["name"]), by_sample(array)


def input_tensors(body: str | None) -> dict[str, tuple[str, Array]]:
    """The inputs of a logged request by name, with their datatypes; none if one of them was not logged whole."""
    found = {}
    for tensor in (json.loads(body) if body else {}).get("inputs") or []:
        array = _array(tensor)
        if array is None:
            return {}
        found[str(tensor["name"])] = (str(tensor["datatype"]), array)
    return found


def inputs_of(body: str | None) -> list[dict[str, Any]]:
    """The inputs of a logged request, to be sent again as JSON; none if one of them was not logged whole."""
    found = []
    for tensor in (json.loads(body) if body else {}).get("inputs") or []:
        array = _array(tensor)
        if array is None or tensor["datatype"] == "BF16":  # which has no form in JSON
            return []
        kept = {key: tensor[key] for key in ("name", "datatype", "shape")}
        found.append({**kept, "data": to_json(array, tensor["datatype"])})
    return found


def by_sample(array: Array) -> Array:
    """One row for each sample. The first dimension counts samples; a tensor of one dimension has one value of each."""
    return array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(-1, 1)


def columns_of(name: str, samples: Array, *, is_output: bool = False) -> Iterator[tuple[str, Array]]:
    """A column for each value of a sample; numbers with a fraction are numbers, texts and truth values are texts.

    Outputs with several numbers have the place of the largest, too: the class that a classifier chose.
    """
    width = samples.shape[1]
    is_number = samples.dtype.kind in "iuf"
    if width == 1:
        yield name, samples[:, 0] if is_number else _texts(samples[:, 0])
    elif width <= MOST_VALUES:
        for place in range(width):
            values = samples[:, place]
            yield f"{name}[{place}]", values if is_number else _texts(values)
    elif is_number:
        yield f"{name}.mean", samples.mean(axis=1, dtype=np.float64)
        yield f"{name}.std", samples.std(axis=1, dtype=np.float64)
    if is_output and width > 1 and samples.dtype.kind == "f":
        yield f"{name}.argmax", _texts(samples.argmax(axis=1))


def predictions_of(samples: Array) -> list[Any]:
    """What each sample was predicted as: the class with the largest value, or the one value there is."""
    is_number = samples.dtype.kind in "iuf"
    values = samples.argmax(axis=1) if is_number and samples.shape[1] > 1 else samples[:, 0]
    found: list[Any] = (values if is_number else _texts(values)).tolist()
    return found


def text_of(value: Any) -> str:
    """A category as text; 3, 3.0 and "3" are the same one."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _texts(values: Array) -> Array:
    return np.array([text_of(value) for value in values.tolist()], dtype=object)


def _array(tensor: Mapping[str, Any]) -> Array | None:
    try:
        name, datatype, shape = str(tensor["name"]), tensor["datatype"], [int(size) for size in tensor["shape"]]
        if "base64" in tensor:
            return from_binary(name, datatype, shape, base64.b64decode(tensor["base64"]))
        return from_json(name, datatype, shape, tensor["data"])
    except (ServeError, KeyError, TypeError, ValueError, binascii.Error):
        return None
