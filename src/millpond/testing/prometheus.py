"""A real Prometheus for tests, which scrapes servers of this machine every second."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from millpond.testing.daemons import end, find_program, free_port
from millpond.testing.waiting import wait_until

# A scrape may take as long as the time between two.
_EVERY = "1s"


def find_prometheus() -> Path | None:
    return find_program("prometheus")


@dataclass(frozen=True, slots=True)
class Scrape:
    """A job of Prometheus: one server's metrics, read with this token."""

    job: str
    url: str
    token: str
    path: str = "/metrics"


@dataclass
class Prometheus:
    url: str
    _client: httpx.Client

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The vector it is now; a number counts as one. AssertionError for what is no PromQL."""
        answer = self._client.post(f"{self.url}/api/v1/query", data={"query": expr}).json()
        assert answer["status"] == "success", f"{expr}: {answer.get('error')}"
        data = answer["data"]
        return list(data["result"]) if data["resultType"] == "vector" else [{"value": data["result"]}]

    def targets(self) -> dict[str, str]:
        """The last error of each job; empty for one that goes well."""
        found = self._client.get(f"{self.url}/api/v1/targets").json()["data"]["activeTargets"]
        return {one["scrapePool"]: one["lastError"] for one in found}

    def wait_for(self, expr: str) -> None:
        """Until it is not empty."""
        wait_until(lambda: self.query(expr), what=f"{expr} in Prometheus", within=90)


@contextmanager
def running_prometheus(
    directory: Path, scrapes: Sequence[Scrape], *, rules: Path | None = None
) -> Iterator[Prometheus]:
    program = find_prometheus()
    assert program is not None
    config = directory / "prometheus.yml"
    config.write_text(json.dumps(_config(scrapes, rules)))
    port = free_port()
    command = [str(program), f"--config.file={config}", f"--storage.tsdb.path={directory / 'prometheus-data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    with (directory / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(trust_env=False, timeout=30) as client:
            found = Prometheus(f"http://127.0.0.1:{port}", client)
            wait_until(lambda: process.poll() is not None or _is_ready(found, client), what="Prometheus", within=60)
            assert process.poll() is None, (directory / "prometheus.log").read_text()
            yield found
    finally:
        end(process)


def _config(scrapes: Sequence[Scrape], rules: Path | None) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": _EVERY, "scrape_timeout": _EVERY, "evaluation_interval": "1s"},
        "rule_files": [str(rules)] if rules else [],
        "scrape_configs": [
            {
                "job_name": one.job,
                "metrics_path": one.path,
                "authorization": {"credentials": one.token},
                "static_configs": [{"targets": [urlsplit(one.url).netloc]}],
            }
            for one in scrapes
        ],
    }


def _is_ready(found: Prometheus, client: httpx.Client) -> bool:
    try:
        return client.get(f"{found.url}/-/ready").status_code == 200
    except httpx.TransportError:
        return False
