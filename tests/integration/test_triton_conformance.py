"""The model server answers as Triton did when it was recorded; `make conformance-triton` asks Triton itself."""

from __future__ import annotations

from tests.conformance.asking import ask_all, recorded
from tests.conformance.comparing import compare
from tests.conformance.servers import running_millpond

# What waits in a queue, and for how long, depends on how busy the machine is.
TIMED = frozenset({"queueing.timeout_in_queue"})


def test_every_case_is_answered_as_triton_does_or_differs_for_a_known_reason() -> None:
    comparison = compare(ask_all(running_millpond), recorded())
    assert {name: found for name, found in comparison.unexpected.items() if name not in TIMED} == {}
    assert [name for name in comparison.outdated if name not in TIMED] == []
