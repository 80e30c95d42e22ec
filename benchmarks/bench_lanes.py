"""Training of the component `lane-detection` in one and two processes, each pinned to a core of its own; and in three,
whose losses are those of one.

The same pictures, batches and epochs each time, so that the time of a training is what is compared, as in TR-4896: one
GPU there took 12 h 45, three took 4 h 30.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from millpond.library import catalog
from millpond.library.catalog import load_component

COMPONENT = Path(catalog.__file__).parent / "lane-detection"
TR_4896 = {1: 12.75, 3: 4.5}
BATCH = 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=480)
    parser.add_argument("--epochs", type=int, default=3, help="the first one is not counted")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("Two processes need two cores.")
    params = {name: one.default for name, one in load_component(COMPONENT).params.items()}
    params |= {"pictures": options.pictures, "val_pictures": 0, "batch_size": BATCH, "epochs": options.epochs}
    speeds: dict[int, list[float]] = {1: [], 2: []}
    losses: dict[int, list[float]] = {}
    print(f"load before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")
    for _ in range(options.rounds):
        for count in speeds:
            history = train(params, [[core] for core in cores[:count]])
            speeds[count].append(statistics.median(one["pictures_per_s"] for one in history[1:]))
            losses[count] = [one["loss"] for one in history]
    losses[3] = [one["loss"] for one in train(params, [cores] * 3)]
    report(speeds, losses)


def train(params: dict[str, Any], cores: list[list[int]]) -> list[dict[str, float]]:
    """The history of a training by one process for each set of cores."""
    with tempfile.TemporaryDirectory(prefix="bench-lanes-") as name, socket.create_server(("127.0.0.1", 0)) as server:
        work, port = Path(name), server.getsockname()[1]
        server.close()
        for folder in ("output", "checkpoint"):
            (work / folder).mkdir()
        (work / "params.json").write_text(json.dumps(params))
        env = os.environ | {
            "MILL_PARAMS": f"{work}/params.json", "MILL_OUTPUT": f"{work}/output", "MILL_VALUES": f"{work}/values.json",
            "MILL_CHECKPOINT": f"{work}/checkpoint", "WORLD_SIZE": str(len(cores)), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        started = [start(env | {"RANK": str(rank)}, mine) for rank, mine in enumerate(cores)]
        codes = [process.wait() for process in started]
        if any(codes):
            raise SystemExit(f"The training failed: {codes}")
        history: list[dict[str, float]] = json.loads((work / "output/metrics/metrics.json").read_text())["history"]
    return history


def start(env: dict[str, str], cores: list[int]) -> subprocess.Popen[bytes]:
    command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-m", "train"]
    return subprocess.Popen(command, cwd=COMPONENT, env=env, stdout=subprocess.DEVNULL)


def report(speeds: dict[int, list[float]], losses: dict[int, list[float]]) -> None:
    medians = {count: statistics.median(found) for count, found in speeds.items()}
    gain = medians[2] / medians[1]
    apart = max(abs(one - three) / one for one, three in zip(losses[1], losses[3], strict=True))
    print(f"{'processes':>10} {'pictures/s':>11} {'speed':>6}")
    for count, speed in medians.items():
        print(f"{count:>10} {speed:>11.1f} {speed / medians[1]:>6.2f}")
    print(f"TR-4896, three GPUs over one: {TR_4896[1] / TR_4896[3]:.2f} (12 h 45 → 4 h 30)")
    print(f"losses of one process:   {[round(loss, 5) for loss in losses[1]]}")
    print(f"losses of three:         {[round(loss, 5) for loss in losses[3]]}")
    said = {
        "date": time.strftime("%Y-%m-%d %H:%M"), "load": os.getloadavg()[0],
        "pictures_per_s_1": medians[1], "pictures_per_s_2": medians[2], "speed_2_over_1": gain,
        "loss_3_over_1_most": apart,
    }  # fmt: skip
    print(json.dumps(said))


if __name__ == "__main__":
    main()
