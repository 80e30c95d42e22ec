"""YAML 1.2: what plain words stand for, and where everything stands."""

from __future__ import annotations

import pytest

from millpond.decide.flows.document import MAX_NODES, read_document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: no", {"on": "no"}),
        ("n: yes", {"n": "yes"}),
        ("x: true", {"x": True}),
        ("x: 'true'", {"x": "true"}),
        ("x: 0o17", {"x": 15}),
        ("x: 0x1F", {"x": 31}),
        ("x: 017", {"x": 17}),
        ("x: 1_000", {"x": "1_000"}),
        ("x: 12:30", {"x": "12:30"}),
        ("x: 2026-01-01", {"x": "2026-01-01"}),
        ("x: 1e3", {"x": 1000.0}),
        ("x: .5", {"x": 0.5}),
        ("x: ~", {"x": None}),
        ("x:", {"x": None}),
        ("1: a", {"1": "a"}),
        ("x: |\n  a\n  b\n", {"x": "a\nb\n"}),
    ],
)
def test_plain_words_follow_the_core_schema(text: str, value: object) -> None:
    document, problems = read_document(text)
    assert (document.value, problems) == (value, [])


def test_places_are_those_of_keys_and_values() -> None:
    document, _ = read_document("a:\n  b: [1, 2]\n")
    assert document.keys["a", "b"] == (2, 3)
    assert document.values["a", "b", 1] == (2, 10)
    problem = document.problem(("a", "b", 1, "deeper"), "x", "Wrong.")
    assert (problem.line, problem.column, problem.path) == (2, 10, "a.b[1].deeper")


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3", "duplicate-key", 3, "first in line 1"),
        ("a: [1", "yaml", 2, "not YAML"),
        ("", "yaml", 1, "empty"),
        ("a: 1\n---\nb: 2", "yaml", 1, "several documents"),
        ("? [a]\n: 1", "yaml", 1, "key must be text"),
        ("a: &x [*x]", "yaml", 1, "contain itself"),
        ("a: \x00", "yaml", 1, "not YAML"),
        ("a:\n  b: -.inf", "yaml", 2, "-.inf"),
        ("a: [1, .NaN]", "yaml", 1, ".NaN"),
    ],
)
def test_what_is_not_one_document_is_a_problem_with_a_place(text: str, code: str, line: int, words: str) -> None:
    _, problems = read_document(text)
    assert [(one.code, one.line) for one in problems] == [(code, line)]
    assert words in problems[0].message


def test_aliases_cannot_stand_for_billions_of_values() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    _, problems = read_document("\n".join(rows))
    assert [f"{MAX_NODES:,}" in one.message for one in problems] == [True]
