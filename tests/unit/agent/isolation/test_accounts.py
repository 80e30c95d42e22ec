"""Numbers of projects become users and groups, and never somebody else's."""

from __future__ import annotations

import pytest

from millpond.agent.isolation.accounts import DEFAULT, Accounts
from millpond.errors import BadRequest


def test_each_project_has_its_own() -> None:
    accounts = Accounts.parse(DEFAULT)
    assert (accounts.of(1), accounts.of(2)) == (70001, 70002)


@pytest.mark.parametrize(
    "text", ["", "70000", "70000-", "a-b", "90000-80000", "0-100000", "100-200", "70000-9999999999"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="not a range of user ids"):
        Accounts.parse(text)


@pytest.mark.parametrize("number", [0, -1, 11])
def test_a_number_beyond_the_range_gets_none(number: int) -> None:
    with pytest.raises(OSError, match="--job-uids"):
        Accounts(70000, 70010).of(number)


def test_an_account_of_the_machine_is_not_taken() -> None:
    nobody = Accounts(65533, 65540)
    with pytest.raises(OSError, match="'nobody'"):
        nobody.of(1)
