"""Arguments and options that commands of `mill run` share."""

from __future__ import annotations

from typing import Annotated

import typer

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id or name of the run.")]
RunIds = Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or names of runs.")]
Filter = Annotated[
    str | None, typer.Option("--filter", help="Condition, like \"metrics.acc > 0.9 and params.lr = '0.1'\".")
]
Sort = Annotated[str | None, typer.Option("--sort", help='Order, like "metrics.acc desc".')]
Columns = Annotated[
    str | None, typer.Option("--columns", help='Values to show, like "params.lr, min(metrics.loss), tags.team".')
]
Experiment = Annotated[str | None, typer.Option(help="Only runs of this experiment.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of runs.", min=1)]
