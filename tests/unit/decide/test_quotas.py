from __future__ import annotations

import pytest

from millpond.decide.quotas import refusal, seconds_left, used_words
from millpond.model.quota import QuotaHolder, QuotaKind, QuotaUse

GB = 10**9
PEOPLE = (QuotaHolder("maria", 6 * GB), QuotaHolder("jobs", 2 * GB))


@pytest.mark.parametrize(
    ("use", "asked", "said"),
    [
        (QuotaUse(QuotaKind.LAKE, None, 10 * GB), GB, None),
        (QuotaUse(QuotaKind.LAKE, 10 * GB, 9 * GB), GB, None),
        (
            QuotaUse(QuotaKind.LAKE, 10 * GB, 9 * GB, PEOPLE),
            2 * GB,
            "Project vision may keep 10.0 GB in the lake: 9.0 GB are used, and 2.0 GB more are needed. "
            "Most of it: maria (6.0 GB), jobs (2.0 GB).",
        ),
        (
            QuotaUse(QuotaKind.CACHED, 0, 0),
            GB,
            "Project vision may cache 0 B on all volumes together: 0 B are used, and 1.0 GB more are needed.",
        ),
        (
            QuotaUse(QuotaKind.CALLS, 600, 600, (QuotaHolder("ada", 600),)),
            1,
            "Project vision may make 600 API calls a minute, and has. Most of it: ada (600).",
        ),
    ],
)
def test_a_refusal_says_how_much_who_has_it_and_what_to_do(use: QuotaUse, asked: int, said: str | None) -> None:
    found = refusal("vision", use, asked)
    assert (found.message if found else None) == said
    if found is not None:
        assert found.hint.endswith("ask an administrator: mill project quota vision")


def test_what_is_used_in_words() -> None:
    assert used_words(QuotaUse(QuotaKind.LAKE, 10 * GB, 9 * GB)) == "9.0 GB of 10.0 GB"
    assert used_words(QuotaUse(QuotaKind.JOBS, None, 3)) == "3"
    assert [seconds_left(second) for second in (0.0, 59.5)] == [60, 1]
