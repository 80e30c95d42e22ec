"""Sealed values open only as what they were sealed for, tickets only once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.errors import Forbidden
from millpond.services.deps import Deps
from millpond.services.people.tickets import TICKET_SECONDS, issue, redeem, seal, unseal
from millpond.testing.clock import NOON

SECRET = b"a secret of the server's own"


def test_what_was_sealed_is_unsealed_until_it_expires() -> None:
    sealed = seal(SECRET, "job", {"id": "ü", "n": 1}, expires=NOON + timedelta(seconds=10))
    assert unseal(SECRET, "job", sealed, NOON) == {"id": "ü", "n": 1}
    with pytest.raises(Forbidden, match="expired"):
        unseal(SECRET, "job", sealed, NOON + timedelta(seconds=10))


def test_nothing_else_is_opened() -> None:
    sealed = seal(SECRET, "job", {"id": 1}, expires=NOON + timedelta(seconds=10))
    body, _, signature = sealed.partition(".")
    other = seal(SECRET, "job", {"id": 2}, expires=NOON + timedelta(seconds=10)).partition(".")[0]
    for wrong in (f"{other}.{signature}", body, f"{body}.", f"{body}.{signature[:-1]}", f".{signature}", "", "ü.ü"):
        with pytest.raises(Forbidden, match="not created by this server"):
            unseal(SECRET, "job", wrong, NOON)
    with pytest.raises(Forbidden, match="not created by this server"):
        unseal(SECRET, "another purpose", sealed, NOON)
    with pytest.raises(Forbidden, match="not created by this server"):
        unseal(b"another secret", "job", sealed, NOON)


def test_a_ticket_is_good_once_and_not_for_long(deps: Deps) -> None:
    used = deps.db
    first, second = (issue(SECRET, "job", {"id": 1}, NOON) for _ in range(2))
    assert redeem(SECRET, "job", first, used, NOON) == {"id": 1}
    with pytest.raises(Forbidden, match="already used"):
        redeem(SECRET, "job", first, used, NOON + timedelta(seconds=TICKET_SECONDS - 1))
    late = NOON + timedelta(seconds=TICKET_SECONDS)
    for ticket in (first, second):
        with pytest.raises(Forbidden, match="expired"):
            redeem(SECRET, "job", ticket, used, late)
