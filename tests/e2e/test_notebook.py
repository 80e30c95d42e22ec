"""JupyterLab as an interactive job, used through the browser at its own origin, across a crash of the server."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from millpond.testing.browser import Screen
from millpond.testing.daemons import free_port
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.e2e.conftest import STATIC, Mill

JUPYTER = os.environ.get("MILL_TEST_JUPYTER") or shutil.which("jupyter")

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (STATIC / "index.html").exists(), reason="the page is not built (make web)"),
    pytest.mark.skipif(
        JUPYTER is None or shutil.which("jupyter-lab", path=str(Path(JUPYTER).parent)) is None,
        reason="JupyterLab is not installed (pip install jupyterlab, or MILL_TEST_JUPYTER=/venv/bin/jupyter)",
    ),
]

TOKEN = "a-token-of-the-team"
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "id": "one", "execution_count": None, "metadata": {}, "outputs": [],
         "source": "kept = 6 * 7\nprint('the answer is', kept)"},
        {"cell_type": "code", "id": "two", "execution_count": None, "metadata": {}, "outputs": [],
         "source": "print('still', kept, 'and', len('x' * 3_000_000))"},
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}},
    "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    yield made
    made.close()


def test_a_notebook_outlives_the_server(tmp_path: Path, context: BrowserContext, password_file: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "hello.ipynb").write_text(json.dumps(NOTEBOOK))
    options = ("--port", str(free_port()), "--admin-password-file", str(password_file))
    with mill_up(tmp_path / "data", *options) as up:
        submit(up, tmp_path / "code", free_port())
        lab = open_lab(up, context)
        lab.goto(lab.url.partition("/lab")[0] + "/lab/tree/hello.ipynb")
        run_cell(lab, 0, "the answer is 42")
        open_terminal(lab)
        up.kill()
    with mill_up(tmp_path / "data", *options) as again:
        type_in_terminal(lab, "again")
        lab.get_by_role("tab", name="hello.ipynb").click()
        run_cell(lab, 1, "still 42 and 3000000")
        with again.client() as admin:
            end(admin)


def submit(up: MillUp, code: Path, port: int) -> None:
    mill = Mill(up)
    (code.parent / "token").write_text(TOKEN)
    mill("secret", "set", "JUPYTER_TOKEN", "--file", str(code.parent / "token"))
    words = [str(JUPYTER), "lab", "--no-browser", "--port", str(port)]
    words += ["--allow-root"] if os.geteuid() == 0 else []
    # It outlives the server, and so a test that fails.
    options = ("--timeout", "10m", "--port", str(port), "--secret", "JUPYTER_TOKEN")
    mill("submit", "lab", *options, "--", *words, cwd=code)
    wait_until(lambda: "is running at" in mill("logs", "lab"), within=60, what="JupyterLab")


def open_lab(up: MillUp, context: BrowserContext) -> Page:
    screen = Screen(context.new_page(), up.url)
    screen.sign_in()
    screen.open("/jobs")
    screen.page.get_by_role("link", name="lab", exact=True).click()
    with context.expect_page() as opened:
        screen.page.get_by_role("button", name="Open port").click()
    lab = opened.value
    lab.locator("input[type=password]").first.fill(TOKEN)
    lab.get_by_role("button", name="Log in").first.click()
    lab.locator("#jp-main-dock-panel").wait_for(timeout=60_000)
    # What JupyterLab itself says while the server is away, as often as it tries.
    away = lab.get_by_role("dialog", name="Server Connection Error").first
    lab.add_locator_handler(away, lambda said: said.get_by_role("button", name="Close").first.click())
    return lab


def run_cell(lab: Page, number: int, said: str) -> None:
    """Once the kernel is there; what that does, JupyterLab does not know after the connection was lost, until asked."""
    lab.get_by_text(re.compile(r"Python 3 \(ipykernel\) \| (Idle|Unknown)")).first.wait_for(timeout=60_000)
    lab.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(number).click(timeout=60_000)
    lab.keyboard.press("Control+Enter")
    expect(lab.locator(".jp-OutputArea-output", has_text=said)).to_be_visible(timeout=60_000)


def open_terminal(lab: Page) -> None:
    lab.get_by_role("menuitem", name="File").click()
    lab.locator(".lm-Menu-item[data-type=submenu]").filter(has_text="New").first.hover()
    lab.locator(".lm-Menu-itemLabel", has_text="Terminal").last.click()
    type_in_terminal(lab, "here")


def type_in_terminal(lab: Page, word: str) -> None:
    """A file of that name is made; the screen of a terminal is a picture."""
    lab.locator(".jp-Terminal .xterm-screen").first.click()
    lab.keyboard.type(f"echo {word} > {word}.txt\n")
    expect(lab.locator(".jp-DirListing-item", has_text=f"{word}.txt")).to_be_visible(timeout=60_000)


def end(admin: httpx.Client) -> None:
    place = "/projects/default/jobs/lab"
    admin.post(f"{place}/stop")
    wait_until(lambda: admin.get(place).json()["ended_at"], within=60, what="the job's end")
