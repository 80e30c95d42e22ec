"""A clock jumps, or names of hosts are lost: it is said, no job is lost or done twice, and all heals by itself."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import make_url

from millpond.testing.postgres import Postgres
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.waiting import wait_until
from tests.integration.several_servers import installation
from tests.integration.surroundings import started_in
from tests.integration.test_kill_one_of_several import agents, states, submit_all
from tests.integration.test_outages import health, linked

HOUR = 3600


def messages(url: str) -> str:
    """What the server says of its parts that are not well."""
    parts = httpx.get(f"{url}/readyz", trust_env=False, timeout=30).json()["parts"]
    return " ".join(part["message"] for part in parts if not part["ok"])


@pytest.mark.long
def test_the_clock_of_one_of_two_servers_jumps(postgres: Postgres, tmp_path: Path) -> None:
    with (
        postgres.database() as url,
        installation(url, (tmp_path / "lake").as_uri(), tmp_path, started=False) as made,
    ):
        with started_in(tmp_path) as first:
            made.start(0)
        made.start(1)
        with agents(made, 4) as counted, made.api() as api:
            count = 0
            for ahead, way in ((HOUR, "forwards"), (-HOUR, "backwards"), (0, "forwards")):
                names = [f"job-{number}" for number in range(count, count + 6)]
                count += len(names)
                submit_all(made, names[:3], [])
                first.set_clock(ahead)
                told = f"jumped {way}"
                wait_until(lambda told=told: told in messages(made.servers[0].url), what=f"the clock that {told}")
                assert health(made.servers[0].url)[:2] == (200, "degraded"), "it answers all the same"
                assert health(made.servers[1].url)[1] == "ready"
                submit_all(made, names[3:], [])
                wait_until(
                    lambda count=count: states(api) == {"succeeded": count}, within=120, what="all jobs to succeed"
                )
        assert set(counted.begun.values()) == {1}
        assert len(counted.ended) == count


@pytest.mark.long
def test_names_of_hosts_are_lost(
    postgres: Postgres, seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with linked(postgres) as (database, url):
        named = make_url(url).set(host="localhost").render_as_string(hide_password=False)
        lake = Seaweed(seaweed.endpoint.replace("127.0.0.1", "localhost"), seaweed.bucket).url("names")
        with installation(named, lake, tmp_path, started=False) as made:
            with started_in(tmp_path) as around:
                for place in made.places:
                    made.start(place)
            with agents(made, 3) as counted, made.api() as api:
                submit_all(made, ["before-1", "before-2"], [])
                around.lose_names(True)
                database.cut()  # connections that are open need no names
                database.mend()
                for running in made.servers.values():
                    wait_until(
                        lambda url=running.url: "its name is not found (DNS)" in messages(url), what="it to be told"
                    )
                    assert health(running.url)[0] == 503
                around.lose_names(False)
                for running in made.servers.values():
                    wait_until(lambda url=running.url: health(url)[1] == "ready", what="the servers to heal")
                submit_all(made, ["after-1", "after-2"], [])
                wait_until(lambda: states(api) == {"succeeded": 4}, within=120, what="all jobs to succeed")
            assert set(counted.begun.values()) == {1}
