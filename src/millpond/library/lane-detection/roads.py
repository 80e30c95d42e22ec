"""Pictures of roads and where their lanes are: drawn by this component, or read in TuSimple's layout."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import step
from PIL import Image

LANES = 4
# Of TuSimple's pictures, whose lanes count as found within so many pixels.
TUSIMPLE_WIDTH, NEAR_PIXELS = 1280, 20
# A lane has this share of the width of a picture, at the bottom.
_LANE_WIDTH = 0.035


class Roads(Protocol):
    """Numbered pictures, always the same for the same number."""

    def __len__(self) -> int: ...

    def picture(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Values from 0 to 1, `[3, height, width]`; and of each lane the column it has in each row, `[LANES, height]`,
        below 0 where it has none."""
        ...


@dataclass(frozen=True)
class DrawnRoads:
    """A straight or curved road in perspective with two to four lines, some dashed, under changing light, with shadows
    and noise. Drawn, and not taken by a camera: what is learned from them says nothing about real roads."""

    count: int
    height: int
    width: int
    seed: int

    def __len__(self) -> int:
        return self.count

    def picture(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng((self.seed, number))
        rows = np.arange(self.height)
        horizon = int(self.height * random.uniform(0.25, 0.4))
        # 0 at the horizon, 1 at the bottom.
        near = np.clip((rows - horizon) / (self.height - 1 - horizon), 0, None)
        columns = self._columns(random, near)
        columns[:, rows <= horizon] = -1
        columns[(columns < 0) | (columns >= self.width)] = -1
        values = self._background(random, near)
        for lane in columns:
            self._draw(random, values, lane, near)
        values += random.normal(0, 0.03, values.shape).astype(np.float32)
        return np.clip(values, 0, 1), columns

    def _columns(self, random: np.random.Generator, near: np.ndarray) -> np.ndarray:
        """From left to right; the lines of a road meet at the horizon."""
        middle = self.width * random.uniform(0.4, 0.6)
        bend = self.width * random.uniform(-0.25, 0.25)
        gap = random.uniform(0.5, 0.7)
        places = (np.arange(LANES) - (LANES - 1) / 2 + random.uniform(-0.3, 0.3)) * gap * self.width
        columns = middle + places[:, None] * near + bend * near * (1 - near)
        count = int(random.integers(2, LANES + 1))
        first = int(random.integers(0, LANES - count + 1))
        columns[np.arange(LANES) < first] = -1
        columns[np.arange(LANES) >= first + count] = -1
        return columns.astype(np.float32)

    def _background(self, random: np.random.Generator, near: np.ndarray) -> np.ndarray:
        sky, road = random.uniform(0.5, 0.9, 3), np.full(3, random.uniform(0.2, 0.45))
        rows = np.where(near[None] > 0, road[:, None] * (0.8 + 0.3 * near[None]), sky[:, None])
        values = np.repeat(rows[:, :, None], self.width, axis=2)
        left = int(random.integers(0, self.width))
        values[:, :, left : left + self.width // 4] *= random.uniform(0.6, 1)
        return values.astype(np.float32)

    def _draw(self, random: np.random.Generator, values: np.ndarray, lane: np.ndarray, near: np.ndarray) -> None:
        distance = np.abs(np.arange(self.width)[None] - lane[:, None])
        covered = (distance <= np.maximum(0.6, near * _LANE_WIDTH * self.width / 2)[:, None]) & (lane >= 0)[:, None]
        if random.random() < 0.5:
            # Dashes look shorter the farther away they are.
            covered &= (np.sin(6 / (near + 0.15) + random.uniform(0, 6)) > -0.3)[:, None]
        color = np.array([1, 1, random.uniform(0.4, 1)]) * random.uniform(0.75, 1)
        values[:, covered] = color[:, None]


class TuSimpleRoads:
    """`label_data*.json` has a line for each picture: `raw_file`, `h_samples` (rows) and `lanes` (a column for each, -2
    for none)."""

    def __init__(self, folder: Path, height: int, width: int) -> None:
        self.folder, self.height, self.width = folder, height, width
        files = sorted(folder.glob("label_data*.json"))
        if not files:
            raise step.Problem(f"The input roads has no label_data*.json: {folder} is not in TuSimple's layout.")
        lines = [(file, line) for file in files for line in file.read_text("utf-8").splitlines() if line.strip()]
        self.labels = [_label(file, line) for file, line in lines]

    def __len__(self) -> int:
        return len(self.labels)

    def picture(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        label = self.labels[number]
        try:
            with Image.open(self.folder / label["raw_file"]) as image:
                size = image.size
                small = image.convert("RGB").resize((self.width, self.height), Image.Resampling.BILINEAR)
        except OSError as error:
            raise step.Problem(f"Cannot read {label['raw_file']}: {error}") from error
        values = np.asarray(small, dtype=np.float32).transpose(2, 0, 1) / 255
        return values, self._columns(label, size)

    def _columns(self, label: dict[str, Any], size: tuple[int, int]) -> np.ndarray:
        columns = np.full((LANES, self.height), -1, np.float32)
        rows = np.asarray(label["h_samples"]) * self.height / size[1]
        for number, lane in enumerate(_from_left(label["lanes"])):
            seen = np.asarray(lane) >= 0
            across = np.asarray(lane)[seen] * self.width / size[0]
            reach = np.arange(int(np.ceil(rows[seen].min())), min(self.height, int(rows[seen].max()) + 1))
            columns[number, reach] = np.interp(reach, rows[seen], across)
        return columns


def _from_left(lanes: list[list[float]]) -> list[list[float]]:
    """The longest ones, by where they are lowest."""
    seen = [lane for lane in lanes if sum(column >= 0 for column in lane) > 1]
    longest = sorted(seen, key=lambda lane: -sum(column >= 0 for column in lane))[:LANES]
    return sorted(longest, key=lambda lane: [column for column in lane if column >= 0][-1])


def _label(file: Path, line: str) -> dict[str, Any]:
    try:
        label = json.loads(line)
        lengths = {len(lane) for lane in label["lanes"]}
        if not isinstance(label["raw_file"], str) or lengths - {len(label["h_samples"])}:
            raise ValueError("lanes and h_samples differ in length")
    except (ValueError, KeyError, TypeError) as error:
        raise step.Problem(f"{file.name} has a line that is no label of TuSimple: {error}") from error
    return dict(label)


def marked(columns: np.ndarray, width: int) -> np.ndarray:
    """The class of each pixel, `[height, width]`: 0 for none, else the number of its lane, counted from 1."""
    height = columns.shape[1]
    reach = np.maximum(1.0, np.linspace(0, _LANE_WIDTH * width / 2, height))
    near = np.abs(np.arange(width)[None, None] - columns[:, :, None]) <= reach[None, :, None]
    near &= (columns >= 0)[:, :, None]
    return np.where(near.any(0), near.argmax(0) + 1, 0).astype(np.int64)
