"""What a template fills in, what of it comes out again, and which templates a job may use."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.decide.gpu_types import is_gpu_type, missing_label
from millpond.decide.templates import choices, conflict, entries_of, filled, price, unfilled
from millpond.model.job_spec import JobSpec
from millpond.model.template import Queue, QueueEntry, Template, TemplateSpec
from millpond.testing.clock import NOON


def a_template(name: str = "gpu-real", **spec: Any) -> Template:
    return Template(name, name, TemplateSpec(**spec), NOON, "ada", NOON, "ada")


def a_spec(**given: Any) -> JobSpec:
    return JobSpec(command=("true",), on="gpu-real", **given)


REAL = a_template(
    compute="dgx", cpu=8, memory_bytes=32, gpu_hundredths=100, gpu_type="A100", image="torch", price_per_hour=2.5,
    node_selector={"zone": "a"}, env={"NCCL": "1", "MODE": "fast"},
)  # fmt: skip


def test_a_template_fills_in_what_the_job_leaves_out() -> None:
    spec, use = filled(a_spec(), REAL)
    assert (spec.compute, spec.cpu, spec.gpu_hundredths, spec.image) == ("dgx", 8, 100, "torch")
    assert spec.node_selector == {"zone": "a"}
    assert use.name == "gpu-real"


def test_what_the_job_says_itself_stays() -> None:
    spec, _ = filled(a_spec(cpu=2, gpu_hundredths=400, image="mine", env={"MODE": "slow"}), REAL)
    assert (spec.cpu, spec.gpu_hundredths, spec.image) == (2, 400, "mine")
    assert spec.env == {"NCCL": "1", "MODE": "slow"}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"cpu": 2},
        {"env": {"MODE": "slow", "X": "1"}},
        {"gpu_hundredths": 100, "node_selector": {"zone": "a"}},
        {"image": "torch", "env": {"NCCL": "1"}},
    ],
)
def test_taking_a_template_out_gives_what_was_asked(asked: dict[str, Any]) -> None:
    spec, use = filled(a_spec(**asked), REAL)
    assert unfilled(spec, use) == a_spec(**asked)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"compute": "dgx"}, None),
        ({"compute": "cloud"}, "compute dgx"),
        ({"gpu_type": "T4"}, "GPU type A100"),
        ({"node_selector": {"zone": "b"}}, "zone=a"),
        ({"node_selector": {"rack": "7"}}, None),
    ],
)
def test_a_job_that_asks_for_another_place_cannot_run_on_it(asked: dict[str, Any], words: str | None) -> None:
    found = conflict(a_spec(**asked), REAL)
    assert found is None if words is None else found is not None and words in found


@pytest.mark.parametrize(
    ("asked", "expected"),
    [({}, 2.5), ({"gpu_hundredths": 200}, 5.0), ({"gpu_hundredths": 50}, 1.25), ({"processes": 4}, 10.0)],
)
def test_the_price_is_that_of_the_size(asked: dict[str, Any], expected: float) -> None:
    assert price(a_spec(**asked), REAL.spec) == expected


def test_patience_adds_up_and_the_last_template_has_none() -> None:
    known = {name: a_template(name) for name in ("a", "b", "c")}
    queue = Queue(
        "q", "q", (QueueEntry("a", 10), QueueEntry("b", 20), QueueEntry("c", 30)), NOON, "ada", NOON, "ada"
    )  # fmt: skip
    found, refused = choices(a_spec(), entries_of("q", {"q": queue}), known)
    assert [(one.use.name if one.use else "", one.opens_after, one.patience) for one in found] == [
        ("a", 0, 10), ("b", 10, 20), ("c", 30, None),
    ]  # fmt: skip
    assert refused == []


def test_a_template_that_contradicts_the_job_is_left_out() -> None:
    known = {"a": a_template("a", compute="dgx"), "b": a_template("b", compute="cloud")}
    queue = Queue("q", "q", (QueueEntry("a", 10), QueueEntry("b")), NOON, "ada", NOON, "ada")
    found, refused = choices(a_spec(compute="cloud"), queue.templates, known)
    assert [(one.use.name if one.use else "", one.opens_after) for one in found] == [("b", 0)]
    assert "dgx" in refused[0]


@pytest.mark.parametrize(
    ("wanted", "model", "expected"),
    [
        ("A100", "NVIDIA A100-SXM4-40GB", True),
        ("a100", "NVIDIA A100-SXM4-40GB", True),
        ("A100-SXM4", "NVIDIA A100-SXM4-40GB", True),
        ("A10", "NVIDIA A100-SXM4-40GB", False),
        ("A100", "NVIDIA A10", False),
        ("RTX 4090", "NVIDIA GeForce RTX 4090", True),
        ("4090 RTX", "NVIDIA GeForce RTX 4090", False),
        ("a100", "a100", True),
        ("A100", "", False),
        ("-", "NVIDIA A10", False),
    ],
)
def test_gpu_types(wanted: str, model: str, expected: bool) -> None:
    assert is_gpu_type(wanted, model) is expected


def test_labels() -> None:
    assert missing_label({"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3"}) is None
    assert missing_label({"a": "1", "b": "2"}, {"a": "1", "b": "3"}) == "b=2"
    assert missing_label({}, {}) is None


def test_templates_of_a_list_do_not_wait_for_each_other() -> None:
    known = {name: a_template(name) for name in ("a", "b")}
    found, _ = choices(a_spec(), entries_of("b,a,gone", {}), known)
    assert [(one.use.name if one.use else "", one.opens_after) for one in found] == [("b", 0), ("a", 0)]
    assert entries_of("a", {}) == () and entries_of("gone", {}) == ()
