"""An open page behind HAProxy goes on by itself after its server was killed, the database was away, or all servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from millpond.client import jobs
from millpond.model.job_spec import JobSpec
from millpond.testing.browser import Screen
from millpond.testing.postgres import Postgres
from millpond.wire.jobs import JobCreate
from tests.e2e.conftest import STATIC
from tests.integration.several_servers import Installation, installation
from tests.integration.test_kill_one_of_several import agents
from tests.integration.test_outages import linked


@pytest.mark.long
@pytest.mark.timeout(600)
def test_an_open_page_outlives_its_servers(
    postgres: Postgres, browser: Browser, password_file: Path, tmp_path: Path
) -> None:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page is not built (make web)")
    options = ("--trusted-proxies", "127.0.0.1", "--admin-password-file", str(password_file))
    with (
        linked(postgres) as (link, url),
        installation(url, (tmp_path / "lake").as_uri(), tmp_path, started=False) as made,
    ):
        for place in made.places:
            made.start(place, options)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        with agents(made, 1):
            screen = Screen(context.new_page(), made.url)
            screen.sign_in()
            screen.open("/jobs")
            page = screen.page
            page.evaluate("window.isFirstDocument = true")
            shows(page, made, "before")
            for place in made.places:
                made.kill(place)
                shows(page, made, f"without-{place}")
                made.start(place)
                shows(page, made, f"with-{place}-again")

            link.cut()
            expect(page.get_by_role("alert")).to_contain_text("The server is unavailable", timeout=60_000)
            expect(page.get_by_role("alert")).to_contain_text("The database")
            link.mend()
            expect(page.get_by_role("alert")).to_have_count(0, timeout=60_000)
            shows(page, made, "after-the-database")

            for place in made.places:
                made.kill(place)
            expect(page.get_by_role("alert")).to_contain_text("Cannot reach the server", timeout=60_000)
            made.start(0)
            expect(page.get_by_role("alert")).to_have_count(0, timeout=60_000)
            shows(page, made, "after-all-were-gone")
            assert page.evaluate("window.isFirstDocument"), "nobody had to load it again"
        context.close()
        assert screen.errors == []


def shows(page: Page, made: Installation, name: str) -> None:
    """A job that is submitted now appears, and so does its end."""
    with made.api() as api:
        jobs.submit_job(api, "default", JobCreate(name=name, spec=JobSpec(command=["true"])))
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("succeeded", timeout=60_000)
