"""Branches, edits, merges, and bytes that come through the server, over HTTP on a directory and on S3."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.lake.digests import digest_of
from millpond.lake.keys import ProjectKeys
from millpond.lake.page_batches import pack_batch
from millpond.lake.pages import pack_page
from millpond.model.people import Role
from millpond.testing.builders_data import a_commit, a_pack, a_tree
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import SECRET, RunningServer, running_server

BASE = "/projects/default/datasets/xray"


@pytest.fixture(params=["directory", pytest.param("seaweed", marks=pytest.mark.long)])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    if request.param == "directory":
        store = LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    else:
        seaweed: Seaweed = request.getfixturevalue("seaweed")
        store = open_store(seaweed.url(tmp_path.name), environment=CREDENTIALS)
    with running_server(tmp_path / "server", store=store) as running:
        yield running


@pytest.fixture
def maria(server: RunningServer) -> httpx.Client:
    return server.user("maria", roles={"default": Role.MEMBER})


def an_upload(api: httpx.Client) -> str:
    return f"/projects/default/uploads/{api.post('/projects/default/uploads', json={}).json()['id']}"


def a_slot(api: httpx.Client, upload: str) -> str:
    return str(api.post(f"{upload}/packs", json={"count": 1}).json()["slots"][0]["id"])


def send(api: httpx.Client, *contents: bytes) -> str:
    """Contents in a pack that comes through the server; the id of the upload."""
    upload = an_upload(api)
    pack_id, pack = a_slot(api, upload), a_pack({digest_of(content): content for content in contents})
    assert api.put(f"{upload}/packs/{pack_id}/bytes", content=pack).status_code == 204
    written = {"packs": [{"id": pack_id, "size": len(pack)}]}
    assert api.post(f"{upload}/packs/written", json=written).status_code == 204
    return upload.rpartition("/")[2]


def a_put(path: str, content: bytes) -> dict[str, object]:
    return {"path": path, "size": len(content), "content": "blob", "digest": digest_of(content).hex()}


def read(api: httpx.Client, ref: str, path: str) -> bytes:
    return api.get(f"{BASE}/commits/{ref}/file", params={"path": path}).content


def test_a_browser_uploads_without_reaching_the_store(server: RunningServer, maria: httpx.Client) -> None:
    assert maria.post("/projects/default/datasets", json={"name": "xray"}).status_code == 201
    body = {"upload": send(maria, b"one", b"two"), "puts": [a_put("a", b"one"), a_put("d/b", b"two")]}
    made = maria.post(f"{BASE}/edits", json=body)
    assert (made.status_code, made.json()["files"], made.json()["refs"]) == (201, 2, ["main"])
    assert read(maria, "main", "d/b") == b"two"


def test_a_tree_built_elsewhere_comes_page_by_page(server: RunningServer, maria: httpx.Client) -> None:
    maria.post("/projects/default/datasets", json={"name": "xray"})
    pushed = a_tree({"a": b"one"})
    upload = send(maria, *pushed.content.values())
    for page_id, data in pushed.pages.items():
        for _ in range(2):
            answer = maria.put(f"/projects/default/uploads/{upload}/pages/{page_id}/bytes", content=pack_page(data))
            assert answer.status_code == 204
    made = maria.post(f"{BASE}/commits", json={"upload": upload, "tree": pushed.root})
    assert made.status_code == 201, made.text
    assert read(maria, "main", "a") == b"one"


def test_many_pages_come_in_one_request(server: RunningServer, maria: httpx.Client) -> None:
    maria.post("/projects/default/datasets", json={"name": "xray"})
    pushed = a_tree({f"{number:05}": b"one" for number in range(5000)})
    upload = send(maria, b"one")
    frames = {page_id: pack_page(data) for page_id, data in pushed.pages.items()}
    assert len(frames) > 2
    place = f"/projects/default/uploads/{upload}/pages/bytes"
    for wrong in (b"x", pack_batch(frames)[:-1], pack_batch({**frames, "0" * 64: pack_page(b"another")})):
        refused = maria.put(place, content=wrong)
        assert (refused.status_code, refused.json()["code"]) == (400, "bad_format")
    commit = {"upload": upload, "tree": pushed.root}
    assert maria.post(f"{BASE}/commits", json=commit).json()["code"] == "incomplete", (
        "one of them is no page: none was taken"
    )
    for _ in range(2):
        assert maria.put(place, content=pack_batch(frames)).status_code == 204
    assert maria.post(f"{BASE}/commits", json=commit).status_code == 201
    paul = server.user("paul", roles={"default": Role.MEMBER})
    assert paul.put(place, content=pack_batch(frames)).status_code == 404, "an upload belongs to one person"


def test_what_the_server_does_not_take(server: RunningServer, maria: httpx.Client) -> None:
    upload, pack = an_upload(maria), a_pack({digest_of(b"x"): b"x"})
    pack_id = a_slot(maria, upload)
    place = f"{upload}/packs/{pack_id}/bytes"
    paul = server.user("paul", roles={"default": Role.MEMBER})
    assert paul.put(place, content=pack).status_code == 404, "an upload belongs to one person"
    foreign = f"{an_upload(maria)}/packs/{pack_id}/bytes"
    assert maria.put(foreign, content=pack).json()["code"] == "bad_request"
    assert maria.put(f"{upload}/packs/{'0' * 32}/bytes", content=pack).json()["code"] == "bad_request"
    too_large = maria.put(place, content=bytes((64 << 20) + 1))
    assert (too_large.status_code, too_large.json()["code"]) == (413, "too_large")
    assert maria.put(place, content=pack).status_code == 204
    assert maria.put(place, content=pack).status_code == 204, "again is as once"
    assert maria.put(place, content=pack + b"more").json()["code"] == "conflict"
    (page_id,) = a_tree({"a": b"1"}).pages
    for body in (b"", b"no page", pack_page(b"another")):
        wrong = maria.put(f"{upload}/pages/{page_id}/bytes", content=body)
        assert (wrong.status_code, wrong.json()["code"]) == (400, "bad_format")
    assert maria.put(f"{upload}/pages/nonsense/bytes", content=b"x").status_code == 400


def test_a_page_somebody_spoilt_beforehand_is_written_anew(server: RunningServer, maria: httpx.Client) -> None:
    a_commit(server.deps, {"a": b"1"})
    project_id = server.project("default").id
    for page_id in a_tree({"a": b"1", "b": b"2"}).pages:
        server.deps.store.put(ProjectKeys(project_id).page(page_id), b"garbage")
    made = maria.post(f"{BASE}/edits", json={"upload": send(maria, b"2"), "puts": [a_put("b", b"2")]})
    assert made.status_code == 201, made.text
    assert read(maria, "main", "b") == b"2"


def test_branches_are_made_merged_and_removed(server: RunningServer, maria: httpx.Client) -> None:
    first = a_commit(server.deps, {"a": b"1", "old": b"x" * 500})
    made = maria.post(f"{BASE}/refs", json={"name": "feature/x"})
    assert (made.status_code, made.json()["commit_id"]) == (201, first.id)
    assert maria.post(f"{BASE}/refs", json={"name": "v1", "type": "tag", "at": first.id[:9]}).status_code == 201
    taken = maria.post(f"{BASE}/refs", json={"name": "v1"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
    renaming = {"branch": "feature/x", "puts": [a_put("new", b"x" * 500)], "removes": ["old"]}
    assert maria.post(f"{BASE}/edits", json=renaming).status_code == 201
    diff = maria.get(f"{BASE}/diff", params={"before": "main", "after": "feature/x"}).json()
    assert [(c["change"], c["path_before"], c["path"]) for c in diff["items"]] == [("renamed", "old", "new")]
    assert (diff["renamed"], diff["renamed_bytes"], diff["added"], diff["removed"]) == (1, 500, 0, 0)
    on_main = maria.post(f"{BASE}/edits", json={"upload": send(maria, b"2"), "puts": [a_put("a", b"2")]}).json()
    merged = maria.post(f"{BASE}/merge", json={"source": "feature/x", "into": "main"}).json()
    assert merged["parents"][0] == on_main["id"]
    assert (read(maria, "main", "a"), read(maria, "main", "new")) == (b"2", b"x" * 500)
    reverted = maria.post(f"{BASE}/revert", json={"commit": on_main["id"]})
    assert reverted.status_code == 201, reverted.text
    assert read(maria, "main", "a") == b"1"
    assert maria.delete(f"{BASE}/refs/feature%2Fx", params={"expected": "0" * 64}).json()["code"] == "ref_moved"
    assert maria.delete(f"{BASE}/refs/feature%2Fx").status_code == 204
    assert maria.delete(f"{BASE}/refs/feature%2Fx").status_code == 404
    assert maria.delete(f"{BASE}/refs/main").json()["code"] == "bad_request"
    assert {ref["name"] for ref in maria.get(f"{BASE}/refs").json()["items"]} == {"main", "v1"}


def test_conflicts_say_where(server: RunningServer, maria: httpx.Client) -> None:
    a_commit(server.deps, {"a": b"1"})
    maria.post(f"{BASE}/refs", json={"name": "side"})
    for branch in ("main", "side"):
        content = branch.encode()
        body = {"upload": send(maria, content), "branch": branch, "puts": [a_put("a", content)]}
        assert maria.post(f"{BASE}/edits", json=body).status_code == 201
    answer = maria.post(f"{BASE}/merge", json={"source": "side"})
    assert (answer.status_code, answer.json()["code"]) == (409, "merge_conflict")
    assert answer.json()["details"]["paths"] == ["a"]
    assert read(maria, "main", "a") == b"main"


def test_viewers_change_nothing(server: RunningServer) -> None:
    a_commit(server.deps, {"a": b"1"})
    viewer = server.user("vera", roles={"default": Role.VIEWER})
    bodies = {
        "refs": {"name": "x"},
        "edits": {"removes": ["a"]},
        "merge": {"source": "main"},
        "revert": {"commit": "main"},
    }
    for route, body in bodies.items():
        assert viewer.post(f"{BASE}/{route}", json=body).status_code == 403, route
    assert viewer.delete(f"{BASE}/refs/main").status_code == 403


def test_many_files_in_one_edit(server: RunningServer, maria: httpx.Client) -> None:
    a_commit(server.deps, {"a": b"1"})
    content = secrets.token_bytes(100)
    puts = [a_put(f"folder/{n:05}", content) for n in range(5000)]
    made = maria.post(f"{BASE}/edits", json={"upload": send(maria, content), "puts": puts})
    assert (made.status_code, made.json().get("files")) == (201, 5001), made.text[:500]
    gone = maria.post(f"{BASE}/edits", json={"removes": ["folder"], "recursive": True})
    assert gone.json()["files"] == 1


def test_a_history_of_many_lines_is_read_page_by_page(server: RunningServer, maria: httpx.Client) -> None:
    """The cursor names every line to go on from, so it grows with them."""
    a_commit(server.deps, {"base": b"0"})
    for line in range(15):
        assert maria.post(f"{BASE}/refs", json={"name": f"line-{line}", "type": "branch", "at": "main"}).is_success
    made = 1
    for line in range(15):
        for step in range(2):
            a_commit(server.deps, {"base": b"0", f"{line}": b"%d" % step}, branch=f"line-{line}")
            made += 1
    for line in range(15):
        assert maria.post(f"{BASE}/merge", json={"source": f"line-{line}", "into": "main"}).is_success
        made += line > 0  # the first has nothing to be merged with
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = maria.get(f"{BASE}/commits", params={"ref": "main", "limit": 2, **cursor})
        assert page.status_code == 200, page.text
        found += [item["id"] for item in page.json()["items"]]
        if page.json()["next"] is None:
            break
        cursor = {"cursor": page.json()["next"]}
    assert len(found) == len(set(found)) == made
