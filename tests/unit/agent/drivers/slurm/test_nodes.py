from __future__ import annotations

import pytest

from millpond.agent.drivers.slurm.nodes import default_partition, parse_gpus, parse_nodes

LINES = [
    "n1|main*|64|256000|gpu:a100:4(S:0-1)|fast,a100|mixed|Unknown|none",
    "n2|main*|64|256000|(null)|(null)|idle~|Unknown|none",
    "n2|short|64|256000|(null)|(null)|idle~|Unknown|none",
    "n3|main*|64|256000|(null)|(null)|drained|root|new disks | soon",
    "n4|main*|64|256000|(null)|(null)|idle*|Unknown|none",
    "",
]


def test_each_node_once_and_why_nothing_can_begin_there() -> None:
    first, second, drained, silent = parse_nodes(LINES)
    assert (first.closed, second.closed) == (None, None)
    assert drained.closed == "it is drained in Slurm by root (new disks | soon)"
    assert silent.closed == "it does not respond to Slurm"
    assert (first.name, first.cpus, first.memory_bytes, first.gpus, first.gpu_model) == (
        "n1", 64, 256000 << 20, 4, "a100",
    )  # fmt: skip
    assert first.labels == {"slurm.partition": "main", "slurm.features": "fast,a100"}
    assert (second.name, second.gpus, second.labels) == ("n2", 0, {"slurm.partition": "main,short"})


def test_of_one_partition() -> None:
    assert [node.name for node in parse_nodes(LINES, "short")] == ["n2"]
    assert [node.name for node in parse_nodes(LINES, "main,short")] == ["n1", "n2", "n3", "n4"]


@pytest.mark.parametrize(
    ("gres", "count", "model"),
    [
        ("(null)", 0, ""),
        ("gpu:2", 2, ""),
        ("gpu:tesla:2,gpu:kepler:1", 3, "tesla, kepler"),
        ("gpu", 0, ""),
        ("craynetwork:4,gpu:h100:8(S:0,1)", 8, "h100"),
        ("gpu:a100:2(IDX:0-1)", 2, "a100"),
    ],
)
def test_gpus(gres: str, count: int, model: str) -> None:
    assert parse_gpus(gres) == (count, model)


def test_the_default_partition() -> None:
    lines = [
        "n1|gpu|4|4000|gpu:2|(null)|idle|Unknown|none",
        "n1|main*|4|4000|gpu:2|(null)|idle|Unknown|none",
        "what is this",
    ]
    assert default_partition(lines) == "main" and default_partition(lines[:1]) is None
