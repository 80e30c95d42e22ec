"""What is told about a commit whose packs the server has read, has not read yet, or has found bad."""

from __future__ import annotations

from millpond.db.uploads import to_verify
from millpond.services.commits.packs import verify
from millpond.services.commits.uploads import uploads
from millpond.services.datasets import urls
from millpond.services.datasets.urls import UrlsWanted
from millpond.services.deps import Deps
from millpond.services.lake.verification import verification
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.clock import FakeClock


def test_a_new_commit_is_not_verified_until_its_packs_were_read(deps: Deps, clock: FakeClock) -> None:
    commit = a_commit(deps, {"a": b"1", "b": b"2"})
    dataset = a_dataset(deps)
    before = verification(deps, dataset, commit)
    assert before.packs == 1
    assert (before.verified_packs, before.verified_bytes, before.verified_at) == (0, 0, None)

    clock.advance(deps.settings.url_seconds + 3600)
    verify.verify_some(deps)
    after = verification(deps, dataset, commit)
    assert (after.verified_packs, after.verified_bytes) == (1, before.bytes)
    assert after.verified_at == clock.now()
    assert after.problems == []


def test_a_commit_rests_on_the_packs_of_those_before_it(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    second = a_commit(deps, {"a": b"1", "b": b"2"})
    assert verification(deps, a_dataset(deps), second).packs == 2


def test_packs_are_not_read_while_somebody_uploads_unless_they_are_old(deps: Deps, clock: FakeClock) -> None:
    a_commit(deps, {"a": b"1"})
    assert verify.verify_some(deps, at_rest=verify.AT_REST) == 0, "its own upload was used just now"

    clock.advance(verify.AT_REST.total_seconds())
    uploads.create(deps, the_admin(deps), the_project(deps))
    assert verify.verify_some(deps, at_rest=verify.AT_REST) == 0, "somebody else's, too"

    clock.advance(verify.AT_REST.total_seconds())
    assert verify.verify_some(deps, at_rest=verify.AT_REST) == 1


def test_packs_are_not_read_while_somebody_downloads(deps: Deps, clock: FakeClock) -> None:
    commit = a_commit(deps, {"a": b"1"})
    clock.advance(verify.AT_REST.total_seconds())
    with deps.db.read() as tx:
        [pack] = to_verify(tx, limit=2, promised_before=None, wanted=())
    urls.sign(deps, the_admin(deps), a_dataset(deps), commit, UrlsWanted(packs=[pack.id]))
    assert verify.verify_some(deps, at_rest=verify.AT_REST) == 0

    clock.advance(verify.AT_REST.total_seconds())
    assert verify.verify_some(deps, at_rest=verify.AT_REST) == 1
