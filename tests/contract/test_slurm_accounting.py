"""The Slurm driver on a real Slurm with accounting, whose controller forgets what has ended within moments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millpond.testing.slurm import Slurm, running_slurm, why_no_slurm
from millpond.testing.slurm_accounting import why_no_accounting
from tests.contract.slurm_contract import SlurmContract

pytestmark = pytest.mark.xdist_group("slurm_accounting")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    problem = why_no_slurm() or why_no_accounting()
    if problem:
        pytest.skip(problem)
    with running_slurm(accounting=True) as running:
        yield running


@pytest.mark.long
class TestSlurmDriver(SlurmContract):
    """All of it once more."""
