from __future__ import annotations

import pytest

from millpond.agent.drivers.slurm.commands import SlurmJob
from millpond.agent.drivers.slurm.reasons import ending_words, waiting_words


def waiting(reason: str, state: str = "PENDING") -> str:
    return waiting_words(SlurmJob("1", "mill-p", state, reason))


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Priority", "Slurm: jobs with higher priority are ahead of it (Priority)"),
        ("", "Slurm has not considered it yet"),
        ("QOSMaxGRESPerUser", "Slurm: it requests more GPUs than its quality of service allows (QOSMaxGRESPerUser)"),
        ("QOSMaxNodePerUserLimit", "Slurm: a limit of its quality of service is reached (QOSMaxNodePerUserLimit)"),
        (
            "ReqNodeNotAvail, UnavailableNodes:n[1-4]",
            "Slurm: the nodes it needs are down, drained or reserved (ReqNodeNotAvail, UnavailableNodes:n[1-4])",
        ),
        ("SomethingNew", "Slurm: SomethingNew"),
    ],
)
def test_why_it_waits(reason: str, words: str) -> None:
    assert waiting(reason) == words


def test_nodes_that_are_started_for_it() -> None:
    assert "is starting nodes" in waiting("None", "CONFIGURING")


def test_why_it_ended() -> None:
    assert ending_words(SlurmJob("1", "m", "NODE_FAIL", nodes="n7")) == "The node failed while the job ran (on n7)."
    assert ending_words(SlurmJob("1", "m", "FAILED", "NonZeroExitCode", "n7")) is None
