"""Short forms for families of metrics. Each family is told at every scrape, also without a sample:
docs/reference/metrics.md is made from what collectors tell of an empty server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

Rows = Iterable[tuple[Sequence[str], float | None]]


def gauge(name: str, text: str, labels: Sequence[str] = (), rows: Rows = ()) -> GaugeMetricFamily:
    """Rows without a value are left out."""
    family = GaugeMetricFamily(f"millpond_{name}", text, labels=labels)
    for values, number in rows:
        if number is not None:
            family.add_metric(values, number)
    return family


def counter(name: str, text: str, labels: Sequence[str] = (), rows: Rows = ()) -> CounterMetricFamily:
    """`name` is without `_total`."""
    family = CounterMetricFamily(f"millpond_{name}", text, labels=labels)
    for values, number in rows:
        if number is not None:
            family.add_metric(values, number)
    return family


def one(name: str, text: str, value: float | None) -> GaugeMetricFamily:
    """A gauge without labels; without a sample where the value is not known."""
    return gauge(name, text, (), [] if value is None else [((), value)])


def by_key(found: Mapping[str, float], known: Iterable[str] = ()) -> Rows:
    """By key, with 0 for those that are `known` and not found: rules can tell none from no answer."""
    return [((key,), number) for key, number in sorted({**dict.fromkeys(known, 0), **found}.items())]
