"""`mill model batch`: predict a whole dataset with a version."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.flow_arguments import TimeoutOption, WaitOption, waiting
from millpond.cli.flow_runs import show_started
from millpond.cli.model_arguments import Version
from millpond.cli.session import Session
from millpond.client import models as calls
from millpond.model.model import split_written
from millpond.wire.models import BatchPrediction

app = typer.Typer()


@command(app, "batch")
def batch(
    mill: Session,
    model: Version,
    input: Annotated[str, typer.Option("--input", metavar="DATASET[@REF]", help="Dataset to predict.")],
    output: Annotated[
        str, typer.Option("--output", metavar="DATASET[@BRANCH]", help="Dataset that gets the predictions.")
    ],
    shards: Annotated[int, typer.Option(help="Number of parts to predict at the same time.", min=1, max=1000)] = 1,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a table that make up the input, like age,height.")
    ] = None,
    max_errors: Annotated[int, typer.Option(help="Number of unreadable files to skip before it fails.", min=0)] = 0,
    on: Annotated[str | None, typer.Option("--on", metavar="TEMPLATE", help="Template or queue to run on.")] = None,
    no_environment: Annotated[
        bool, typer.Option("--no-environment", help="Use the machine's own Python, and install nothing.")
    ] = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
) -> None:
    """Predict a dataset with a version of a model, and commit the predictions as Parquet.

    Reads tables (Parquet, CSV), arrays (.npy, .npz) and images. Runs as a flow: shards that are done are not predicted
    again, and the predictions are committed once, when all are there.

    Example: mill model batch chest-xray@3 --input xray@main --output predictions --shards 4 --wait
    """
    until = waiting(wait, timeout)
    name, version = split_written(model)
    asked = BatchPrediction(
        input=input, output=output, shards=shards, columns=columns.split(",") if columns else [],
        max_errors=max_errors, on=on, environment=not no_environment,
    )  # fmt: skip
    show_started(mill, calls.predict_batch(mill.api, mill.project, name, version, asked), until)
