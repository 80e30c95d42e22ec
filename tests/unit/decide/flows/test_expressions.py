"""References and conditions: what they mean, and where a mistake is."""

from __future__ import annotations

import pytest

from millpond.decide.flows.expressions import (
    ExpressionError,
    Ref,
    RefKind,
    evaluate,
    parse_condition,
    parse_text,
)

VALUES = {"accuracy": 0.9, "name": "x", "ok": True, "count": 3}


def look(ref: Ref) -> object:
    return VALUES[ref.name]


def test_a_text_that_is_one_reference_keeps_the_type() -> None:
    assert parse_text("${params.count}").resolve(look) == 3
    assert parse_text("n=${params.count}, ok=${params.ok}").resolve(look) == "n=3, ok=true"
    assert parse_text("$${params.count}").resolve(look) == "${params.count}"
    assert parse_text("").resolve(look) == ""


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("${params.lr}", Ref(RefKind.PARAM, "lr")),
        ("${steps.x-ray}", Ref(RefKind.STEP, "x-ray", "x-ray")),
        ("${steps.split.outputs.train}", Ref(RefKind.OUTPUT, "train", "split")),
        ("${steps.train[*].outputs.model}", Ref(RefKind.OUTPUTS, "model", "train")),
        ("${ each.lr }", Ref(RefKind.EACH, "lr")),
        ("${run.id}", Ref(RefKind.FIXED, "run.id")),
        ("${trigger.commit}", Ref(RefKind.FIXED, "trigger.commit")),
    ],
)
def test_references(text: str, ref: Ref) -> None:
    assert parse_text(text).exact == ref
    assert parse_text(str(ref)).exact == ref


@pytest.mark.parametrize(
    "text", ["${x}", "${steps.a.b}", "${steps.a[*]}", "${params.a", "${params.a.b}", "${os.environ}"]
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_text(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${steps.pick.outputs.accuracy >= 0.8}", True),
        ("${params.name == 'x' and not params.ok}", False),
        ("${params.name != 'x' or params.count < 4}", True),
        ("${not (params.ok and params.count > 3)}", True),
        ("${params.ok or params.ok and false}", True),
        ("${params.count == -3}", False),
        ('${params.name == "and"}', False),
        ("${true}", True),
    ],
)
def test_conditions(text: str, value: bool) -> None:
    assert evaluate(parse_condition(text), look) is value


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("params.ok", 0),
        ("${params.ok +}", 12),
        ("${params.ok and}", 15),
        ("${(params.ok}", 2),
        ("${params.ok params.ok}", 12),
        ("${__import__('os')}", 2),
    ],
)
def test_a_mistake_is_pointed_at(text: str, offset: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_condition(text)
    assert caught.value.offset == offset


def test_what_cannot_be_compared_says_so() -> None:
    with pytest.raises(ExpressionError, match="cannot be compared"):
        evaluate(parse_condition("${params.name > 3}"), look)
