"""Files come from a web server and objects from S3; what is missing or changed is named."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

pytest.importorskip("httpx", reason="needs httpx: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path):
    """A web server, and its folder."""
    folder = tmp_path / "site"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_files_are_fetched_checked_and_unpacked(tmp_path: Path, site: tuple[Path, str]) -> None:
    folder, url = site
    (folder / "a.txt").write_text("alpha")
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("inside/b.txt", "beta")
    right = hashlib.sha256(b"alpha").hexdigest()
    params = {"urls": [f"{url}/a.txt", f"{url}/more.zip"], "extract": True, "sha256": {"a.txt": right}}
    ran = run(HERE.parent, work=tmp_path / "w", params=params)
    assert ran.outputs["count"] == 2 and ran.outputs["bytes"] == 9
    assert (ran.path("data") / "more" / "inside" / "b.txt").read_text() == "beta"
    refused = try_run(HERE.parent, work=tmp_path / "w2", params=params | {"sha256": {"a.txt": "0" * 64}})
    assert "a.txt has the SHA-256" in refused.log
    missing = try_run(HERE.parent, work=tmp_path / "w3", params={"urls": [f"{url}/none.txt"]})
    assert "status 404" in missing.log and "Traceback" not in missing.log


def test_a_secret_that_is_not_set_is_named(tmp_path: Path) -> None:
    params = {"source": "s3://bucket/x", "key_id": "NO_SUCH_KEY", "key_secret": "NO_SUCH_SECRET"}
    ran = try_run(HERE.parent, work=tmp_path, params=params)
    assert "mill secret set NO_SUCH_KEY" in ran.log
