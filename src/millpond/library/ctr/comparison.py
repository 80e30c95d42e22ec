"""The table of both, with what the document that this follows found on its machines."""

from __future__ import annotations

from collections.abc import Sequence

from measuring import Engine

_HEAD = "| | rows | load | fit | accuracy | peak memory | rows/s |\n|---|---|---|---|---|---|---|\n"
# TR-4904, "Training time comparison"; on GPUs, of which these runs need none.
DOCUMENT = """\
Beside it, what NetApp's TR-4904 says of Criteo's day 15 (training time; accuracy and memory are not given):

| | rows | fit |
|---|---|---|
| scikit-learn | 50 million | 47 min 21 s |
| RAPIDS and Dask on GPUs | "20 billion" | 1 h 12 min 11 s |

Its day 15 is 45 GB in all. 20 billion rows of 40 columns do not fit into that, so rows are counted here from the files;
its 13 days for scikit-learn are extrapolated from the number that cannot be.
"""


def table(engines: Sequence[Engine]) -> str:
    return _HEAD + "".join(_line(one) for one in engines)


def _line(one: Engine) -> str:
    memory = f"{one.memory / 1e6:,.0f} MB"
    cells = (
        one.name, f"{one.rows:,}", f"{one.load:.2f} s", f"{one.fit:.2f} s", f"{one.accuracy:.4f}", memory,
        f"{one.rows_per_second:,.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |\n"
