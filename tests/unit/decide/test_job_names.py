from __future__ import annotations

import pytest

from millpond.decide.job_names import JobWritten, made_name
from millpond.model.ids import new_job_id
from millpond.model.names import check_name


def test_a_made_name_depends_on_the_id_alone() -> None:
    assert made_name("7h3k9qwe") == made_name("7h3k9qwe") == "brisk-clover"


def test_made_names_may_name_jobs_and_differ() -> None:
    names = [made_name(new_job_id()) for _ in range(200)]
    assert all(check_name(name, "job") for name in names)
    assert len(set(names)) > 150


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("train", JobWritten("train")),
        ("train#2", JobWritten("train", 2)),
        ("7h3k9qwe", JobWritten("7h3k9qwe")),
        # What no job can be called is not found under its whole text.
        ("train#", JobWritten("train#")),
        ("train#two", JobWritten("train#two")),
        ("train#99999999999", JobWritten("train#99999999999")),
        ("../etc", JobWritten("../etc")),
    ],
)
def test_what_people_write(text: str, written: JobWritten) -> None:
    assert JobWritten.parse(text) == written
