"""Notifications: the bell rings by itself when a job fails; what one is told and where is chosen on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from millpond.testing.mail import Mail, running_mail
from millpond.testing.waiting import wait_until

from .accessibility import assert_accessible
from .conftest import Mill

pytestmark = pytest.mark.long


@pytest.fixture
def mail(mill: Mill, tmp_path: Path) -> Iterator[Mail]:
    with running_mail(tmp_path) as made:
        yield made
        mill("notification", "smtp", "rm", "--yes")


def test_the_bell_rings_and_mail_comes(screen: Screen, mill: Mill, mail: Mail) -> None:
    page = screen.page
    screen.open("/mail")
    page.get_by_role("button", name="Set a mail server").click()
    page.get_by_role("textbox", name="Host").fill("127.0.0.1")
    page.get_by_label("Connection").select_option("none")
    page.get_by_role("textbox", name="Port").fill(str(mail.port))
    page.get_by_role("textbox", name="From").fill("millpond@lab.example")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("textbox", name="Send a test message to").fill("root@example.org")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("The mail server took the test message")).to_be_visible()
    assert_accessible(page)

    screen.open("/account")
    page.get_by_role("button", name="Add a channel").click()
    page.get_by_role("textbox", name="Name").fill("mail")
    page.get_by_role("textbox", name="Address").fill("root@example.org")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("table", name="Channels")).to_contain_text("root@example.org")
    page.get_by_role("checkbox", name="mail: job succeeded").click()
    expect(page.get_by_role("checkbox", name="mail: job succeeded")).not_to_be_checked()
    page.get_by_label("Tell me: job succeeded").select_option("own")
    assert_accessible(page)

    # Nobody loads the page again: the stream tells.
    mill("submit", "broken", "--no-code", "--", "sh", "-c", "exit 3")
    bell = page.get_by_role("button", name=re.compile("Notifications: 1 unread"))
    bell.wait_for(timeout=120_000)
    bell.click()
    page.get_by_role("link", name="Job broken failed").wait_for()
    assert_accessible(page)
    page.get_by_role("link", name="Job broken failed").click()
    expect(page).to_have_url(re.compile(r"/projects/default/jobs/"))
    expect(page.get_by_role("button", name="Notifications", exact=True)).to_be_visible()

    screen.open("/notifications")
    expect(page.get_by_role("link", name="Job broken failed")).to_be_visible()
    page.get_by_role("switch", name="Only unread").click()
    expect(page.get_by_text("Everything is read.")).to_be_visible()

    wanted = "[Millpond] Job broken failed (default)"
    wait_until(lambda: wanted in [one["Subject"] for one in mail.messages], what="the message")
    screen.open("/projects/default?tab=notifications")
    expect(page.get_by_label("Tell me: job failed")).to_have_value("default")
    page.get_by_label("Tell me: job failed").select_option("all")
    expect(page.get_by_label("Tell me: job failed")).to_have_value("all")
    assert_accessible(page)
    mill("notification", "set", "job-failed=default", "--project", "default")
    mill("notification", "channel", "rm", "mail", "--yes")
