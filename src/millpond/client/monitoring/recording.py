"""Comparisons as runs, with the commits that they read as inputs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from millpond.client.credentials import ServerTarget
from millpond.client.dataset import Dataset
from millpond.client.http import Api
from millpond.client.run import Run
from millpond.model.rerun import INPUT_TYPE
from millpond.wire.runs import RunCreate


def begin_run(api: Api, project: str, run_id: str, experiment: str, read: Iterable[Dataset]) -> Run:
    """A run of its own, also inside a job: what is compared is not the job's result."""
    now = datetime.now(UTC)
    create = RunCreate(id=run_id, name=f"{experiment}-{now:%Y%m%d-%H%M%S}", experiment=experiment, started_at=now)
    run = Run(ServerTarget(api.base_url, api.token, project), run_id, create)
    for data in read:
        name, commit = f"{data.project}/{data.name}", data.commit.id
        run.log_input(
            {
                "name": name, "digest": commit, "source_type": INPUT_TYPE, "source": f"{name}@{commit}",
                "ref": data.ref or "", "read_from": "lake", "cached": False,
            }
        )  # fmt: skip
    return run
