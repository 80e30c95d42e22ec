"""Chooses the volume of a new workspace when nobody names one, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.model.quantity import format_bytes


@dataclass(frozen=True, slots=True)
class VolumeOption:
    """One volume. `refusal`: why it cannot take the workspace."""

    id: str
    name: str
    free_bytes: int
    refusal: str | None = None
    # Its files lie there, or are cached there.
    has_source: bool = False
    evicts: int = 0
    # Computes that see it: without one, no job could use the workspace.
    computes: int = 0


@dataclass(frozen=True, slots=True)
class PlaceChoice:
    """The best first, and why each of the others cannot take it."""

    ranked: tuple[VolumeOption, ...]
    reasons: tuple[str, ...]
    refused: tuple[str, ...]


def choose_place(options: Sequence[VolumeOption]) -> PlaceChoice:
    """Where its source lies, then where a compute is, then where nothing must be evicted, then the most room."""
    ordered = sorted(options, key=lambda one: one.name)
    refused = tuple(f"{one.name}: {one.refusal}" for one in ordered if one.refusal is not None)
    usable = [one for one in ordered if one.refusal is None]
    ranked = tuple(sorted(usable, key=_rank))
    return PlaceChoice(ranked, _why(ranked) if ranked else (), refused)


def _rank(one: VolumeOption) -> tuple[bool, bool, bool, int, str]:
    return not one.has_source, one.computes == 0, one.evicts > 0, -one.free_bytes, one.name


def _why(ranked: Sequence[VolumeOption]) -> tuple[str, ...]:
    best = ranked[0]
    if best.has_source:
        return (f"on volume {best.name}, where its files are",)
    if len(ranked) == 1:
        return (f"on volume {best.name}, the only one that can take it",)
    return (f"on volume {best.name}, which has {format_bytes(best.free_bytes)} free",)
