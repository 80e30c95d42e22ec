"""One run of MLCommons' LoadGen against one server, in a process of its own: LoadGen ends the process on errors.

Reads a LoadPlan as JSON from standard input, says `ready` when the samples are loaded, begins at the next line, and
prints a LoadResult as its last line. So two servers can be measured at the same time.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import mlperf_loadgen as loadgen
import numpy as np
from numpy.typing import NDArray

from millpond.errors import MillError
from millpond.model.mlperf import Scenario
from millpond.perf.clients import ServerClient, connect
from millpond.perf.plan import LoadPlan, LoadResult
from millpond.perf.samples import Arrays, ServedModel, join, made_samples, read_samples
from millpond.perf.summary import read_summary

_SCENARIOS = {
    Scenario.SINGLE: loadgen.TestScenario.SingleStream,
    Scenario.MULTI: loadgen.TestScenario.MultiStream,
    Scenario.OFFLINE: loadgen.TestScenario.Offline,
    Scenario.SERVER: loadgen.TestScenario.Server,
}
# So many queries are the least from which LoadGen derives its percentiles.
_LEAST_QUERIES = {Scenario.SINGLE: 64, Scenario.MULTI: 662, Scenario.OFFLINE: 1, Scenario.SERVER: 662}
_MS = 1_000_000
_PROBE_SECONDS = 0.3
_FASTER = 3.0


class _Asked:
    """The system under test: hands LoadGen's samples to threads, in requests as large as the model takes."""

    def __init__(self, client: ServerClient, model: ServedModel, samples: Sequence[Arrays], plan: LoadPlan) -> None:
        self._client, self._model, self._samples, self._plan = client, model, samples, plan
        self._waiting: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self.errors, self.problem = 0, ""
        self.answers: dict[int, NDArray[Any]] = {}
        self._single = plan.scenario is Scenario.SINGLE
        count = 1 if self._single else plan.requests_at_once
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def issue(self, queries: list[Any]) -> None:
        if self._single:
            self._ask(queries)  # LoadGen sends the next when this one is answered
            return
        size = max(1, min(self._model.batch, -(-len(queries) // len(self._threads))))
        for at in range(0, len(queries), size):
            self._waiting.put(queries[at : at + size])

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (queries := self._waiting.get()) is not None:
            self._ask(queries)

    def _ask(self, queries: list[Any]) -> None:
        try:
            found = self._client.infer(join([self._samples[one.index] for one in queries], self._model))
            if self._plan.is_accuracy:
                self._keep(queries, next(iter(found.values())))
        except MillError as error:
            # LoadGen waits for every sample: one that failed is answered, counted, and makes the result invalid.
            self.errors += 1
            self.problem = self.problem or str(error)
        loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(one.id, 0, 0) for one in queries])

    def _keep(self, queries: list[Any], output: NDArray[Any]) -> None:
        rows = output if self._model.batch else output[np.newaxis]
        for one, row in zip(queries, rows, strict=True):
            self.answers[one.index] = np.array(row)


def main() -> None:
    plan = LoadPlan.from_document(json.loads(sys.stdin.readline()))
    try:
        result = _measured(plan)
    except MillError as error:
        result = LoadResult(scenario=plan.scenario, is_valid=False, value=None, problem=str(error), errors=1)
    sys.stdout.write(json.dumps(result.to_document()) + "\n")
    sys.stdout.flush()


def _measured(plan: LoadPlan) -> LoadResult:
    began = time.monotonic()
    client = connect(plan.url, plan.protocol, plan.model, plan.token)
    model = client.describe()
    if plan.data is None:
        samples = made_samples(model, plan.samples, plan.seed)
    else:
        samples = read_samples(Path(plan.data), model, plan.samples)
    client.infer(join(samples[:1], model))  # the connection, and a model that loads at its first request
    loaded = time.monotonic() - began
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    batch = samples[: max(1, model.batch)] if plan.scenario is Scenario.OFFLINE else samples[:1]
    rate = _probed(client, model, batch)
    if plan.scenario is Scenario.OFFLINE and not plan.queries_per_second:
        plan = replace(plan, queries_per_second=rate)
    asked = _Asked(client, model, samples, plan)
    result, seconds, cpu = _run(asked, len(samples), plan, rate)
    asked.close()
    if plan.is_accuracy:
        kept = {f"s{index}": answer for index, answer in asked.answers.items()}
        np.savez(Path(plan.folder) / "answers.npz", allow_pickle=False, **kept)
    found = {name: getattr(result, name) for name in result.__slots__}
    is_valid = result.is_valid and not asked.errors
    return LoadResult(
        **{
            **found, "is_valid": is_valid, "errors": asked.errors, "problem": asked.problem, "load_seconds": loaded,
            "seconds": seconds, "client_cpu_seconds": cpu,
        }
    )  # fmt: skip


def _probed(client: ServerClient, model: ServedModel, batch: Sequence[Arrays]) -> float:
    """Samples per second of a few requests: LoadGen prepares as many queries as this rate and the duration need."""
    began, done = time.monotonic(), 0
    while (seconds := time.monotonic() - began) < _PROBE_SECONDS:
        client.infer(join(batch, model))
        done += len(batch)
    return done / seconds


def _run(asked: _Asked, count: int, plan: LoadPlan, rate: float) -> tuple[LoadResult, float, float]:
    folder = Path(plan.folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings, log = _settings(plan, rate), loadgen.LogSettings()
    log.log_output.outdir = str(folder)
    log.log_output.copy_summary_to_stdout = False
    sut = loadgen.ConstructSUT(asked.issue, asked.flush)
    library = loadgen.ConstructQSL(count, count, _nothing, _nothing)
    began, used = time.monotonic(), _cpu()
    loadgen.StartTestWithLogSettings(sut, library, settings, log)
    seconds, cpu = time.monotonic() - began, _cpu() - used
    loadgen.DestroyQSL(library)
    loadgen.DestroySUT(sut)
    return read_summary((folder / "mlperf_log_summary.txt").read_text(), plan), seconds, cpu


def _settings(plan: LoadPlan, rate: float) -> Any:
    found = loadgen.TestSettings()
    found.scenario = _SCENARIOS[plan.scenario]
    mode = loadgen.TestMode
    found.mode = mode.AccuracyOnly if plan.is_accuracy else mode.PerformanceOnly
    found.multi_stream_samples_per_query = plan.streams
    # Lower than it will be, so that enough queries are prepared.
    expected = int(1e9 / rate / _FASTER)
    found.single_stream_expected_latency_ns = found.multi_stream_expected_latency_ns = expected
    if plan.queries_per_second:
        found.offline_expected_qps = found.server_target_qps = plan.queries_per_second
    if plan.within_ms is not None:
        found.server_target_latency_ns = int(plan.within_ms * _MS)
    if not plan.is_official:
        found.min_duration_ms = int(plan.seconds * 1000)
        found.min_query_count = _LEAST_QUERIES[plan.scenario]
    return found


def _nothing(_: list[int]) -> None:
    """Samples are in memory already."""


def _cpu() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
