"""MLflow's own client against one server: calls a second of `log_metric`, and points a second of `log_batch`.

Run in the environment of the client, with MLFLOW_TRACKING_URI and a run's id; prints one JSON line.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

from mlflow.entities import Metric  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402


def main(run_id: str, singles: int, batches: int) -> None:
    client = MlflowClient()
    client.log_metric(run_id, "warm", 0.0, timestamp=0, step=0)
    started = time.perf_counter()
    for step in range(singles):
        client.log_metric(run_id, "loss", 0.5, timestamp=step, step=step)
    single = singles / (time.perf_counter() - started)
    points = [Metric(f"m{n % 10}", 0.5, n, n) for n in range(1000)]
    started = time.perf_counter()
    for _ in range(batches):
        client.log_batch(run_id, metrics=points)
    batch = batches * len(points) / (time.perf_counter() - started)
    print(json.dumps({"single": single, "batch": batch}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
