"""The table of places a job may run at, with what each costs."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.cli.output import Output
from millpond.model.quantity import format_bytes, format_seconds
from millpond.wire.jobs import PlaceScore

_HEADINGS = ("", "PLACE", "SITE", "TEMPLATE", "WAIT", "FILL", "COMPUTE", "EGRESS", "SCORE", "")


def show_scores(out: Output, places: Sequence[PlaceScore]) -> None:
    """Lines of a table, the best first; the place that was chosen has a star. Nothing where there was no choice."""
    if len(places) < 2 and not any(place.score for place in places):
        return
    rows = [_HEADINGS, *(_cells(place) for place in places)]
    columns = [index for index in range(len(_HEADINGS)) if any(row[index] for row in rows[1:])]
    widths = {index: max(len(row[index]) for row in rows) for index in columns}
    for row in rows:
        out.line("  ".join(f"{row[index]:<{widths[index]}}" for index in columns).rstrip())


def _cells(place: PlaceScore) -> tuple[str, ...]:
    fill = f"{format_bytes(place.missing_bytes)}, {format_seconds(place.fill_seconds)}" if place.missing_bytes else "–"
    return (
        "*" if place.chosen else " ",
        place.place,
        place.site,
        place.template or "",
        "unknown" if place.wait_seconds is None else format_seconds(place.wait_seconds) if place.wait_seconds else "–",
        fill,
        _money(place.compute_cost),
        _money(place.egress_cost),
        "unknown" if place.score is None else _score(place.score),
        place.note or "",
    )


def _score(score: float) -> str:
    """What is worth less than half a second of waiting is 0: nobody compares places by it."""
    return f"{score:.4g}" if abs(score) >= 1e-4 else "0"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount else "–"
