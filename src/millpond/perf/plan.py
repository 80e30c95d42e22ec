"""What one run of LoadGen is told, and what it answers; both travel as JSON between two processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millpond.model.mlperf import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """One run of LoadGen against one server."""

    url: str
    protocol: str
    model: str
    scenario: Scenario
    # Where LoadGen writes its own files.
    folder: str
    token: str | None = None
    # A folder with samples; None: they are made from the model's inputs.
    data: str | None = None
    samples: int = 64
    seed: int = 7
    # Every sample once, to compare the answers, instead of measuring.
    is_accuracy: bool = False
    # LoadGen's own durations and counts, which are those of a submission.
    is_official: bool = False
    seconds: float = 3.0
    streams: int = 1
    queries_per_second: float = 0.0
    within_ms: float | None = None
    # Requests under way at once, where the scenario has more than one.
    requests_at_once: int = 4

    def to_document(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "scenario": self.scenario.value}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> LoadPlan:
        return cls(**{**document, "scenario": Scenario(document["scenario"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What LoadGen said of one run. `value` is what the scenario reports, None if it reports nothing."""

    scenario: Scenario
    is_valid: bool
    value: float | None
    p50_ms: float | None = None
    p90_ms: float | None = None
    p99_ms: float | None = None
    samples_per_second: float | None = None
    # Requests that failed, and what the first of them said.
    errors: int = 0
    problem: str = ""
    # Of the client: how long loading the samples took, and its processor time while it measured.
    load_seconds: float = 0.0
    client_cpu_seconds: float = 0.0
    seconds: float = 0.0
    # Lines in which LoadGen explains why a result is invalid.
    why: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "scenario": self.scenario.value, "why": list(self.why)}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> LoadResult:
        return cls(**{**document, "scenario": Scenario(document["scenario"]), "why": tuple(document["why"])})
