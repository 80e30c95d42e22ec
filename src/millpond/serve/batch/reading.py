"""Reads samples from files: rows of tables, arrays, images, as the inputs that a model wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..config import ModelConfig, TensorConfig
from ..errors import ServeError
from ..tensors import numpy_type
from .pieces import ARRAYS, IMAGES

Array = np.ndarray[Any, np.dtype[Any]]
# Rows of a table that are in memory at once.
ROWS = 8192


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples of one file: an array for each input, whose first dimension counts them; `first` is the first's row."""

    source: str
    first: int
    inputs: Mapping[str, Array]

    @property
    def count(self) -> int:
        return len(next(iter(self.inputs.values())))


def read(folder: Path, path: str, config: ModelConfig, columns: Sequence[str] = ()) -> Iterator[Samples]:
    """Samples of a file. ServeError says what does not fit; OSError and ValueError that it cannot be read."""
    suffix = Path(path).suffix.lower()
    if suffix in IMAGES:
        yield Samples(path, 0, {_only(config, path).name: _image(folder / path, _only(config, path))[np.newaxis]})
    elif suffix in ARRAYS:
        yield _arrays(folder / path, path, config)
    else:
        for first, table in _tables(folder / path):
            yield Samples(path, first, _from_table(table, config, columns, path))


def _only(config: ModelConfig, path: str) -> TensorConfig:
    required = [one for name, one in config.inputs.items() if name in config.required_inputs]
    if len(required) != 1:
        names = ", ".join(one.name for one in required)
        raise ServeError(400, f"{path} holds one input, and the model wants {names}: use .npz or a table")
    return required[0]


def _arrays(file: Path, path: str, config: ModelConfig) -> Samples:
    loaded = np.load(file, allow_pickle=False)
    named = {_only(config, path).name: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    found: dict[str, Array] = {}
    for name, wanted in config.inputs.items():
        if name not in named:
            if name in config.required_inputs:
                raise ServeError(400, f"{path} has no array '{name}'; it has {', '.join(sorted(named))}")
            continue
        array = named[name].astype(numpy_type(wanted.datatype), copy=False)
        # A file of one sample, or of many: told apart by one dimension more.
        found[name] = array[np.newaxis] if array.ndim == len(wanted.dims) else array
    if len({len(array) for array in found.values()}) != 1:
        raise ServeError(400, f"{path}: arrays have different numbers of samples")
    return Samples(path, 0, found)


def _image(file: Path, wanted: TensorConfig) -> Array:
    """An image of the size and layout that the input has: channels first or last, numbers from 0 to 1 or to 255."""
    from PIL import Image  # noqa: PLC0415 - only where there are images

    height, width, channels, is_first = _layout(wanted)
    with Image.open(file) as opened:
        image = opened.convert("L" if channels == 1 else "RGB")
        pixels = np.asarray(image if height < 0 else image.resize((width, height)))
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    if is_first:
        pixels = pixels.transpose(2, 0, 1)
    dtype = numpy_type(wanted.datatype)
    if np.issubdtype(dtype, np.floating):
        return (pixels / 255.0).astype(dtype)
    return np.ascontiguousarray(pixels, dtype=dtype)


def _layout(wanted: TensorConfig) -> tuple[int, int, int, bool]:
    """Height, width, channels, and whether channels come first."""
    dims = wanted.dims
    if len(dims) == 3 and dims[0] in (1, 3):
        return dims[1], dims[2], dims[0], True
    if len(dims) == 3 and dims[2] in (1, 3):
        return dims[0], dims[1], dims[2], False
    raise ServeError(400, f"input '{wanted.name}' of shape {list(dims)} is no image: use arrays or a table")


def _tables(file: Path) -> Iterator[tuple[int, Any]]:
    """Parts of a table, with the number of their first row."""
    first = 0
    if file.suffix.lower() == ".csv":
        import pyarrow.csv  # noqa: PLC0415 - only where there are tables

        batches: Any = pyarrow.csv.open_csv(file)
    else:
        import pyarrow.parquet  # noqa: PLC0415 - only where there are tables

        batches = pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=ROWS)
    for batch in batches:
        for at in range(0, batch.num_rows, ROWS):
            part = batch.slice(at, ROWS)
            yield first + at, part
        first += batch.num_rows


def _from_table(table: Any, config: ModelConfig, columns: Sequence[str], path: str) -> dict[str, Array]:
    names = list(table.schema.names)
    required = [config.inputs[name] for name in config.inputs if name in config.required_inputs]
    if len(required) == 1 and (columns or required[0].name not in names):
        return {required[0].name: _features(table, required[0], columns or _numeric(table), path)}
    found = {}
    for wanted in config.inputs.values():
        if wanted.name in names:
            found[wanted.name] = _column(table, wanted, path)
        elif wanted.name in config.required_inputs:
            raise ServeError(400, f"{path} has no column '{wanted.name}'; it has {', '.join(names)}")
    return found


def _numeric(table: Any) -> list[str]:
    import pyarrow.types as types  # noqa: PLC0415 - only where there are tables

    kinds = (types.is_integer, types.is_floating, types.is_boolean)
    return [field.name for field in table.schema if any(kind(field.type) for kind in kinds)]


def _features(table: Any, wanted: TensorConfig, columns: Sequence[str], path: str) -> Array:
    """Columns beside each other as one vector for each row."""
    missing = [name for name in columns if name not in table.schema.names]
    if missing:
        raise ServeError(400, f"{path} has no column '{missing[0]}'; it has {', '.join(table.schema.names)}")
    size = wanted.dims[0] if len(wanted.dims) == 1 else None
    if size is None or (size >= 0 and size != len(columns)):
        raise ServeError(
            400,
            f"input '{wanted.name}' wants {list(wanted.dims)}, and {path} has {len(columns)} columns of numbers "
            f"({', '.join(columns[:20])}): choose with --columns",
        )
    dtype = numpy_type(wanted.datatype)
    return np.stack([table.column(name).to_numpy(zero_copy_only=False).astype(dtype) for name in columns], axis=1)


def _column(table: Any, wanted: TensorConfig, path: str) -> Array:
    values = table.column(wanted.name).to_pylist()
    if wanted.datatype == "BYTES":
        texts = [value if isinstance(value, bytes) else str(value).encode() for value in values]
        return np.array(texts, dtype=object).reshape(len(texts), *([1] * len(wanted.dims)))
    try:
        array = np.array(values, dtype=numpy_type(wanted.datatype))
    except (TypeError, ValueError) as error:
        raise ServeError(400, f"{path}: column '{wanted.name}' is not {wanted.datatype}: {error}") from error
    if array.ndim == 1 and len(wanted.dims) == 1:
        array = array[:, np.newaxis]
    return array
