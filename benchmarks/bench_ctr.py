"""The library's component `ctr` at growing numbers of rows: pandas + scikit-learn beside Dask + XGBoost on one log of
clicks in Criteo's layout, with what NetApp's TR-4904 found beside it.

Each size has a log of its own, made once before both run; each engine is a process of its own on the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from millpond.library import catalog
from millpond.library.catalog import load_component

COMPONENT = Path(catalog.__file__).parent / "ctr"
# TR-4904, "Training time comparison": scikit-learn on 50 million rows in 47 min 21 s.
DOCUMENT_ROWS, DOCUMENT_SECONDS = 50_000_000, 47 * 60 + 21
_MAKE = """
import sys
from pathlib import Path
from clicks import make_log
make_log(Path(sys.argv[1]), int(sys.argv[2]), 0)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="100000,1000000,10000000", help="numbers of rows, separated by commas")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="of Dask")
    options = parser.parse_args()
    print(
        f"load before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores; {options.workers} workers of Dask", flush=True
    )
    found: dict[int, dict[str, Any]] = {}
    document = ""
    for rows in (int(one) for one in options.rows.split(",")):
        with tempfile.TemporaryDirectory(prefix="bench-ctr-") as name:
            found[rows], document = compared(Path(name), rows, options.workers)
    report(found, document)


def compared(work: Path, rows: int, workers: int) -> tuple[dict[str, Any], str]:
    """The numbers of both engines, and what the component tells of the document."""
    log, output = work / "clicks", work / "output"
    for folder in (log, output):
        folder.mkdir()
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", _MAKE, log, str(rows)], cwd=COMPONENT, check=True)
    print(f"{rows:,} rows made in {time.monotonic() - begin:.0f} s", flush=True)
    params = {name: one.default for name, one in load_component(COMPONENT).params.items()}
    (work / "params.json").write_text(json.dumps({**params, "rows": rows, "workers": workers}))
    env = os.environ | {
        "MILL_PARAMS": f"{work}/params.json", "MILL_OUTPUT": str(output), "MILL_VALUES": f"{work}/values.json",
        "MILL_INPUT_CLICKS": str(log),
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "compare"], cwd=COMPONENT, env=env, check=True, stderr=subprocess.DEVNULL)
    engines: dict[str, Any] = json.loads((output / "metrics/metrics.json").read_text())
    document = (output / "metrics/comparison.md").read_text().partition("\n\n")[2]
    return engines, document


def report(found: dict[int, dict[str, Any]], document: str) -> None:
    print(f"\n{'':<24} {'rows':>12} {'load s':>8} {'fit s':>8} {'accuracy':>9} {'peak MB':>9} {'rows/s':>11}")
    for rows, engines in found.items():
        for name, one in engines.items():
            print(
                f"{name:<24} {rows:>12,} {one['load']:>8.2f} {one['fit']:>8.2f} {one['accuracy']:>9.4f} "
                f"{one['memory'] / 1e6:>9,.0f} {speed(one):>11,.0f}"
            )
    fitted = f"{DOCUMENT_ROWS / DOCUMENT_SECONDS:,.0f} rows/s"
    print(
        f"{'TR-4904, scikit-learn':<24} {DOCUMENT_ROWS:>12,} {'':>8} {DOCUMENT_SECONDS:>8} {fitted:>31}\n\n{document}"
    )
    said: dict[str, Any] = {"date": time.strftime("%Y-%m-%d %H:%M"), "load": os.getloadavg()[0]}
    for rows, engines in found.items():
        for name, one in engines.items():
            kind = "dask" if name.startswith("Dask") else "pandas"
            said |= {f"{kind}_{key}_{rows}": one[key] for key in ("load", "fit", "accuracy", "memory")}
            said[f"{kind}_rows_per_s_{rows}"] = speed(one)
    print(json.dumps(said))


def speed(engine: dict[str, Any]) -> float:
    return float(engine["rows"] / (engine["load"] + engine["fit"]))


if __name__ == "__main__":
    main()
