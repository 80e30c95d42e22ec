from __future__ import annotations

import pytest

from millpond.decide.gpu_use import HeldGpus, NodeGpus, node_gpus


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([], NodeGpus(0, 0.0)),
        ([HeldGpus(200, 80.0, False)], NodeGpus(0, 40.0)),  # two of four GPUs at 80 %
        ([HeldGpus(50, 100.0, False), HeldGpus(100, 0.0, True)], NodeGpus(100, 12.5)),
        ([HeldGpus(200, None, False)], NodeGpus(0, None)),  # nobody measured
        ([HeldGpus(200, None, False), HeldGpus(200, 50.0, False)], NodeGpus(0, 25.0)),
    ],
)
def test_a_node_of_four_gpus(held: list[HeldGpus], expected: NodeGpus) -> None:
    assert node_gpus(4, held) == expected


def test_a_node_without_gpus_has_no_utilisation() -> None:
    assert node_gpus(0, []).percent is None
