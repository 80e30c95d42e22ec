"""Getting in and out of the page."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from millpond.testing.browser import PASSWORD, Screen
from millpond.testing.up import MillUp


def test_a_link_sent_by_a_colleague_leads_through_the_login_to_its_page(browser: Browser, server: MillUp) -> None:
    context = browser.new_context()
    screen = Screen(context.new_page(), server.url)
    screen.open("/jobs?state=failed")
    expect(screen.page).to_have_url(server.url + "/login?next=%2Fjobs%3Fstate%3Dfailed")
    screen.fill_login("admin", "wrong")
    alert = screen.page.get_by_role("alert")
    expect(alert).to_contain_text("wrong")
    expect(alert).to_contain_text("Request")
    screen.fill_login("admin", PASSWORD)
    expect(screen.page).to_have_url(server.url + "/jobs?state=failed")
    context.close()


def test_signing_out_closes_every_page(browser: Browser, server: MillUp) -> None:
    context = browser.new_context()
    screen = Screen(context.new_page(), server.url)
    screen.sign_in()
    page = screen.page
    page.get_by_role("button", name="Signed in as admin").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    screen.open("/datasets")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    context.close()


def test_an_address_that_leads_nowhere_says_so(screen: Screen) -> None:
    screen.open("/no/such/page")
    expect(screen.page.get_by_role("heading", name="Page not found")).to_be_visible()
    expect(screen.page.get_by_role("link", name="Datasets")).to_be_visible()
    screen.open("/projects/default/datasets/no-such")
    expect(screen.page.get_by_role("heading", name="Page not found")).to_be_visible()


def test_a_token_is_shown_once(screen: Screen) -> None:
    page = screen.page
    screen.open("/tokens")
    page.get_by_role("button", name="New token").first.click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Create", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("mill_")
    page.get_by_role("button", name="Done", exact=True).click()
    row = page.get_by_role("row", name="laptop")
    expect(row).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("mill_")
    row.get_by_role("button", name="Revoke laptop").click()
    expect(row).to_have_count(0)
