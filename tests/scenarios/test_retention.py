"""Retention as tables: a history, what names it, a rule → what goes, and why the rest stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from millpond.decide.retention import CommitSeen, RefSeen, RetentionRule, retain
from millpond.model.dataset import RefType
from millpond.testing.clock import NOON

NOTHING = "nothing refers to it"


def line(ids: str, *, days: int = 100) -> list[CommitSeen]:
    """One commit a day, oldest first; the newest is `days` minus their number old."""
    return [CommitSeen(name, (ids[n - 1],) if n else (), NOON - timedelta(days=days - n)) for n, name in enumerate(ids)]


def branch(name: str, at: str) -> RefSeen:
    return RefSeen(name, RefType.BRANCH, at)


def tag(name: str, at: str) -> RefSeen:
    return RefSeen(name, RefType.TAG, at)


@dataclass(frozen=True)
class Case:
    what: str
    commits: list[CommitSeen]
    refs: list[RefSeen]
    goes: Mapping[str, str] = field(default_factory=dict)
    rule: RetentionRule | None = None
    named: Mapping[str, str] = field(default_factory=dict)


LAST_2 = "the rule keeps the newest 2 of each branch"
CASES = [
    Case("an empty dataset", [], []),
    Case("without a rule all that a branch reaches stays", line("abcd"), [branch("main", "d")]),
    Case("what no ref reaches goes", line("ab"), [branch("main", "a")], {"b": NOTHING}),
    Case("a tag keeps its history, too", line("abc"), [tag("v1", "b")], {"c": NOTHING}),
    Case("what a job reads stays", line("ab"), [branch("main", "a")], named={"b": "job x/train"}),
    Case(
        "a rule cuts behind the newest",
        line("abcd"),
        [branch("main", "d")],
        {"a": LAST_2, "b": LAST_2},
        RetentionRule(keep_last=2),
    ),
    Case("a tag saves what the rule would cut", line("abcd"), [branch("main", "d"), tag("v1", "a")],
         {"b": LAST_2}, RetentionRule(keep_last=2)),
    Case("a cache saves what the rule would cut", line("abcd"), [branch("main", "d")], {"b": LAST_2},
         RetentionRule(keep_last=2), {"a": "cached on nfs"}),
    Case("each branch keeps its own", [*line("abcd"), CommitSeen("x", ("b",), NOON)],
         [branch("main", "d"), branch("side", "x")], {"a": LAST_2}, RetentionRule(keep_last=2)),
    Case("young commits stay, however many", line("abcd", days=4), [branch("main", "d")], {"a": "the rule keeps "
         "the newest 1 of each branch and those younger than 4 days"}, RetentionRule(keep_last=1, keep_days=4)),
    Case("days alone keep the newest all the same", line("ab"), [branch("main", "b")],
         {"a": "the rule keeps those younger than 7 days"}, RetentionRule(keep_days=7)),
    Case("a history that was cut before is simply shorter", line("abcd")[2:], [branch("main", "d")]),
    Case("merges keep both sides", [*line("ab"), CommitSeen("x", (), NOON), CommitSeen("m", ("b", "x"), NOON)],
         [branch("main", "m")]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_what_goes(case: Case) -> None:
    found = retain(case.commits, case.refs, named=case.named, rule=case.rule, now=NOON)
    assert found.goes == case.goes
    assert found.stays.keys() | found.goes.keys() == {commit.id for commit in case.commits}
    assert not found.stays.keys() & found.goes.keys()


def test_reasons_to_stay() -> None:
    commits = line("abcde", days=6)
    refs = [branch("main", "e"), tag("v1", "b")]
    found = retain(commits, refs, named={"a": "job x/train"}, rule=RetentionRule(keep_last=2, keep_days=4), now=NOON)
    assert found.stays == {
        "e": "the newest of branch main",
        "b": "tag v1",
        "a": "job x/train",
        "d": "one of the newest 2 of branch main",
    }
    assert found.goes.keys() == {"c"}
