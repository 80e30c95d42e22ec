"""What a folder holds for a model, cut into pieces that are predicted, kept and resumed one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TABLES = frozenset({".parquet", ".csv"})
ARRAYS = frozenset({".npy", ".npz"})
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
KINDS = TABLES | ARRAYS | IMAGES
# Small files share a piece: a file of predictions for each image would be slower than the model.
FILES_PER_PIECE = 256


@dataclass(frozen=True, slots=True)
class Piece:
    """Files that are predicted together. `number` is the same whenever the same folder is cut again."""

    number: int
    paths: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"part-{self.number:06d}.parquet"


def cut(folder: Path, shard: int = 0, shards: int = 1) -> list[Piece]:
    """The pieces of one shard. Every file of the folder is in exactly one piece of exactly one shard."""
    pieces = [Piece(number, paths) for number, paths in enumerate(_grouped(_files(folder)))]
    return pieces[shard::shards]


def skipped(folder: Path) -> list[str]:
    """Files that no model can be asked about."""
    return [path for path in _all(folder) if Path(path).suffix.lower() not in KINDS]


def _grouped(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    small: list[str] = []
    for path in paths:
        if Path(path).suffix.lower() in TABLES:
            yield (path,)
            continue
        small.append(path)
        if len(small) == FILES_PER_PIECE:
            yield tuple(small)
            small = []
    if small:
        yield tuple(small)


def _files(folder: Path) -> list[str]:
    return [path for path in _all(folder) if Path(path).suffix.lower() in KINDS]


def _all(folder: Path) -> list[str]:
    """Paths of files below the folder, in order. Hidden ones are not data."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if not any(part.startswith(".") for part in path.parts))
