"""Templates and queues by the command line, against a server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli import Mill, ServerHere, server_here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("templates")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def test_templates_are_created_changed_and_removed(mill: Mill) -> None:
    done = mill.ok(
        "template", "create", "gpu-real", "--gpu", "0.5", "--cpu", "8", "--memory", "32GB", "--gpu-type", "A100",
        "--min-gpu-memory", "40GB", "--image", "torch", "--node-selector", "zone=a", "--env", "MODE=fast",
        "--price-per-hour", "2.5", "--json",
    )  # fmt: skip
    assert "--on gpu-real" in done.err
    made = done.json
    assert (made["gpus"], made["cpu"], made["memory_bytes"], made["price_per_hour"]) == (0.5, 8, 32 * 10**9, 2.5)
    assert (made["gpu_type"], made["min_gpu_memory_bytes"], made["image"]) == ("A100", 40 * 10**9, "torch")

    changed = mill.ok("template", "update", "gpu-real", "--gpu", "2", "--clear", "image", "--env", "X=1", "--json").json
    assert (changed["gpus"], changed["image"], changed["cpu"]) == (2, None, 8)
    assert changed["env"] == {"MODE": "fast", "X": "1"}
    assert mill.ok("template", "show", "gpu-real", "--json").json["node_selector"] == {"zone": "a"}
    assert "gpu-real\tany\t2\tA100" in mill.ok("template", "list").out
    assert mill("template", "create", "gpu-real").code == 5
    assert "gpu-real" in mill("template", "show", "gpu-rael").err
    mill.ok("template", "rm", "gpu-real", "--yes")
    assert mill("template", "show", "gpu-real").code == 3


def test_queues_are_created_changed_and_removed(mill: Mill) -> None:
    for name in ("here", "cloud"):
        mill.ok("template", "create", name)
    made = mill.ok("queue", "create", "burst", "here:10m", "cloud", "--json").json
    assert made["templates"] == [
        {"template": "here", "patience_seconds": 600}, {"template": "cloud", "patience_seconds": 0},
    ]  # fmt: skip
    assert "here (10 m), cloud" in mill.ok("queue", "list").out
    mill.ok("queue", "update", "burst", "--description", "first ours, then theirs")
    changed = mill.ok("queue", "update", "burst", "cloud:5s", "here", "--json").json
    assert [one["template"] for one in changed["templates"]] == ["cloud", "here"]
    assert changed["description"] == "first ours, then theirs"
    refused = mill("template", "rm", "here", "--yes")
    assert refused.code == 5 and "queue burst" in refused.err
    mill.ok("queue", "rm", "burst", "--yes")
    assert mill("queue", "show", "burst").code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("template", "create", "x", "--gpu", "1.5"), "whole number"),
        (("template", "create", "x", "--node-selector", "zone"), "KEY=VALUE"),
        (("template", "create", "x", "--memory", "much"), "not a size"),
        (("template", "update", "nothing", "--gpu", "1"), "No template"),
        (("queue", "create", "x", "nothing"), "No template"),
        (("queue", "create", "x", "here:10"), "no unit"),
        (("queue", "create", "here", "cloud"), "choose another"),
    ],
)
def test_mistakes_say_what_to_do(mill: Mill, arguments: tuple[str, ...], words: str) -> None:
    failed = mill(*arguments)
    assert failed.code != 0
    assert words in failed.err


def test_a_job_is_printed_as_it_was_asked(mill: Mill) -> None:
    mill.ok("template", "create", "large", "--gpu", "4", "--env", "MODE=fast")
    job = mill.ok("submit", "sized", "--on", "large", "--no-code", "--env", "X=1", "--json", "--", "true").json
    assert (job["gpu_hundredths"], job["template"]) == (400, "large")
    printed = mill.ok("spec", job["id"]).out
    assert "'on': large" in printed and "X:" in printed
    assert "gpu" not in printed and "MODE" not in printed
    (mill.cwd / "job.yaml").write_text('command: ["true"]\non: large\ncode: false\n')
    mill.ok("stop", mill.ok("submit", "-f", "job.yaml", "--json").json["id"])
    refused = mill("template", "rm", "large", "--yes")
    assert refused.code == 5 and "default/sized" in refused.err
    mill.ok("stop", job["id"])
