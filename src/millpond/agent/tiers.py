"""The throughput of volumes' tiers: jobs of this agent are kept to it by the kernel, fills by the agent."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.isolation.io_group import IoGroup
from millpond.agent.rates import AgentRates
from millpond.model.quantity import format_rate
from millpond.volumes.block_devices import block_devices
from millpond.wire.observed import TierSeen

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Limited:
    """What was found of a volume when it was looked at last."""

    devices: tuple[str, ...]
    rate: int


class Tiers:
    """`group` limits all jobs of the agent together; None where its driver or kernel cannot. Safe for threads."""

    def __init__(self, group: IoGroup | None = None, rates: AgentRates | None = None) -> None:
        self._group = group
        self._rates = rates or AgentRates()
        self._lock = threading.Lock()
        self._volumes: dict[str, _Limited] = {}

    def apply(self, volume_id: str, root: Path, rate: int | None) -> TierSeen:
        """Let jobs read and write the volume so fast and no faster, from now on; None: as fast as they can.

        Where several volumes share a disk the lowest rate holds for it. OSError where `root` cannot be looked at.
        """
        self._rates.limit_volume(volume_id, rate)
        if self._group is None:
            return TierSeen(by="none", problem="Not enforced: control groups of this agent's jobs do not limit disks.")
        found = block_devices(root)
        with self._lock:
            self._volumes.pop(volume_id, None)
            if rate is not None and found.numbers:
                self._volumes[volume_id] = _Limited(found.numbers, rate)
            problem = self._limit(self._group) if found.numbers else f"Not enforced: {found.problem}."
            if not found.numbers or problem:
                return TierSeen(by="none", problem=problem)
            in_force = min((self._by_device()[one] for one in found.numbers), default=None) if rate else None
        shared = None
        if in_force is not None and in_force != rate:
            shared = f"Its disk holds another volume, whose tier has only {format_rate(in_force)}."
        return TierSeen(by=self._group.by, bytes_per_second=in_force, problem=shared)

    def forget(self, volume_id: str) -> None:
        """The volume is gone: nothing is limited for it any more."""
        self._rates.limit_volume(volume_id, None)
        with self._lock:
            if self._volumes.pop(volume_id, None) and self._group is not None:
                self._limit(self._group)

    def end(self) -> None:
        """Jobs that go on without the agent keep their limits."""
        if self._group is not None:
            self._group.remove()

    def _limit(self, group: IoGroup) -> str | None:
        """Why the kernel does not take the limits; None if it does."""
        try:
            group.limit(self._by_device())
        except OSError as error:
            log.warning("cannot limit disks: %s", error)
            return f"Not enforced: the kernel refuses the limit ({error.strerror or error})."
        return None

    def _by_device(self) -> dict[str, int]:
        rates: dict[str, int] = {}
        for one in self._volumes.values():
            for device in one.devices:
                rates[device] = min(one.rate, rates.get(device, one.rate))
        return rates
