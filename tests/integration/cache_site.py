"""Real agents, as processes, on one directory, with a real server in the process of the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from glob import glob
from pathlib import Path
from typing import Any

from millpond.db import caches, volume_sightings, volumes
from millpond.model.dataset import Commit
from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer
from millpond.testing.waiting import wait_until


class CacheSite:
    """A volume `shared` and the agents of its site. They end with the stack."""

    def __init__(
        self,
        root: Path,
        server: RunningServer,
        stack: ExitStack,
        names: Sequence[str],
        volume: Path | None = None,
    ) -> None:
        self.server, self.volume = server, volume or root / "volume"
        self.volume.mkdir(exist_ok=True)
        self.ids: dict[str, str] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._root, self._stack = root, stack
        for name in names:
            self.add(name)
        self._ask("POST", "/volumes", json={"name": "shared", "path": str(self.volume), "site": "local"})
        wait_until(lambda: self.row()["capacity_bytes"] > 0, what="the volume's first look", within=60)
        wait_until(lambda: len(list(self._sights())) == len(names), what="every agent's look", within=60)

    def add(self, name: str) -> None:
        """One more machine of the site."""
        added = add_agent(self.server.deps.db, name, now=self.server.deps.clock.now(), seen=False)
        token = self._root / f"{name}.token"
        token.touch(0o600)
        token.write_text(added.token)
        self.ids[added.agent.id] = name
        self.start(name)

    def is_seen_by(self, name: str) -> bool:
        """True if this machine's agent has looked at the volume."""
        return name in {self.ids[agent_id] for agent_id in self._sights()}

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self.server.url, "--node", name]
        command += ["--token-file", str(self._root / f"{name}.token"), "--state-dir", str(self._root / name)]
        log = self._stack.enter_context((self._root / f"{name}.log").open("ab"))
        self.processes[name] = self._stack.enter_context(subprocess.Popen(command, stderr=log))
        self._stack.callback(self.end, self.processes[name])

    @staticmethod
    def end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    def row(self) -> dict[str, Any]:
        return self._ask("GET", "/volumes/shared")

    def filler(self) -> str:
        with self.server.deps.db.read() as tx:
            found = volumes.find(tx, "shared")
        assert found is not None
        return self.ids.get(found.filler_id or "", "")

    def cache(self, commit: Commit) -> str:
        """Ask for the commit; while it is just leaving, until it may be asked for again. The id of what is cached."""
        asked = {"dataset": f"xray@{commit.id}", "volume": "shared"}
        added = wait_until(
            lambda: self._ask("POST", "/caches", json=asked).get("cached"), what="a commit that may come", within=60
        )
        return str(added["id"])

    def state(self, cached_id: str) -> str:
        with self.server.deps.db.read() as tx:
            found = caches.get(tx, cached_id)
        return found.cached.state.value if found else "gone"

    def wait_for(self, cached_id: str, state: str) -> None:
        wait_until(lambda: self.state(cached_id) == state, what=f"{cached_id} {state}", within=60)

    def clear(self, cached_id: str) -> None:
        self.server.admin.delete(f"/caches/{cached_id}")

    def path(self, commit: Commit) -> Path:
        (found,) = self.volume.glob(f"commits/*/*/{commit.id}")
        return found

    def attempts(self) -> list[str]:
        """Files of attempts. Not by `Path.glob`, which minds when something vanishes meanwhile."""
        return glob(f"{self.volume}/.millpond/attempts/*/tree/*/*")

    def assert_tidy(self) -> None:
        """Nothing is left of any attempt, and nothing is published but what should be."""
        own = self.volume / ".millpond"
        wait_until(lambda: not [*glob(f"{own}/attempts/*"), *glob(f"{own}/trash/*")], what="tidiness", within=60)

    def _sights(self) -> Iterator[str]:
        with self.server.deps.db.read() as tx:
            for agent_id, _ in volume_sightings.all_sights(tx):
                yield agent_id

    def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self.server.admin.request(method, path, **options)
        return dict(answer.json()) if answer.content else {}


def is_whole(path: Path, files: dict[str, bytes]) -> bool:
    found = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    return found == files
