"""Collection as tables: a pack and what is known of it → why it stays, or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.decide.collection import Mark, PackSeen, Policy, may_remove, plan_packs, why_stays
from millpond.model.dataset import PackState
from millpond.testing.clock import NOON

OLD = NOON - timedelta(days=40)
PACK = PackSeen("p", PackState.LIVE, 10, promised_at=OLD, used_at=OLD)
DAILY, HURRIED = Policy(), Policy.hurried()


@pytest.mark.parametrize(
    ("what", "pack", "daily", "hurried"),
    [
        ("nobody needs it", PACK, None, None),
        ("condemned already", replace(PACK, state=PackState.CONDEMNED), None, None),
        ("being removed, whoever needs it", replace(PACK, state=PackState.DELETING, mark=Mark.NAMED), None, None),
        ("a commit needs it", replace(PACK, mark=Mark.NAMED), "commits in use", "commits in use"),
        ("the bin needs it", replace(PACK, mark=Mark.BIN), "deleted datasets", "deleted datasets"),
        ("set aside", replace(PACK, mark=Mark.SET_ASIDE), "grace period", "grace period"),
        ("bad, but needed", replace(PACK, mark=Mark.NAMED, problem="x"), "damaged", "damaged"),
        ("its upload goes on", replace(PACK, used_at=NOON - timedelta(hours=23)), "within 1 d", None),
        ("its upload has ended", replace(PACK, used_at=NOON - timedelta(hours=25)), None, None),
        (
            "promised this moment",
            replace(PACK, state=PackState.PROMISED, promised_at=NOON, used_at=NOON),
            "may still write",
            "may still write",
        ),
        (
            "promised two hours ago",
            replace(PACK, state=PackState.PROMISED, promised_at=NOON - timedelta(hours=2)),
            "may still write",
            None,
        ),
        ("promised, never written", replace(PACK, state=PackState.PROMISED), None, None),
    ],
)
def test_why_a_pack_stays(what: str, pack: PackSeen, daily: str | None, hurried: str | None) -> None:
    for policy, expected in ((DAILY, daily), (HURRIED, hurried)):
        why = why_stays(pack, policy, NOON)
        assert (why is None) == (expected is None), what
        assert expected is None or expected in str(why), what


def test_a_plan_adds_up() -> None:
    packs = [PACK, replace(PACK, id="q", bytes=5, mark=Mark.NAMED), replace(PACK, id="r", bytes=7, mark=Mark.NAMED)]
    plan = plan_packs(packs, DAILY, NOON)
    assert (list(plan.goes), plan.bytes) == (["p"], 10)
    assert [(amount.packs, amount.bytes) for amount in plan.stays.values()] == [(2, 12)]


def test_a_commit_is_set_aside_for_a_week() -> None:
    assert not may_remove(None, DAILY, NOON)
    assert not may_remove(NOON - timedelta(days=6), DAILY, NOON)
    assert may_remove(NOON - timedelta(days=7), DAILY, NOON)
    assert may_remove(None, HURRIED, NOON)
