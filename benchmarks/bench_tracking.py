"""Tracking: our SDK and MLflow's client against Millpond, a server that keeps nothing, and MLflow's own.

Every acknowledged point of ours is fsynced. Pairs are interleaved, the median of their ratios counts. MLflow's server
needs the full `mlflow` package: give its Python as MLFLOW_SERVER_PYTHON, or its numbers are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import httpx
import psutil

from benchmarks.tracking_load import POINTS, RUNS, fill
from millpond.db.engine import Database
from millpond.model.series import Points
from millpond.testing.postgres import running_postgres
from millpond.testing.up import MillUp, environment, mill_up
from millpond.testing.waiting import wait_until
from millpond.wire.points import MEDIA_TYPE, encode_points

HERE = Path(__file__).parent
BATCH = 5000
SDK_LOOP = """
import time, millpond
run = millpond.init()
time.sleep(1)
began = time.perf_counter()
for step in range(100_000):
    run.log_metric("loss", step * 0.5)
print((time.perf_counter() - began) * 10, flush=True)
run.finish()
"""


def main() -> None:
    options = _options()
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millpond-bench-tracking-")))
        database = None
        if options.database == "postgres":
            database = stack.enter_context(stack.enter_context(running_postgres(is_durable=True)).database())
        chosen = ("--db", database) if database else ()
        mill = stack.enter_context(mill_up(work / "data", *chosen))
        null = stack.enter_context(_server([sys.executable, str(HERE / "null_server.py")]))
        peer = stack.enter_context(_mlflow(work))
        url = database or f"sqlite:///{work / 'data' / 'millpond.db'}"
        print(json.dumps(measure(mill, null, peer, url, options)))


def measure(
    mill: MillUp, null: str, peer: str | None, database: str, options: argparse.Namespace
) -> dict[str, float | None]:
    server = psutil.Process(mill.process.pid)
    results: dict[str, float | None] = {"sdk_us_per_metric": _say("SDK, a logged metric", _sdk_loop(mill), "µs")}
    results |= _sdk(mill, null, options.rounds)
    results |= _clients(mill, null, peer, options)
    memory = [server.memory_info().rss]
    db = Database(database)
    fill(db)
    db.close()
    client = mill.client()
    page = {"sort": "metrics.acc desc", "columns": "metrics.acc, params.lr", "limit": "100"}
    chart = {"runs": RUNS, "keys": ["curve"], "limit": 1000}
    listed = _best(lambda: client.get("/projects/default/runs", params=page))
    results["list_100k_ms"] = _say("first page of 100,000 runs by a metric", listed, "ms")
    drawn = _best(lambda: client.post("/projects/default/runs/metrics", json=chart))
    results["chart_ms"] = _say(f"chart of {len(RUNS)} runs × {POINTS} points", drawn, "ms")
    memory.append(server.memory_info().rss)
    results["server_rss_mb"] = _say("server memory", max(memory) / 1e6, "MB")
    return results


def _sdk(mill: MillUp, null: str, rounds: int) -> dict[str, float | None]:
    """Batches as our SDK sends them, encoded beforehand."""
    client, nothing = mill.client(), httpx.Client(base_url=null, trust_env=False)
    run = client.post("/projects/default/runs", json={}).json()["id"]
    ours, floor = [], []
    for number in range(rounds):
        bodies = [_batch(number * 20 + place) for place in range(20)]
        ours.append(_rate(lambda b=bodies: [_sent(client, f"/projects/default/runs/{run}/batch", one) for one in b]))
        floor.append(_rate(lambda b=bodies: [_sent(nothing, "/", one) for one in b]))
    ratio = median(mine / best for mine, best in zip(ours, floor, strict=True))
    return {
        "sdk_points_per_s": _say("SDK's batches", median(ours), "points/s"),
        "sdk_over_null": _say("  over the server that keeps nothing", ratio, "×"),
    }


def _clients(mill: MillUp, null: str, peer: str | None, options: argparse.Namespace) -> dict[str, float | None]:
    """MLflow's client: one number a call, and a thousand."""
    client = mill.client()
    token = client.headers["Authorization"].partition(" ")[2]
    run = client.post("/projects/default/runs", json={}).json()["id"]
    theirs = _peer_run(peer) if peer else ""
    found: dict[str, list[dict[str, float]]] = {"ours": [], "null": [], "peer": []}
    for _ in range(options.rounds):
        found["ours"].append(_calls(f"{mill.url}/mlflow/default", run, options, token))
        found["null"].append(_calls(null, run, options, "x"))
        if peer:
            found["peer"].append(_calls(peer, theirs, options, "x"))
    results: dict[str, float | None] = {}
    for kind, unit in (("single", "calls/s"), ("batch", "points/s")):
        _say(f"MLflow's client, {kind}", median(one[kind] for one in found["ours"]), unit)
        for name, against in (("over_null", "null"), ("vs_mlflow", "peer")):
            pairs = list(zip(found["ours"], found[against], strict=False))
            ratio = median(mine[kind] / other[kind] for mine, other in pairs) if pairs else None
            results[f"{kind}_{name}"] = None if ratio is None else _say(f"  {name}", ratio, "×")
    return results


def _calls(uri: str, run: str, options: argparse.Namespace, token: str) -> dict[str, float]:
    said = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_TRACKING_TOKEN": token, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    command = [os.environ.get("MLFLOW_PYTHON", sys.executable), str(HERE / "mlflow_calls.py"), run]
    command += [str(options.singles), str(options.batches)]
    done = subprocess.run(command, env={**os.environ, **said}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"MLflow's client failed against {uri}:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _peer_run(peer: str) -> str:
    answer = httpx.post(f"{peer}/api/2.0/mlflow/runs/create", json={"experiment_id": "0"}, trust_env=False)
    found: str = answer.json()["run"]["info"]["run_id"]
    return found


def _sdk_loop(mill: MillUp) -> float:
    done = subprocess.run(
        [sys.executable, "-c", SDK_LOOP], env=environment(mill.home), capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _batch(number: int) -> bytes:
    steps = range(number * BATCH, (number + 1) * BATCH)
    dice = random.Random(number)
    # As `loss.item()` gives them: of single precision.
    losses = array("f", (dice.random() for _ in steps))
    return encode_points("bench", number, {"loss": Points.of(steps, losses, steps)})


def _sent(client: httpx.Client, path: str, body: bytes) -> None:
    client.post(path, content=body, headers={"Content-Type": MEDIA_TYPE}).raise_for_status()


def _rate(send: Callable[[], object]) -> float:
    started = time.perf_counter()
    send()
    return 20 * BATCH / (time.perf_counter() - started)


def _best(ask: Callable[[], httpx.Response]) -> float:
    """Milliseconds; the best of five."""
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        ask().raise_for_status()
        taken.append((time.perf_counter() - started) * 1000)
    return min(taken)


@contextmanager
def _server(command: list[str], *options: str, ready: str = "/") -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*command, str(port), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(url + ready, trust_env=False).status_code < 500
        except httpx.HTTPError:
            return False

    try:
        wait_until(answers, within=90.0, what="the server")
        yield url
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _mlflow(work: Path) -> Iterator[str | None]:
    python = os.environ.get("MLFLOW_SERVER_PYTHON")
    if not python:
        print("MLflow's server is left out: MLFLOW_SERVER_PYTHON is not set", file=sys.stderr)
        yield None
        return
    store = ("--backend-store-uri", f"sqlite:///{work / 'mlflow.db'}", "--workers", "1")
    with _server([python, "-m", "mlflow", "server", "--port"], *store, ready="/health") as url:
        yield url


def _say(what: str, number: float, unit: str) -> float:
    print(f"{what:<50} {number:>12,.2f} {unit}", file=sys.stderr)
    return round(number, 3)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--singles", type=int, default=300)
    parser.add_argument("--batches", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
