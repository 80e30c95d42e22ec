"""`python -m millpond_serve.monitoring.drift_job`: drift of an endpoint's requests in a window, as a job measures it.

Log and reference are inputs of the job, near its compute; the report is a file of its output, which the server reads.
What cannot be compared is said in the report: the job itself has done its work then.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import ServeError
from .comparing import Comparison, Sample, compare, sample_of_requests, sample_of_tables
from .logged import Window, logged_requests
from .tables import rows_in

SCHEMA = "millpond.drift/1"
REPORT = "drift.json"
# Columns in a report; those that moved most come first.
MOST_COLUMNS = 200


def main() -> None:
    params = json.loads(Path(os.environ["MILL_PARAMS"]).read_text())
    log, reference = Path(os.environ["MILL_INPUT_LOG"]), Path(os.environ["MILL_INPUT_REFERENCE"])
    report = measured(params, log, reference)
    (Path(os.environ["MILL_OUTPUT"]) / REPORT).write_text(json.dumps(report, indent=2))
    sys.stdout.write(f"{report['error'] or summary(report)}\n")


def measured(params: Mapping[str, Any], log: Path, reference: Path) -> dict[str, Any]:
    """The report on the window, endpoint and columns that the parameters name."""
    window = Window.parse(params["since"], params["until"])
    try:
        requests = sample_of_requests(logged_requests(log, params["endpoint"], window), params["rows"])
        every = requests.columns()
        if not every.columns:
            return _report(error="No inputs or outputs were logged in this window.")
        compared = sample_of_tables(rows_in(reference, params["path"]), params["rows"])
        return _report(compare(requests, compared, params["columns"]), every, compared)
    except ServeError as error:
        return _report(error=error.message)


def summary(report: Mapping[str, Any]) -> str:
    lines = [f"{report['requests']} of {report['requests_of']} requests compared."]
    lines += [f"{name}: {one['level']}. {one['reason']}" for name, one in report["columns"].items()]
    return "\n".join(lines)


def _report(
    found: Comparison | None = None, requests: Sample | None = None, compared: Sample | None = None, error: str = ""
) -> dict[str, Any]:  # fmt: skip
    columns = found.columns if found else {}
    return {
        "schema": SCHEMA,
        "error": error,
        "requests": requests.rows if requests else 0,
        "requests_of": requests.of if requests else 0,
        "reference_rows": compared.rows if compared else 0,
        "reference_rows_of": compared.of if compared else 0,
        "columns": {
            name: {**asdict(one), "level": one.level.value} for name, one in list(columns.items())[:MOST_COLUMNS]
        },
        "unmatched": list(found.unmatched)[:MOST_COLUMNS] if found else [],
        "versions": {
            str(number): {"requests": one.requests, "level": one.level.value, "psi": one.psi, "column": one.column}
            for number, one in (found.versions if found else {}).items()
        },
    }


if __name__ == "__main__":
    main()
