"""All placements of this agent: started when listed, adopted after a restart, forgotten when no longer listed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from millpond.agent import scratch, service_folder
from millpond.agent.drivers import EngineAway
from millpond.agent.placement import Placement, PlacementWorld
from millpond.agent.spec import SPEC, read_spec
from millpond.agent.threads import in_thread
from millpond.wire.desired import DesiredPlacement
from millpond.wire.observed import PlacementSeen

log = logging.getLogger(__name__)


class Placements:
    def __init__(self, directory: Path, world: PlacementWorld) -> None:
        self._directory = directory
        self._world = world
        self._known: dict[str, Placement] = {}
        self._unlisted: set[str] = set()

    def adopt(self) -> None:
        """Adopt what an earlier agent left: prepared placements continue, incomplete directories are removed."""
        for path in sorted(self._directory.iterdir()):
            if (path / SPEC).exists():
                log.info("adopting: placement=%s", path.name)
                self._known[path.name] = Placement(path.name, path, self._world)
            else:
                shutil.rmtree(path)

    def reconcile(self, desired: Sequence[DesiredPlacement], moment: float, epoch: float | None = None) -> None:
        """Carry out the server's wishes; `moment` is the boot time at which it was asked for them, `epoch` what its
        clock showed when that was zero."""
        wanted = {placement.id: placement for placement in desired}
        self._unlisted = self._known.keys() - wanted.keys()
        for placement_id, placement in wanted.items():
            if placement_id not in self._known:
                self._known[placement_id] = Placement(placement_id, self._directory / placement_id, self._world)
            self._known[placement_id].want(placement, moment, epoch)
        for placement_id in self._unlisted:
            self._known[placement_id].want(None, moment)

    async def forget(self) -> None:
        """Remove what is neither wanted nor running. A directory without its spec is never adopted."""
        over = {
            key: self._known[key] for key in sorted(self._unlisted & self._known.keys()) if self._known[key].is_over
        }
        if over:
            for placement_id in await in_thread(partial(self._remove_all, list(over.values()))):
                del self._known[placement_id]

    def _remove_all(self, over: Sequence[Placement]) -> list[str]:
        """Remove directories; return those that are gone. One thread for all, which is cheaper than one each."""
        gone: list[str] = []
        for placement in over:
            try:
                self._remove(placement.directory)
            except EngineAway as error:
                log.info("cannot remove yet: placement=%s %s", placement.id, error)
            else:
                gone.append(placement.id)
        return gone

    def _remove(self, directory: Path) -> None:
        spec = read_spec(directory)
        if spec is not None:
            self._world.driver.forget(directory)
            if spec.asked.service is not None:
                service_folder.forget(directory, spec.account)
            if spec.scratch is not None:
                scratch.remove(spec.scratch)
        (directory / SPEC).unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)

    def nudge(self) -> None:
        for placement in self._known.values():
            placement.nudge()

    def seen(self) -> list[PlacementSeen]:
        return [placement.seen() for key, placement in sorted(self._known.items()) if key not in self._unlisted]

    def end(self) -> None:
        """Stop handling all placements; the keepers stay."""
        for placement in self._known.values():
            placement.end()
