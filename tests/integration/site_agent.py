"""A site with one volume and one agent that runs as a process, at a server in the process of the test."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer
from millpond.testing.waiting import wait_until


class SiteAgent:
    """The compute `gpu` and the volume `disk` of a site; the agent ends with `stack`."""

    def __init__(self, root: Path, server: RunningServer, stack: ExitStack, site: str) -> None:
        self._client = server.admin
        added = add_agent(server.deps.db, "gpu", site=site, now=server.deps.clock.now(), seen=False)
        (root / "token").touch(0o600)
        (root / "token").write_text(added.token)
        (root / "volume").mkdir()
        command = [sys.executable, "-m", "millpond", "agent", "--server", server.url, "--node", "gpu"]
        command += ["--token-file", str(root / "token"), "--state-dir", str(root / "state")]
        log = stack.enter_context((root / "agent.log").open("ab"))
        process = stack.enter_context(subprocess.Popen(command, stderr=log))
        stack.callback(process.kill)
        self.ask("POST", "/volumes", json={"name": "disk", "path": str(root / "volume"), "site": site})
        wait_until(lambda: self.ask("GET", "/volumes/disk")["connected"], what="the volume", within=60)

    def ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self._client.request(method, path, **options)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}
