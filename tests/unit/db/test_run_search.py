from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.db import metrics, projects, run_groups, run_search, run_values, runs
from millpond.db.engine import Database
from millpond.db.run_search import Place
from millpond.db.runs import RunFilter
from millpond.decide.run_filter import parse_columns, parse_filter, parse_group, parse_sort
from millpond.model.people import Project
from millpond.model.run import RunState
from millpond.model.run_query import ANY_RUN
from millpond.model.series import Points
from millpond.testing.builders_work import a_run
from millpond.testing.clock import NOON

HERE = RunFilter(projects=["project1"])


@pytest.fixture(autouse=True)
def four_runs(db: Database) -> None:
    """a, b, c began one after the other; d has no values at all and is the newest."""
    with db.write() as tx:
        projects.insert(tx, Project("project1", "default", "", NOON))
        projects.insert(tx, Project("project2", "other", "", NOON))
        for place, (name, acc, lr, team) in enumerate(
            [("a", [0.5, 0.9], 0.1, "Vision"), ("b", [0.8, 0.7], 0.01, "vision-2"), ("c", [0.1], "auto", "speech_[x]*")]
        ):
            run = a_run(id=f"run0000{name}", name=f"train {name}", started_at=NOON + timedelta(minutes=place))
            runs.insert(tx, run)
            metrics.add(tx, run, {"acc": Points.of(range(len(acc)), acc, range(len(acc)))})
            run_values.set_params(tx, run, {"lr": lr}, NOON)
            run_values.set_tags(tx, run, {"team": team})
        bare = a_run(id="run0000d", name="bare", started_at=NOON + timedelta(hours=1), state=RunState.SUCCEEDED)
        runs.insert(tx, bare)
        elsewhere = a_run(id="run0000e", project_id="project2", project="other")
        runs.insert(tx, elsewhere)
        metrics.add(tx, elsewhere, {"acc": Points.of([0], [1.0], [0])})


def matching(db: Database, text: str) -> str:
    with db.read() as tx:
        found = run_search.newest(tx, HERE, parse_filter(text), limit=10, before=None)
    return "".join(sorted(run.id[-1] for run in found))


FILTERS = [
    ("", "abcd"),
    ("metrics.acc > 0.6", "ab"),
    ("metrics.acc = 0.7", "b"),
    ("max(metrics.acc) >= 0.8", "ab"),
    ("min(metrics.acc) < 0.5", "c"),
    ("params.lr = '0.1'", "a"),
    ("params.lr != '0.1'", "bc"),
    ("params.lr < 0.05", "b"),
    ("params.lr in ('auto', '0.1')", "ac"),
    ("params.lr is null", "d"),
    ("tags.team like 'vision%'", "b"),
    ("tags.team ilike 'vision%'", "ab"),
    ("tags.team like 'speech_[x]*'", "c"),
    ("tags.team like '%[y]%'", ""),
    ("status = 'FINISHED'", "d"),
    ("status != 'FINISHED'", "abc"),
    ("status = 'SCHEDULED'", ""),
    ("name like 'train%' and metrics.acc > 0.8", "a"),
    ("metrics.acc > 0.8 or params.lr = 'auto'", "ac"),
    ("started_at > '2126-01-01'", ""),
    ("start_time < 1e300 and end_time is null", "abcd"),
    ("start_time > 1e300", ""),
    ("params.nothing = 'x'", ""),
    ("run_id not in ('run0000a')", "bcd"),
]


def test_filters(db: Database) -> None:
    for text, expected in FILTERS:
        assert matching(db, text) == expected, text


SORTS = [
    ("metrics.acc desc", "abcd"),
    ("metrics.acc", "cbad"),
    ("max(metrics.acc)", "cbad"),
    ("min(metrics.acc) desc", "bacd"),
    ("params.lr", "bacd"),
    ("tags.team desc, started_at", "bcad"),
    ("started_at", "abcd"),
    ("name, metrics.acc", "dabc"),
    ("state desc, metrics.acc", "dcba"),
]


def test_sorted_pages(db: Database) -> None:
    for limit in (1, 2, 3, 10):
        for sort, expected in SORTS:
            assert paged(db, sort, limit) == expected, (sort, limit)


def paged(db: Database, sort: str, limit: int) -> str:
    found = ""
    place: Place | None = Place()
    while place is not None:
        with db.read() as tx:
            page, place = run_search.in_order(tx, HERE, ANY_RUN, parse_sort(sort), limit=limit, at=place)
        assert len(page) <= limit
        found += "".join(run.id[-1] for run in page)
    return found


def groups(db: Database, by: str | None, text: str = "", column: str = "metrics.acc") -> list[tuple[object, ...]]:
    """value, runs, and of the metric: runs, mean, least, greatest."""
    field, where = parse_group(by) if by else None, parse_filter(text)
    with db.read() as tx:
        found = run_groups.counted(tx, HERE, where, field, limit=10, offset=0)
        (metric,) = parse_columns(column)
        sums = run_groups.aggregated(tx, HERE, where, field, [value for value, _ in found], metric)
    return [
        (value, runs, *((one.runs, round(one.mean, 6), one.least, one.greatest) if (one := sums.get(value)) else ()))
        for value, runs in found
    ]


def test_runs_are_counted_by_what_they_share(db: Database) -> None:
    assert groups(db, "state") == [("running", 3, 3, 0.566667, 0.1, 0.9), ("succeeded", 1)]
    assert groups(db, "state", "metrics.acc > 0.6", "max(metrics.acc)") == [("running", 2, 2, 0.85, 0.8, 0.9)]
    assert groups(db, None) == [(None, 4, 3, 0.566667, 0.1, 0.9)]
    assert groups(db, "params.lr") == [
        ("0.01", 1, 1, 0.7, 0.7, 0.7),
        ("0.1", 1, 1, 0.9, 0.9, 0.9),
        ("auto", 1, 1, 0.1, 0.1, 0.1),
        (None, 1),
    ]


def test_runs_are_sorted_and_filtered_by_duration(db: Database) -> None:
    with db.write() as tx:
        for name, seconds in (("a", 90), ("b", 30)):
            run = runs.lock(tx, f"run0000{name}")
            assert run
            runs.save(tx, replace(run, ended_at=run.started_at + timedelta(seconds=seconds)))
    assert matching(db, "duration > 60") == "a"
    assert matching(db, "duration is null") == "cd"
    with db.read() as tx:
        found, _ = run_search.in_order(tx, HERE, ANY_RUN, parse_sort("duration desc"), limit=10, at=Place())
        by_acc, _ = run_search.in_order(tx, HERE, ANY_RUN, parse_sort("params.lr, duration"), limit=10, at=Place())
    assert "".join(run.id[-1] for run in found)[:2] == "ab"
    assert "".join(run.id[-1] for run in by_acc) == "bacd"
