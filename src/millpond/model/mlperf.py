"""MLPerf Inference at the edge as TR-4886 measured it: its six tasks and three scenarios; what was measured here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

# Each measurement is a run of this experiment.
MLPERF_EXPERIMENT = "mlperf"


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


@dataclass(frozen=True, slots=True)
class DocumentFigure:
    """What the document's text says of a figure, whose numbers it shows as a picture alone."""

    shared_to_local: str
    two_to_one: str


DOCUMENT = {
    Scenario.OFFLINE: DocumentFigure("minimal change or none", "twice, within 1 %"),
    Scenario.SINGLE: DocumentFigure("minimal difference or none", "the same, or a very small change"),
    Scenario.MULTI: DocumentFigure("the same", "twice"),
}


@dataclass(frozen=True, slots=True, order=True)
class Setup:
    """Where something was measured. `storage` is local, shared, or "as is" for servers that ran already."""

    protocol: str
    storage: str
    servers: int

    def __str__(self) -> str:
        return f"{self.servers} × {self.storage}, {self.protocol}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One result of LoadGen, and the run that keeps it. `model` is what was measured."""

    run: str
    at: datetime
    task: str
    model: str
    scenario: Scenario
    setup: Setup
    value: float | None
    is_valid: bool
    reason: str = ""
    p99_ms: float | None = None
    ready_seconds: float | None = None
    quality: float | None = None
    is_official: bool = False


@dataclass(frozen=True, slots=True)
class MlperfRow:
    """A task: its results in the order of the table's set-ups, None where it was not run."""

    task: str
    title: str
    # Of the document's task; empty for a task of one's own.
    model: str
    dataset: str
    results: tuple[Measurement | None, ...]
    # Results on shared storage as a ratio to local, and of two servers to one; None until both were measured.
    shared_to_local: float | None = None
    two_to_one: float | None = None


@dataclass(frozen=True, slots=True)
class MlperfTable:
    scenario: Scenario
    setups: tuple[Setup, ...]
    rows: tuple[MlperfRow, ...]


def find_task(name: str) -> Task | None:
    return next((task for task in TASKS if task.name == name), None)
