"""Every page that says so is run as a reader would: its commands in order, with the output that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.testing.up import MillUp, mill_up
from tests.docs.blocks import Page, pages
from tests.docs.sandbox import opened_shell, run_block

PAGES = pages()


@pytest.mark.parametrize("page", [page for page in PAGES if page.runs == "quick"], ids=lambda page: page.name)
def test_the_commands_of_a_page_do_what_it_says(page: Page, shared_up: MillUp, tmp_path: Path) -> None:
    project = "page-" + page.path.stem[:40]
    with shared_up.client() as client:
        assert client.post("/projects", json={"name": project}).status_code == 201
    run_page(page, shared_up, tmp_path, MILL_PROJECT=project)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", [page for page in PAGES if page.runs == "long"], ids=lambda page: page.name)
def test_the_commands_of_a_long_page_do_what_it_says(page: Page, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with mill_up(tmp_path / "data") as up:
        run_page(page, up, tmp_path / "work")


def run_page(page: Page, up: MillUp, folder: Path, **variables: str) -> None:
    with opened_shell(folder, up.home, **variables) as shell:
        for block in page.blocks:
            if not block.not_run:
                problem = run_block(shell, block, up.url)
                assert problem is None, problem
