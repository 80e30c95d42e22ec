"""Signing in with a provider that really runs, and what its groups give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from millpond.testing.browser import Screen
from millpond.testing.oidc import CLIENT_ID, CLIENT_SECRET, OidcProvider, running_oidc_provider, why_not
from millpond.testing.up import MillUp
from tests.e2e.conftest import Mill

FOLDER = Path(__file__).parents[2] / "dev" / "oidc"
pytestmark = pytest.mark.skipif(why_not(FOLDER) is not None, reason=why_not(FOLDER) or "")


@pytest.fixture
def provider(tmp_path: Path, server: MillUp, mill: Mill) -> Iterator[OidcProvider]:
    with running_oidc_provider(FOLDER, tmp_path, server_url=server.url) as running:
        (tmp_path / "secret").write_text(CLIENT_SECRET)
        mill(
            "auth", "provider", "add", "corp", "--title", "Corp", "--issuer", running.issuer, "--client-id", CLIENT_ID,
            "--client-secret-file", str(tmp_path / "secret"), "--scopes", "openid,profile,email,groups",
        )  # fmt: skip
        mill("auth", "rule", "add", "data-team", "--to", "default", "--role", "viewer")
        yield running
        mill("auth", "provider", "rm", "corp", "--yes")


def test_somebody_signs_in_with_a_provider_and_sees_what_their_groups_give(
    browser: Browser, server: MillUp, provider: OidcProvider
) -> None:
    provider.set_accounts({"s1": {"preferred_username": "lise", "name": "Lise", "groups": ["data-team"]}})
    context = browser.new_context()
    screen = Screen(context.new_page(), server.url)
    screen.open("/account")
    page = screen.page
    page.get_by_role("link", name="Sign in with Corp").click()
    page.locator("input[name=login]").fill("s1")
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()
    expect(page).to_have_url(server.url + "/account")
    expect(page.get_by_role("table", name="Browsers")).to_contain_text("this one")
    expect(page.get_by_role("table", name="Linked sign-ins")).to_contain_text("corp")
    screen.open("/projects")
    expect(page.get_by_role("main")).to_contain_text("default")
    context.close()
