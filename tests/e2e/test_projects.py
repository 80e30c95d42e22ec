"""Projects: the page of one, and the switch that narrows every list to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen

from .conftest import Mill


@pytest.fixture
def vision(mill: Mill) -> Iterator[str]:
    """A second project; gone afterwards, since all journeys share a server."""
    mill("project", "create", "vision")
    yield "vision"
    mill("project", "delete", "vision", "--yes")


def test_a_chosen_project_narrows_every_list(screen: Screen, vision: str, digits: str) -> None:
    page = screen.page
    screen.open("/datasets")
    expect(page.get_by_role("link", name=digits)).to_be_visible()
    _choose(screen, vision)
    expect(page).to_have_url(re.compile(r"project=vision"))
    expect(page.get_by_role("link", name=digits)).to_have_count(0)

    # The choice holds on other lists and after a reload, and the address says it.
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page).to_have_url(re.compile(r"/jobs\?project=vision"))
    screen.open("/runs")
    expect(page).to_have_url(re.compile(r"/runs\?project=vision"))

    _choose(screen, "All projects")
    expect(page).not_to_have_url(re.compile(r"project="))
    screen.open("/datasets")
    expect(page.get_by_role("link", name=digits)).to_be_visible()

    screen.open("/projects")
    page.get_by_role("table", name="Projects").get_by_role("link", name="default").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("default")
    expect(page.get_by_role("link", name=digits)).to_be_visible()
    page.get_by_role("tab", name="Members").click()
    expect(page.get_by_role("table", name="Members of default")).to_be_visible()


def _choose(screen: Screen, name: str) -> None:
    screen.page.get_by_role("combobox", name="Project").click()
    screen.page.get_by_role("option", name=name).click()
