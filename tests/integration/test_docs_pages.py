"""Every page that says so is run as a reader would: its commands in order, with the output that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from millpond.testing.daemons import free_port
from millpond.testing.up import MillUp, end_mounts, end_services, mill_up
from tests.docs.blocks import Page, pages
from tests.docs.sandbox import opened_shell, run_block

PAGES = pages()
# The addresses in the pages, whatever port the server of the tests has.
SHOWN_URL, ELSEWHERE = "http://127.0.0.1:8420", "https://mill.example.com"


def asking(how: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", [page for page in PAGES if page.runs == how], ids=lambda page: page.name)


@asking("quick")
def test_the_commands_of_a_page_do_what_it_says(page: Page, shared_up: MillUp, tmp_path: Path) -> None:
    project = "page-" + page.path.stem[:40]
    with shared_up.client() as client:
        assert client.post("/projects", json={"name": project}).status_code == 201
    run_page(page, tmp_path, shared_up.home, stand_ins_for(shared_up.url), MILL_PROJECT=project)


@pytest.mark.long
@pytest.mark.timeout(3000)
@asking("long")
def test_the_commands_of_a_long_page_do_what_it_says(page: Page, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with mill_up(tmp_path / "data") as up:
        run_page(page, tmp_path / "work", up.home, stand_ins_for(up.url))


@pytest.mark.long
@pytest.mark.timeout(1200)
@asking("alone")
def test_the_commands_of_a_page_that_starts_servers_itself(page: Page, tmp_path: Path) -> None:
    try:
        run_page(page, tmp_path, None, {})
    finally:
        for folder in tmp_path.iterdir():
            end_services(folder)
        end_mounts(tmp_path)


def run_page(page: Page, folder: Path, home: Path | None, stand_ins: Mapping[str, str], **variables: str) -> None:
    ports = {str(port): str(free_port()) for port in page.ports}
    with opened_shell(folder, home, **variables) as shell:
        for block in page.blocks:
            if not block.not_run:
                problem = run_block(shell, block, {**stand_ins, **ports})
                assert problem is None, problem


def stand_ins_for(url: str) -> dict[str, str]:
    return {ELSEWHERE: url, SHOWN_URL: url, SHOWN_URL.partition("://")[2]: url.partition("://")[2]}
