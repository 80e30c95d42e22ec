"""Many processes: Dask reads in parts, XGBoost trains where they are; on the job's cluster, or on its own workers."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import dask.dataframe as dd
from clicks import LABEL, NUMBERS
from distributed import Client, LocalCluster, wait
from measuring import Engine, peak_bytes, timed
from xgboost import dask as dxgb


def train(folder: Path, params: SimpleNamespace) -> Engine:
    if os.environ.get("DASK_SCHEDULER_ADDRESS"):
        with Client() as client:
            return _train(client, folder, params)
    with (
        LocalCluster(
            n_workers=params.workers, threads_per_worker=1, dashboard_address=None, silence_logs=40
        ) as cluster,
        Client(cluster) as client,
    ):
        return _train(client, folder, params)


def _train(client: Client, folder: Path, params: SimpleNamespace) -> Engine:
    engine = Engine("Dask + XGBoost")
    with timed(engine, "load"):
        files = sorted(str(file) for file in folder.rglob("*.parquet"))
        table = dd.read_parquet(files, columns=[LABEL, *NUMBERS]).fillna(0.0)
        # Enough parts for all, whatever the number of files.
        table = table.repartition(npartitions=max(2, len(files), 2 * len(client.ncores()))).persist()
        wait(table)
        lengths = table.map_partitions(len).compute()
    engine.rows = int(lengths.sum())
    numbers, labels = (table[columns].to_dask_array(lengths=list(lengths)) for columns in (NUMBERS, LABEL))
    tested = max(1, int(engine.rows * params.test_size))
    forest = dxgb.DaskXGBRFClassifier(
        n_estimators=params.trees, max_depth=params.depth, max_bin=params.bins, tree_method="hist",
        random_state=params.seed,
    )  # fmt: skip
    forest.client = client
    with timed(engine, "fit"):
        forest.fit(numbers[:-tested], labels[:-tested])
    predicted = forest.predict(numbers[-tested:]).compute()
    engine.accuracy = float((predicted == labels[-tested:].compute()).mean())
    engine.memory = sum(client.run(peak_bytes).values())
    return engine
