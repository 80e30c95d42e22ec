"""The samples that a server is asked about: arrays from files, or made from the model's inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millpond.errors import Invalid
from millpond.serve.tensors import DATATYPES, numpy_type

Arrays = Mapping[str, NDArray[Any]]

# A dimension that the model leaves open, and nobody has given samples.
_OPEN = 8
# Texts mean something, and numpy has no bfloat16.
_NOT_MADE = frozenset({"BYTES", "BF16"})


@dataclass(frozen=True, slots=True)
class ModelInput:
    """An input of a model as its server tells it. `shape` is of one sample, without the batch."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What a server says of a model. `batch` is how many samples fit into one request; 0: it takes no batches."""

    name: str
    inputs: tuple[ModelInput, ...]
    batch: int

    @classmethod
    def from_answers(cls, metadata: Mapping[str, Any], config: Mapping[str, Any]) -> ServedModel:
        batch = int(config.get("max_batch_size", 0))
        inputs = tuple(
            ModelInput(one["name"], one["datatype"], tuple(int(size) for size in one["shape"][1 if batch else 0 :]))
            for one in metadata["inputs"]
        )
        return cls(str(metadata["name"]), inputs, batch)


def made_samples(model: ServedModel, count: int, seed: int = 7) -> list[Arrays]:
    """Samples of random values that fit the model's inputs. Raises Invalid for types that cannot be made up."""
    random = np.random.default_rng(seed)
    return [{one.name: _made(one, random) for one in model.inputs} for _ in range(count)]


def read_samples(folder: Path, model: ServedModel, count: int) -> list[Arrays]:
    """Samples of a folder, by name: `.npy` for a model with one input, `.npz` with the names of the inputs."""
    found: list[Arrays] = []
    for path in sorted(folder.rglob("*.np[yz]"))[:count]:
        loaded = np.load(path, allow_pickle=False)
        arrays = {model.inputs[0].name: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
        found.append({one.name: _fitting(arrays, one, path) for one in model.inputs})
    if not found:
        raise Invalid(
            f"No samples in {folder}.", hint="Save each sample as a .npy file, or as .npz with the names of the inputs."
        )
    return found


def join(samples: Sequence[Arrays], model: ServedModel) -> Arrays:
    """One request's arrays for several samples; for a model without batches, of the only one."""
    if not model.batch:
        return samples[0]
    return {one.name: np.stack([sample[one.name] for sample in samples]) for one in model.inputs}


def _made(one: ModelInput, random: np.random.Generator) -> NDArray[Any]:
    if one.datatype in _NOT_MADE or one.datatype not in DATATYPES:
        raise Invalid(
            f"Input {one.name} of type {one.datatype} cannot be made up.", hint="Give samples: --data DATASET@REF."
        )
    dtype = numpy_type(one.datatype)
    shape = tuple(size if size > 0 else _OPEN for size in one.shape)
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    # Small numbers are valid indices of most vocabularies.
    return random.integers(0, 2 if one.datatype == "BOOL" else 100, shape).astype(dtype)


def _fitting(arrays: Arrays, one: ModelInput, path: Path) -> NDArray[Any]:
    if one.name not in arrays:
        raise Invalid(f"{path.name} has no array {one.name!r}.", hint=f"It has {', '.join(sorted(arrays))}.")
    found = arrays[one.name]
    fits = len(found.shape) == len(one.shape) and all(w in (-1, h) for w, h in zip(one.shape, found.shape, strict=True))
    if one.datatype in _NOT_MADE or one.datatype not in DATATYPES or not fits:
        raise Invalid(
            f"{path.name} does not fit input {one.name}: it is {list(found.shape)}.",
            hint=f"The model wants {one.datatype} {list(one.shape)} for each sample.",
        )
    return np.ascontiguousarray(found.astype(numpy_type(one.datatype), copy=False))
