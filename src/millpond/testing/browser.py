"""Debian's chromium, driven by Playwright: for journeys through the page and for the README's picture."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

PASSWORD = "correct horse battery"

# A browser that talks to nobody but the server under test. The sandbox needs rights that root in a container lacks.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> Path | None:
    """`MILL_CHROMIUM`, or the one on the path."""
    found = os.environ.get("MILL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    return Path(found) if found else None


@contextmanager
def running_browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Screen:
    """One tab that looks at one server; keeps what its console complained about."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def sign_in(self, name: str = "admin", password: str = PASSWORD) -> None:
        self.open("/login")
        self.fill_login(name, password)
        self.page.get_by_role("heading", name="Home").wait_for()

    def fill_login(self, name: str, password: str) -> None:
        self.page.get_by_role("textbox", name="User name").fill(name)
        self.page.locator("input[autocomplete=current-password]").fill(password)
        self.page.get_by_role("button", name="Sign in").click()

    def _hear(self, message: ConsoleMessage) -> None:
        # The browser itself reports every answer of 400 and more; the journeys look at what the page makes of them.
        if message.type == "error" and not re.match(r"Failed to load resource", message.text):
            self.errors.append(message.text)
