"""Which scope a request needs, and what a token without it is told."""

from __future__ import annotations

import pytest

from millpond.decide.token_scopes import allows, needed_scopes, written
from millpond.model.people import Role, TokenScope

READ, DATA, SUBMIT, ADMIN = TokenScope.READ, TokenScope.DATA, TokenScope.SUBMIT, TokenScope.ADMIN


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/projects/p/datasets/x-ray/commits", {READ}),
        ("POST", "/projects/p/uploads", {DATA, SUBMIT}),
        ("POST", "/projects/p/datasets/x-ray/commits", {DATA}),
        ("POST", "/projects/p/datasets/.code/commits", {DATA, SUBMIT}),
        ("DELETE", "/projects/p/datasets/.code", {DATA}),
        ("POST", "/projects/p/datasets/x-ray/edits", {DATA}),
        ("POST", "/projects/p/jobs", {SUBMIT}),
        ("POST", "/projects/p/flows:validate", {READ}),
        ("POST", "/users", {ADMIN}),
    ],
)
def test_what_a_member_needs(method: str, path: str, needed: set[TokenScope]) -> None:
    assert needed_scopes(method, path, role=Role.MEMBER) == needed


def test_a_token_to_submit_brings_the_code_of_its_jobs_and_no_data() -> None:
    code = needed_scopes("POST", "/projects/p/datasets/.code/commits", role=Role.MEMBER)
    data = needed_scopes("POST", "/projects/p/datasets/x-ray/commits", role=Role.MEMBER)
    assert allows({SUBMIT}, code) and not allows({SUBMIT}, data) and not allows({READ}, code)
    assert written(code) == "data or submit"
