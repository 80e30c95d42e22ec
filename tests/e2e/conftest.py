"""A real server with a little data, and a real browser that looks at its page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")

from millpond.testing.browser import PASSWORD, Screen, find_chromium, running_browser  # noqa: E402
from millpond.testing.up import MillUp, environment, mill_up  # noqa: E402

# Five seconds, which it would be otherwise, are not long on two loaded cores.
sync_api.expect.set_options(timeout=30_000)

# The smallest PNG: one white pixel.
ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c63f80f0001010100b138f6140000000049454e44ae426082"
)

HERE = Path(__file__).parent
STATIC = Path(__file__).parents[2] / "src" / "millpond" / "api" / "static"


@pytest.hookimpl(tryfirst=True)  # before xdist, which writes groups into the names of tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All journeys share one server and one browser: one worker runs them."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


# Not for the whole session: a server and an agent that nobody uses any more take time from the other tests.
@pytest.fixture(scope="package")
def password_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("secrets") / "password"
    file.write_text(PASSWORD + "\n")
    return file


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, password_file: Path) -> Iterator[MillUp]:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page is not built (make web)")
    data_dir = tmp_path_factory.mktemp("page") / "data"
    with mill_up(data_dir, "--admin-password-file", str(password_file)) as up:
        yield up


class Mill:
    """The command line of the person whose page it is."""

    def __init__(self, server: MillUp) -> None:
        self._server = server

    def __call__(self, *arguments: str, cwd: Path | None = None) -> str:
        command = [sys.executable, "-m", "millpond", *arguments]
        env = environment(self._server.home) | {"MILL_SERVER": self._server.url}
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="package")
def mill(server: MillUp) -> Mill:
    return Mill(server)


@pytest.fixture(scope="package")
def digits(mill: Mill, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dataset with two commits: an image, texts, a directory; the second commit changes one file of them."""
    folder = tmp_path_factory.mktemp("digits")
    (folder / "train").mkdir()
    (folder / "train" / "one.png").write_bytes(ONE_PIXEL)
    (folder / "README.md").write_text("# Digits\n<script>document.title = 'taken over'</script>\n")
    (folder / "page.html").write_text("<h1>not a page</h1>\n")
    mill("data", "init", "digits", cwd=folder)
    mill("data", "sync", "-m", "first version", cwd=folder)
    (folder / "labels.csv").write_text("file,label\ntrain/one.png,1\n")
    mill("data", "sync", "-m", "with labels", cwd=folder)
    return "digits"


# Not for the whole session: Playwright keeps an event loop running, and other tests want their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[sync_api.Browser]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    with running_browser(chromium) as running:
        yield running


@pytest.fixture(scope="package")
def signed_in(browser: sync_api.Browser, server: MillUp) -> sync_api.StorageState:
    """The cookies of somebody who has signed in as the administrator."""
    context = browser.new_context()
    Screen(context.new_page(), server.url).sign_in()
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def screen(browser: sync_api.Browser, server: MillUp, signed_in: sync_api.StorageState) -> Iterator[Screen]:
    """A fresh browser profile, signed in as the administrator. Errors in the console fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, storage_state=signed_in)
    try:
        shown = Screen(context.new_page(), server.url)
        yield shown
        assert shown.errors == []
    finally:
        context.close()
