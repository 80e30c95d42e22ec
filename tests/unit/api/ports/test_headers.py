"""What of a browser's request a job gets to see."""

from __future__ import annotations

import pytest

from millpond.api.ports.headers import Header, Names, inwards

NAMES = Names("https://8888-ab12.apps.example", 8888)


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ((b"Cookie", b"theirs=1; mill_session=x; other=2"), (b"Cookie", b"theirs=1; other=2")),
        ((b"Cookie", b"theirs=1;mill_session=x"), (b"Cookie", b"theirs=1")),
        ((b"Cookie", b" MILL_port=x"), None),
        ((b"Authorization", b"Bearer mill_x"), None),
        ((b"Authorization", b"token of the notebook"), (b"Authorization", b"token of the notebook")),
        ((b"X-Mill-CSRF", b"x"), None),
        ((b"Origin", b"https://8888-ab12.apps.example"), (b"Origin", b"http://localhost:8888")),
        ((b"X-Requested-With", b"x"), (b"X-Requested-With", b"x")),
    ],
)
def test_nothing_of_millponds_reaches_the_job(sent: Header, seen: Header | None) -> None:
    assert inwards(NAMES, [sent]) == [(b"host", b"localhost:8888"), *([seen] if seen else [])]
