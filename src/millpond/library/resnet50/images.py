"""The images of a folder with one folder per class, as batches. Which image comes when depends on the seed alone."""

from __future__ import annotations

import hashlib
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import step
import torch
from PIL import Image, UnidentifiedImageError

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}


@dataclass(frozen=True)
class Images:
    """Files with the number of their class."""

    root: Path
    classes: tuple[str, ...]
    files: tuple[tuple[str, int], ...]

    def __len__(self) -> int:
        return len(self.files)

    def of(self, files: Sequence[tuple[str, int]]) -> Images:
        return Images(self.root, self.classes, tuple(files))

    def counts(self) -> dict[str, int]:
        found = dict.fromkeys(self.classes, 0)
        for _, label in self.files:
            found[self.classes[label]] += 1
        return found


def find_images(root: Path, classes: Sequence[str] | None = None) -> Images:
    """All images. `classes`: those that are known already; an image of another class is a problem."""
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    for path in sorted(root.iterdir()):
        if not path.is_dir() and not path.name.startswith("."):
            step.say(f"left out: {path.name} lies among the class folders and belongs to no class")
    found = {folder.name: _inside(root, folder) for folder in folders}
    names = tuple(classes) if classes is not None else tuple(name for name, files in found.items() if files)
    for name, files in found.items():
        if files and name not in names:
            raise step.Problem(f"Class {name!r} of data_test is not among those to train with: {', '.join(names)}")
    if len(names) < 2:
        raise step.Problem(f"{root} has {len(names)} classes with images: expected at least 2 folders, one per class.")
    return Images(root, names, tuple((file, names.index(name)) for name in names for file in found.get(name, ())))


def _inside(root: Path, folder: Path) -> list[str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(root)) for path in files if path.suffix.lower() in SUFFIXES]


def split(images: Images, val_size: float, seed: int) -> tuple[Images, Images]:
    """Training and validation, class by class; the same for the same files and seed."""
    by_class: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for file, label in images.files:
        by_class[label].append((file, label))
    train, val = [], []
    for files in by_class.values():
        ordered = sorted(files, key=lambda one: hashlib.blake2b(f"{seed}\0{one[0]}".encode()).digest())
        count = min(round(len(files) * val_size), len(files) - 1)
        val += ordered[:count]
        train += ordered[count:]
    return images.of(sorted(train)), images.of(sorted(val))


@dataclass(frozen=True)
class Reading:
    """How images become tensors."""

    height: int
    width: int
    color: str
    augment: bool = False

    @property
    def channels(self) -> int:
        return 1 if self.color == "grayscale" else 3

    def read(self, path: Path) -> np.ndarray:
        try:
            with Image.open(path) as image:
                small = image.convert("L" if self.channels == 1 else "RGB").resize((self.width, self.height))
        except (OSError, UnidentifiedImageError, ValueError) as error:
            raise step.Problem(
                f"Cannot read {path}: {error}. Find all of them with the component image-folder-check."
            ) from None
        return np.asarray(small, dtype=np.uint8).reshape(self.height, self.width, self.channels)

    def batch(self, images: Images, numbers: Sequence[int], randomness: np.random.Generator | None = None) -> Batch:
        """Values from 0 to 1; moved at random if there is randomness."""
        pixels = np.stack([self.read(images.root / images.files[number][0]) for number in numbers])
        if self.augment and randomness is not None:
            pixels = np.stack([_moved(image, randomness) for image in pixels])
        values = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(255)
        return values, torch.tensor([images.files[number][1] for number in numbers])


Batch = tuple[torch.Tensor, torch.Tensor]


def _moved(image: np.ndarray, randomness: np.random.Generator) -> np.ndarray:
    """Flipped half of the time, shifted by up to an eighth."""
    if randomness.random() < 0.5:
        image = image[:, ::-1]
    down, right = (int(randomness.integers(-side // 8, side // 8 + 1)) for side in image.shape[:2])
    return np.roll(image, (down, right), axis=(0, 1))


def epoch_steps(count: int, batch_size: int, steps: int | None) -> int:
    return steps or max(1, count // batch_size)


def orders(count: int, batch_size: int, steps: int, *, seed: int, epoch: int) -> Iterator[np.ndarray]:
    """The images of every step of an epoch. Each is used once before any is used again."""
    rounds = math.ceil(steps * batch_size / count)
    numbers = np.concatenate([np.random.default_rng((seed, epoch, turn)).permutation(count) for turn in range(rounds)])
    for number in range(steps):
        yield numbers[number * batch_size : (number + 1) * batch_size]


def read_ahead(calls: Iterator[tuple]) -> Iterator[Batch]:
    """`(reading, images, numbers, randomness)` as batches; the next ones are read while one is used."""
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as threads:
        waiting: list[Future[Batch]] = []
        for reading, *arguments in calls:
            waiting.append(threads.submit(reading.batch, *arguments))
            if len(waiting) > 3:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()
