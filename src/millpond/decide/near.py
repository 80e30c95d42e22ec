"""Which volumes are near which computes: at the same site, or over a link with enough bandwidth and low latency."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.model.quantity import format_bandwidth
from millpond.model.topology import GBIT, Link


@dataclass(frozen=True, slots=True)
class NearRule:
    """A link is near with at least this bandwidth and, if its latency is known, at most this latency."""

    bits_per_second: int = 10 * GBIT
    latency_ms: float = 5.0


@dataclass(frozen=True, slots=True)
class Nearness:
    near: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Serves:
    """Whether jobs of a compute may use a volume: it is near, and the compute's agent can use it."""

    near: bool
    seen: bool
    reason: str

    @property
    def serves(self) -> bool:
        return self.near and self.seen


@dataclass(frozen=True, slots=True)
class Look:
    """What the compute's agent found at the volume's path; `problem` is None if there is none."""

    problem: str | None = None


def nearness(a: str, b: str, link: Link | None, rule: NearRule) -> Nearness:
    """Nearness of two sites by name; `link` is the link between them, if known."""
    if a == b:
        return Nearness(True, f"both are at site {a}")
    if link is None:
        return Nearness(False, f"no link between {a} and {b} is configured")
    if link.bits_per_second is None:
        return Nearness(False, f"the bandwidth of the link between {a} and {b} is not set")
    speed = format_bandwidth(link.bits_per_second)
    way = f"{a} and {b} are linked by {speed}"
    if link.bits_per_second < rule.bits_per_second:
        return Nearness(False, f"{way}, less than {format_bandwidth(rule.bits_per_second)}")
    if link.latency_ms is not None and link.latency_ms > rule.latency_ms:
        return Nearness(False, f"{way}, but with {link.latency_ms:g} ms of latency, more than {rule.latency_ms:g} ms")
    return Nearness(True, way)


def serves(volume: str, compute: str, near: Nearness, look: Look | None, *, same_site: bool) -> Serves:
    """`look` is None until the agent has reported, or while it is away.

    A volume of the compute's own site counts as usable until its agent reports otherwise, within seconds.
    """
    if look is not None and look.problem is not None:
        return Serves(near.near, False, f"{compute} cannot use {volume}: {look.problem}")
    if look is None and not same_site:
        return Serves(near.near, False, f"{near.reason}; {compute} does not have {volume} mounted")
    return Serves(near.near, True, near.reason)
