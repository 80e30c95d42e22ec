"""The six tasks of MLPerf Inference at the edge, as TR-4886 measured them, and what was measured of each scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Scenario(Enum):
    SINGLE = "single"
    MULTI = "multi"
    OFFLINE = "offline"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Measure:
    """What a scenario's result is, and how those of several servers become one."""

    title: str
    unit: str
    # "sum", or "mean" over the servers.
    joined: str
    higher_is_better: bool


MEASURES = {
    Scenario.OFFLINE: Measure("Offline", "samples/s", "sum", True),
    Scenario.SINGLE: Measure("Single stream", "ms (p90)", "mean", False),
    Scenario.MULTI: Measure("Multistream", "streams", "sum", True),
    Scenario.SERVER: Measure("Server", "queries/s", "sum", True),
}


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the document's table. `within_ms`: the bound of its multistream scenario; None: it has none."""

    name: str
    title: str
    model: str
    dataset: str
    samples: int
    quality: float = 0.99
    within_ms: float | None = None

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """What the document runs of it."""
        every = (Scenario.OFFLINE, Scenario.SINGLE, Scenario.MULTI)
        return every if self.within_ms is not None else every[:2]


TASKS = (
    Task("image-classification", "Image classification", "ResNet-50 v1.5", "ImageNet 224×224", 1024, within_ms=50.0),
    Task("object-detection-large", "Object detection (large)", "SSD-ResNet-34", "COCO 1200×1200", 64, within_ms=66.0),
    Task("object-detection-small", "Object detection (small)", "SSD-MobileNet v1", "COCO 300×300", 256, within_ms=50.0),
    Task("medical-imaging", "Medical image segmentation", "3D U-Net", "BraTS 2019", 16),
    Task("speech-to-text", "Speech-to-text", "RNN-T", "LibriSpeech dev-clean", 2513),
    Task("language", "Language processing", "BERT", "SQuAD v1.1", 10833),
)

# What the document says of its own figures, whose numbers it shows as pictures alone.
DOCUMENT = {
    Scenario.OFFLINE: "shared storage: minimal change or none; two servers: twice, within 1 %",
    Scenario.SINGLE: "shared storage: minimal difference or none; two servers: the same, or a very small change",
    Scenario.MULTI: "shared storage: the same; two servers: twice",
}


def find_task(name: str) -> Task | None:
    return next((task for task in TASKS if task.name == name), None)
