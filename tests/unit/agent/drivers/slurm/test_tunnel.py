"""Steps beside a running job, on old versions of Slurm and new ones."""

from __future__ import annotations

import pytest

from millpond.agent.drivers.slurm.tunnel import step_arguments


@pytest.mark.parametrize(
    ("version", "overlaps"),
    [("22.05.8", True), ("20.11.0", True), ("20.02.7", False), ("19.05.5", False), ("", True), ("23-dev", True)],
)
def test_a_step_shares_what_its_job_has(version: str, overlaps: bool) -> None:
    arguments = step_arguments("17", version)
    assert ("--overlap" in arguments) is overlaps
    assert {"--jobid=17", "--unbuffered", "--ntasks=1"} <= set(arguments)


def test_a_step_beside_a_rank_is_on_its_node() -> None:
    assert "--nodelist=n2" in step_arguments("17", "22.05.8", "n2")
    assert not any(one.startswith("--nodelist") for one in step_arguments("17", "22.05.8"))
