from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.run_filter import parse_columns, parse_filter, parse_group, parse_sort
from millpond.errors import BadRequest
from millpond.model.run_query import ANY_RUN, Comparison, Field, FieldKind, Group, Operator, SortKey, Value

LOSS = Field(FieldKind.METRIC, "loss")
LR = Field(FieldKind.PARAM, "lr")


def attribute(name: str) -> Field:
    return Field(FieldKind.ATTRIBUTE, name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metrics.loss > 0.9", Comparison(LOSS, Operator.GREATER, 0.9)),
        ("metric.loss<=-1e-3", Comparison(LOSS, Operator.AT_MOST, -0.001)),
        ("min(metrics.loss) < 1", Comparison(Field(FieldKind.METRIC, "loss", Value.MIN), Operator.LESS, 1.0)),
        ("metrics.`f1 score` = 1", Comparison(Field(FieldKind.METRIC, "f1 score"), Operator.EQUAL, 1.0)),
        ('metrics."f1 score" = 1', Comparison(Field(FieldKind.METRIC, "f1 score"), Operator.EQUAL, 1.0)),
        ("metrics.train/loss.v-2 = 1", Comparison(Field(FieldKind.METRIC, "train/loss.v-2"), Operator.EQUAL, 1.0)),
        ("params.lr = '0.1'", Comparison(LR, Operator.EQUAL, "0.1")),
        ('params.lr != "a\'b"', Comparison(LR, Operator.UNEQUAL, "a'b")),
        ("params.lr >= 0.01", Comparison(LR, Operator.AT_LEAST, 0.01)),
        ("tags.x LIKE '%y%'", Comparison(Field(FieldKind.TAG, "x"), Operator.LIKE, "%y%")),
        ("tags.mlflow.user ilike 'a'", Comparison(Field(FieldKind.TAG, "mlflow.user"), Operator.ILIKE, "a")),
        ("tags.mlflow.parentRunId = 'a'", Comparison(attribute("parent"), Operator.EQUAL, "a")),
        ("params.lr is not null", Comparison(LR, Operator.IS_NOT_NULL, None)),
        ("attributes.status = 'FINISHED'", Comparison(attribute("state"), Operator.IN, ("succeeded",))),
        ("status != 'killed'", Comparison(attribute("state"), Operator.NOT_IN, ("cancelled", "lost"))),
        ("run_id in ('a', 'b')", Comparison(attribute("id"), Operator.IN, ("a", "b"))),
        ("attr.start_time > 1000", Comparison(attribute("started_at"), Operator.GREATER, 1000.0)),
        ("started_at > '1970-01-01T00:00:01'", Comparison(attribute("started_at"), Operator.GREATER, 1000.0)),
        ("  ", ANY_RUN),
    ],
)
def test_a_comparison(text: str, expected: object) -> None:
    assert parse_filter(text) == expected


def test_and_binds_closer_than_or() -> None:
    a, b, c = (Comparison(Field(FieldKind.METRIC, key), Operator.GREATER, 0.0) for key in "abc")
    assert parse_filter("metrics.a > 0 or metrics.b > 0 AND metrics.c > 0") == Group("or", (a, Group("and", (b, c))))
    assert parse_filter("(metrics.a > 0 or metrics.b > 0) and metrics.c > 0") == Group("and", (Group("or", (a, b)), c))


@pytest.mark.parametrize(
    ("text", "word", "position", "said"),
    [
        ("metricz.loss > 1", "metricz", 0, "metrics"),
        ("metrics.loss > 'a'", "'a'", 15, "number"),
        ("metrics.loss >> 1", ">", 14, "number"),
        ("params.lr = 0.1 und tags.a = 'b'", "und", 16, "'and'"),
        ("params.lr > '0.1'", ">", 10, "without quotes"),
        ("nothing = 'a'", "nothing", 0, "attribute"),
        ("status = 'done'", "'done'", 9, "state"),
        ("metrics.loss ~ 1", "~", 13, "operator"),
        ("tags.a like b", "b", 12, "quotes"),
        ("metrics.loss like 'a'", "like", 13, "number"),
        ("(metrics.a > 1", None, None, "')'"),
        ("metrics.loss >", None, None, "number"),
        ("(" * 60 + "metrics.a > 1" + ")" * 60, "(", 50, "brackets"),
    ],
)
def test_an_error_points_at_the_word(text: str, word: str | None, position: int | None, said: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_filter(text)
    assert (caught.value.details["word"], caught.value.details["position"]) == (word, position)
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_sorting_and_columns() -> None:
    assert parse_sort("metrics.loss DESC, start_time") == (SortKey(LOSS, True), SortKey(attribute("started_at")))
    assert parse_sort("") == ()
    assert parse_columns("params.lr,max(metrics.loss)") == (LR, Field(FieldKind.METRIC, "loss", Value.MAX))
    with pytest.raises(BadRequest, match="','"):
        parse_sort("metrics.loss down")


@given(st.text(max_size=60))
def test_nothing_else_than_an_answer_or_a_bad_request(text: str) -> None:
    with contextlib.suppress(BadRequest):
        parse_filter(text)


@pytest.mark.parametrize("key", ["lr", "model/arch", "a.b-c", "0.5", "with blank", "ö", "a`b", "x.0y", "5x"])
def test_a_written_field_is_read_back(key: str) -> None:
    for field in (Field(FieldKind.PARAM, key), Field(FieldKind.METRIC, key, Value.MIN), Field(FieldKind.TAG, key)):
        assert parse_columns(field.written) == (field,)


def test_runs_are_not_grouped_by_what_each_has_for_itself() -> None:
    assert parse_group("params.lr") == Field(FieldKind.PARAM, "lr")
    for text in ("metrics.acc", "started_at", "duration", "id"):
        with pytest.raises(BadRequest, match="grouped by"):
            parse_group(text)
