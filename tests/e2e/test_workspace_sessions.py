"""JupyterLab in a workspace, opened by a click: no second token, a kernel that computes, and an end by another one."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from millpond.testing.browser import Screen
from millpond.testing.up import mill_up
from tests.e2e.accessibility import assert_accessible
from tests.e2e.conftest import STATIC, Mill

JUPYTER = os.environ.get("MILL_TEST_JUPYTER") or shutil.which("jupyter-lab")

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (STATIC / "index.html").exists(), reason="the page is not built (make web)"),
    pytest.mark.skipif(
        JUPYTER is None or not Path(JUPYTER).with_name("jupyter-lab").exists(),
        reason="JupyterLab is not installed (pip install jupyterlab, or MILL_TEST_JUPYTER=/venv/bin/jupyter)",
    ),
]


def test_a_click_opens_jupyterlab(
    tmp_path: Path, browser: Browser, password_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(str(JUPYTER)).parent}:{os.environ['PATH']}")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    with mill_up(tmp_path / "data", "--admin-password-file", str(password_file)) as up:
        mill = Mill(up)
        mill("workspace", "create", "notes", "--size", "100MB")
        screen = Screen(context.new_page(), up.url)
        screen.sign_in()
        page = screen.page
        screen.open("/projects/default/workspaces/notes")
        page.get_by_role("button", name="Open notes").click()
        dialog = page.get_by_role("dialog", name="Open notes")
        expect(dialog.get_by_text("mill workspace open notes --lab")).to_be_visible()
        assert_accessible(page)
        with context.expect_page() as opened:
            dialog.get_by_role("button", name="Open", exact=True).click()
        lab = opened.value
        compute(lab)
        session = page.get_by_role("region", name="Open sessions")
        expect(session.get_by_text("JupyterLab")).to_be_visible()
        with context.expect_page() as again:
            session.get_by_role("button", name=re.compile("Open JupyterLab")).click()
        again.value.locator("#jp-main-dock-panel").wait_for(timeout=60_000)
        session.get_by_role("button", name=re.compile("Stop JupyterLab")).click()
        expect(session).to_have_count(0)
        assert screen.errors == []
    context.close()


def compute(lab: Page) -> None:
    """In a new notebook, over the WebSocket of its kernel."""
    lab.locator(".jp-LauncherCard[data-category=Notebook]").first.click(timeout=90_000)
    lab.get_by_text(re.compile(r"Python 3 \(ipykernel\) \| Idle")).first.wait_for(timeout=90_000)
    lab.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    lab.keyboard.type("print('answer', 6 * 7)")
    lab.keyboard.press("Control+Enter")
    expect(lab.locator(".jp-OutputArea-output", has_text="answer 42")).to_be_visible(timeout=60_000)
