"""What a machine can run is measured, unless somebody declares it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.agent.facts import Declared, node_facts
from millpond.agent.state import locked_state
from millpond.errors import SetupError


def test_measured_facts() -> None:
    facts = node_facts("node", Declared())
    assert facts.cpus == len(os.sched_getaffinity(0))
    assert facts.memory_bytes > 100_000_000
    assert not facts.declared


def test_declared_facts_say_so() -> None:
    facts = node_facts("node", Declared(cpus=64, memory_bytes=10**12, gpus=8))
    assert (facts.cpus, facts.memory_bytes, facts.gpus, facts.declared) == (64, 10**12, 8, True)
    assert facts.gpu_model == "declared"


def test_one_agent_per_state_directory(tmp_path: Path) -> None:
    with locked_state(tmp_path / "state") as directory:
        assert (directory / "placements").is_dir()
        with pytest.raises(SetupError, match=f"process {os.getpid()}"), locked_state(directory, patience=0):
            pass
    with locked_state(tmp_path / "state", patience=0):
        pass
