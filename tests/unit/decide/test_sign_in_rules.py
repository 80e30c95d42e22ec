"""What groups give at a sign-in, and what becomes of roles that rules gave before."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from millpond.decide.account_names import account_name, free_name
from millpond.decide.sign_in_rules import Standing, plan_roles
from millpond.model.people import Role
from millpond.model.sign_in import SITE, GroupRule, RuleGrant
from millpond.testing.clock import NOON

VIEWER, MEMBER, ADMIN = Role.VIEWER, Role.MEMBER, Role.ADMIN


def rule(group: str, target: str, role: Role, provider: str | None = None) -> GroupRule:
    return GroupRule(f"{group} {target}", provider, group, target, role, NOON, "admin")


RULES = [
    rule("team", "lab", MEMBER),
    rule("te*", "lab", VIEWER),
    rule("boss", SITE, ADMIN),
    rule("x", "far", ADMIN, "p2"),
]
GIVEN = (RuleGrant("lab", "p1", MEMBER, None),)
RAISED = (RuleGrant("lab", "p1", MEMBER, VIEWER),)


@pytest.mark.parametrize(
    ("groups", "standing", "changes"),
    [
        (["team"], Standing({}), {"lab": MEMBER}),  # the greatest of all that fit
        (["tests"], Standing({}), {"lab": VIEWER}),
        (["boss"], Standing({}), {SITE: ADMIN}),
        (["x"], Standing({}), {}),  # of another provider
        ([], Standing({"lab": MEMBER}, GIVEN), {"lab": None}),
        ([], Standing({"lab": MEMBER}, RAISED), {"lab": VIEWER}),  # what was given by hand comes back
        ([], Standing({"lab": MEMBER}), {}),  # given by hand
        (["tests"], Standing({"lab": ADMIN}), {}),  # never lowered
        ([], Standing({"lab": MEMBER}, (*GIVEN, RuleGrant("lab", "p2", VIEWER, None))), {"lab": VIEWER}),
        ([], Standing({"lab": ADMIN}, (RuleGrant("lab", "p1", ADMIN, None),), {"lab"}), {}),  # the only one
        (None, Standing({"lab": MEMBER}, GIVEN), {}),  # nobody knows
    ],
)
def test_rules_give_and_take_what_is_theirs(
    groups: Collection[str] | None, standing: Standing, changes: Mapping[str, Role | None]
) -> None:
    assert plan_roles(RULES, "p1", groups, standing).changes == changes


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("Ada.Lovelace@corp.example", "ada.lovelace"),
        ("CORP\\ada", "ada"),
        ("Zoë Ü", "zo"),
        ("!!!", ""),
        ("a..b", "a.b"),
    ],
)
def test_names_of_accounts(called: str, name: str) -> None:
    assert account_name(called) == name


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("ada", {"ada", "ada-2"}) == "ada-3"
