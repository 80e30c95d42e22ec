"""The documentation as a reader meets it: found from the page, searched, and the API tried with the page's session."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.testing.browser import Screen

SITE = Path(__file__).resolve().parents[2] / "src" / "millpond" / "api" / "documentation"

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html.gz").exists(), reason="the documentation is not built (make docs-site)"
)


def test_the_documentation_is_found_searched_and_the_api_tried(screen: Screen) -> None:
    page = screen.page
    elsewhere: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(screen.url) else elsewhere.append(request.url))
    screen.open("/")
    page.get_by_role("button", name="Signed in as").click()
    link = page.get_by_role("menuitem", name="Documentation")
    assert link.get_attribute("href") == f"{screen.url}/docs/"

    screen.open("/docs/")
    page.get_by_role("textbox", name="Search").fill("preempt")
    page.locator(".md-search-result__item").first.wait_for()

    screen.open("/docs/api/#list_projects")
    operation = page.locator("#list_projects")
    operation.get_by_role("button", name="Send GET").click()
    operation.get_by_text('"name": "default"').wait_for()
    page.get_by_role("searchbox", name="Filter operations").fill("submit job")
    page.locator("#submit_job").wait_for()
    assert operation.is_hidden()

    assert [url for url in elsewhere if not url.startswith(("data:", "blob:"))] == []
    assert screen.errors == []
