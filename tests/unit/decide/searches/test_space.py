"""How many combinations a search has, and those of a grid in order."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.searches.space import combinations, grid, points_of, values_of
from millpond.model.search import Parameter


def listed(name: str, *values: Any, **more: Any) -> Parameter:
    return Parameter(name=name, values=values, **more)


@pytest.mark.parametrize(
    ("parameter", "count"),
    [
        (listed("a", 1, 2, 3), 3),
        (Parameter(name="a", min=1, max=8), 8),
        (Parameter(name="a", min=0, max=10, step=5), 3),
        (Parameter(name="a", min=0.0, max=0.3, step=0.1), 4),
        (Parameter(name="a", min=0.0, max=1.0), None),
        (Parameter(name="a", min=0, max=1, type="float"), None),
        (Parameter(name="a", min=2, max=2), 1),
    ],
)
def test_values_of_a_parameter(parameter: Parameter, count: int | None) -> None:
    assert points_of(parameter) == count
    assert count is None or len(values_of(parameter)) == count


def test_steps_are_written_as_people_write_them() -> None:
    assert values_of(Parameter(name="a", min=0.0, max=0.3, step=0.1)) == [0.0, 0.1, 0.2, 0.3]


def test_the_last_parameter_changes_fastest() -> None:
    found = list(grid([listed("lr", 0.1, 0.01), listed("batch", 32, 64)]))
    assert found == [
        {"lr": 0.1, "batch": 32}, {"lr": 0.1, "batch": 64}, {"lr": 0.01, "batch": 32}, {"lr": 0.01, "batch": 64},
    ]  # fmt: skip


def test_one_that_depends_on_another_is_used_only_there() -> None:
    parameters = [listed("opt", "adam", "sgd"), listed("momentum", 0.5, 0.9, when={"opt": ("sgd",)})]
    assert list(grid(parameters)) == [
        {"opt": "adam"}, {"opt": "sgd", "momentum": 0.5}, {"opt": "sgd", "momentum": 0.9},
    ]  # fmt: skip
    assert combinations(parameters) == 3


def test_a_million_combinations_are_counted_without_making_them() -> None:
    parameters = [listed(name, *range(1000)) for name in ("a", "b", "c")]
    assert combinations(parameters) == 10**9
    assert list(islice(grid(parameters, 10**9 - 1), 5)) == [{"a": 999, "b": 999, "c": 999}]


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    parents=st.lists(st.integers(-1, 2), min_size=4, max_size=4),
    begin=st.integers(0, 20),
)
def test_a_grid_holds_every_combination_once(sizes: list[int], parents: list[int], begin: int) -> None:
    parameters: list[Parameter] = []
    for place, size in enumerate(sizes):
        parent = parents[place]
        when = {parameters[parent].name: (0,)} if 0 <= parent < place else {}
        parameters.append(Parameter(name=f"p{place}", values=tuple(range(size)), when=when))
    found = list(grid(parameters))
    assert len({tuple(sorted(params.items())) for params in found}) == len(found) == combinations(parameters)
    assert list(grid(parameters, begin)) == found[begin:]
