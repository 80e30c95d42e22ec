"""`python -m millpond_serve.monitoring.replay_job`: logged requests asked again of a version, as a job does it.

The version and the log are inputs of the job. The version is loaded here; its answers are compared with those that the
endpoint gave. The report is a file of the job's output, which the server reads.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core import ModelServer
from ..errors import ServeError
from ..repository import ModelFolder
from ..request import InferRequest
from ..tensors import Tensor
from .agreement import Agreement
from .logged import Window, logged_requests
from .tables import Row, sampled
from .values import Array, by_sample, input_tensors, tensors_of

SCHEMA = "millpond.replay/1"
REPORT = "replay.json"
# Requests named in the report whose answers differ.
MOST_DIFFERENT = 100
_NAME = "model"
_EVERY_SECONDS = 10.0


def main() -> None:
    params = json.loads(Path(os.environ["MILL_PARAMS"]).read_text())
    log, model = Path(os.environ["MILL_INPUT_LOG"]), Path(os.environ["MILL_INPUT_MODEL"])
    report = replayed(params, log, model)
    (Path(os.environ["MILL_OUTPUT"]) / REPORT).write_text(json.dumps(report, indent=2))
    _log(report["error"] or f"{report['requests']} of {report['of']} requests asked again, {report['failed']} failed.")


def replayed(params: Mapping[str, Any], log: Path, model: Path) -> dict[str, Any]:
    """The report on the endpoint and window that the parameters name."""
    window = Window.parse(params["since"], params["until"])
    found, different = Agreement(), list[str]()
    try:
        requests = logged_requests(log, params["endpoint"], window, version=params["version"])
        kept, found.of = sampled(requests, params["limit"], dict)
        server = ModelServer(models={_NAME: ModelFolder(_NAME, model)})
        try:
            for problem in server.load_all().values():
                raise problem
            _ask_all(server, kept, found, different)
        finally:
            server.close()
    except ServeError as error:
        return _report(found, different, error.message)
    nothing = "No requests in this time can be asked again: inputs are kept with log: {level: full}, whole and bare."
    return _report(found, different, "" if found.requests else nothing)


def _ask_all(server: ModelServer, kept: list[Row], found: Agreement, different: list[str]) -> None:
    told = time.monotonic()
    for place, row in enumerate(kept):
        tensors = input_tensors(row.get("request"))
        if not tensors:
            found.skipped += 1
        elif not _ask(server, row, tensors, found) and len(different) < MOST_DIFFERENT:
            different.append(str(row["id"]))
        if time.monotonic() - told > _EVERY_SECONDS:
            told = time.monotonic()
            _log(f"{place + 1} of {len(kept)} requests.")


def _ask(server: ModelServer, row: Row, tensors: Mapping[str, tuple[str, Array]], found: Agreement) -> bool:
    """True if the answer is the one that was given."""
    found.requests += 1
    asked = tuple(Tensor(name, datatype, array) for name, (datatype, array) in tensors.items())
    began = time.perf_counter()
    try:
        answer = server.infer_blocking(InferRequest(_NAME, asked))
    except ServeError as error:
        found.note_failure(error.message)
        return False
    took = (time.perf_counter() - began) * 1000
    now = {one.name: by_sample(one.array) for one in answer.outputs}
    return found.take(tensors_of(row.get("response"), "outputs"), now, ms=took, then=row.get("ms"))


def _report(found: Agreement, different: list[str], error: str) -> dict[str, Any]:
    counted = {key: value for key, value in asdict(found).items() if key not in ("times", "logged_times")}
    measured = {"agreement": found.agreement, "ms": found.ms, "logged_ms": found.logged_ms}
    return {"schema": SCHEMA, "error": error, **counted, **measured, "different": different}


def _log(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
