"""Reports of agents say everything each time: what is known already changes nothing and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event

from millpond.model.cached_state import CachedState
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.services.repeated_reports import REPEATED_SECONDS
from millpond.testing.builders_data import (
    GB,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_agent,
    sees,
    the_admin,
    the_volume,
    told,
)
from millpond.testing.clock import FakeClock


@contextmanager
def statements(deps: Deps) -> Iterator[list[str]]:
    """The statements that change something, as the database is given them."""
    found: list[str] = []

    def note(conn: object, cursor: object, statement: str, *_: object) -> None:
        if statement.split()[0] in ("INSERT", "UPDATE", "DELETE"):
            found.append(statement)

    event.listen(deps.db.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(deps.db.engine, "before_cursor_execute", note)


def test_a_report_of_a_volume_that_is_repeated_writes_nothing_for_a_moment(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    report = [sees(the_volume(deps), free=50 * GB)]
    cache_reports.observe_volumes(deps, agent, report)
    with statements(deps) as written:
        cache_reports.observe_volumes(deps, agent, report)
        assert written == []
        clock.advance(REPEATED_SECONDS)
        cache_reports.observe_volumes(deps, agent, report)
        assert written, "it is heard of again before it could count as away"


def test_what_changed_on_a_volume_is_taken_at_once(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    for problem in ("The mount is gone.", None, "The mount is gone."):
        cache_reports.observe_volumes(deps, agent, [sees(the_volume(deps), free=50 * GB, problem=problem)])
        assert the_volume(deps).problem == problem


def test_a_fill_that_is_as_far_as_before_writes_nothing(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = a_sized_commit(deps, a_dataset(deps, "xray"), size=GB)
    cached = cache_requests.request(deps, the_admin(deps), f"xray@{commit.id}", volume="nfs").cached
    [wanted] = desired_fills.desired_for(deps, agent)[1]
    halfway = told(wanted, "filling").model_copy(update={"done_bytes": GB // 2, "done_files": 1})
    with statements(deps) as written:
        cache_reports.observe_fills(deps, agent, [told(wanted, "filling")])
        assert written == []
        cache_reports.observe_fills(deps, agent, [halfway])
        assert written
        written.clear()
        cache_reports.observe_fills(deps, agent, [halfway])
        assert written == []
        cache_reports.observe_fills(deps, agent, [told(wanted, "ready")])
    asked_again = cache_requests.request(deps, the_admin(deps), f"xray@{commit.id}", volume="nfs").cached
    assert (asked_again.id, asked_again.state) == (cached.id, CachedState.READY)
