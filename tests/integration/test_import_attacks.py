"""What imports must never do: read the lake or use its keys, show secrets, reach private addresses, cross projects."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millpond.blobs.external_s3 import S3Place
from millpond.blobs.guarded_http import GuardedHttp
from millpond.client.commits import create_commit
from millpond.client.datasets import create_dataset
from millpond.client.http import Api
from millpond.client.transfer import ApiUploader
from millpond.db.tables import connection as connection_table
from millpond.decide.allowed_addresses import Reach
from millpond.errors import BadRequest, Forbidden, NotFound
from millpond.lake.digests import digest_of
from millpond.lake.external import Descriptor, encode_descriptor
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import pack_page
from millpond.lake.transfer import Meter, Slot
from millpond.lake.tree import build_tree
from millpond.model.connection import Place
from millpond.model.people import Role
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.clock import NOON
from millpond.testing.rclone import CREDENTIALS, Rclone
from millpond.testing.seaweed import Seaweed
from millpond.testing.website import Website, resolving, running_website
from millpond.wire.data import CommitCreate
from tests.integration.outside import Importing, importing

SECRET = "a-secret-nobody-may-see"


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("attacks"), seaweed, bucket="loot", hosts="127.0.0.1,files.test") as running:
        running.connect("loot")
        running.bucket.put("a/one", b"one")
        running.dataset("victim")
        running.bring("victim", "loot", running.uri("a/"))
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Website]:
    names = {"files.test": ["127.0.0.1"], "other.test": ["127.0.0.2"]}
    with running_website(tmp_path_factory.mktemp("site")) as running, resolving(names):
        yield running


def refused(there: Importing, **asked: object) -> str:
    body = {"name": "evil", **asked}
    answer = there.server.admin.post("/projects/default/connections", json=body)
    assert answer.status_code == 400, answer.text
    return str(answer.json()["detail"])


# The lake's own bucket


def test_the_lakes_bucket_is_refused_under_every_spelling(there: Importing) -> None:
    keys = {"key_id": "x", "secret": "y"}
    port = there.lake.endpoint.rpartition(":")[2]
    spellings = [
        f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/", f"http://127.1:{port}", f"http://2130706433:{port}",
    ]  # fmt: skip
    for endpoint in spellings:
        for url in ("s3://lake", "s3://lake/", "s3://lake/lake-beside-loot/projects", "s3://lake/anything"):
            assert "lake's own bucket" in refused(there, url=url, endpoint=endpoint, credentials=keys)


def test_an_alias_of_the_lakes_bucket_is_recognised_by_what_lies_in_it(there: Importing) -> None:
    """As with an access point or another gateway: another name, another endpoint, the same objects."""
    record = there.server.deps.store.get("millpond.json")
    there.bucket.put("lake-beside-loot/millpond.json", record)
    try:
        assert "lake's own bucket" in refused(there, url="s3://loot/a", endpoint=there.bucket.endpoint)
        test = there.server.admin.post("/projects/default/connections/loot/test").json()
        assert not test["works"] and "lake's own bucket" in test["problem"]
        with pytest.raises(BadRequest, match="lake's own bucket"):
            there.bring("victim", "loot", there.uri("a/"))
    finally:
        there.bucket.remove("lake-beside-loot/millpond.json")


def test_the_lakes_credentials_are_never_used(rclone: Rclone, monkeypatch: pytest.MonkeyPatch) -> None:
    """rclone knows the keys in the environment, and no others."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    place = Place.parse(f"s3://{rclone.bucket}", endpoint=rclone.endpoint)
    bucket = S3Place(place, GuardedHttp(Reach.parse("127.0.0.1")), None, lambda: NOON)
    with pytest.raises((Forbidden, BadRequest)):  # rclone answers 400 to what is not signed at all
        list(bucket.list(f"s3://{rclone.bucket}/"))
    signed = bucket.sign(f"s3://{rclone.bucket}/a", 60)
    assert signed is not None and "Signature" not in signed
    bucket.close()


# Secrets


def test_secrets_are_sealed_and_never_shown(there: Importing, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"name": "sealed", "url": "s3://loot/x", "endpoint": there.bucket.endpoint}
    made = there.server.admin.post(
        "/projects/default/connections", json=body | {"credentials": {"key_id": "id", "secret": SECRET}}
    )
    assert made.status_code == 201 and made.json()["has_credentials"] is True
    wrong = [
        there.server.admin.post(
            "/projects/default/connections", json=body | {"credentials": {"key_id": "id", "secret": SECRET, "odd": 1}}
        ),
        there.server.admin.post(
            "/projects/default/connections", json=body | {"credentials": {"secret": SECRET, "user": "x"}}
        ),
        there.server.admin.post(
            "/projects/default/connections", json=body | {"credentials": {"key_id": ["list"], "secret": [SECRET]}}
        ),
    ]
    assert [answer.status_code for answer in wrong] == [422, 400, 422]
    shown = [made.text, *(answer.text for answer in wrong), caplog.text]
    for path in ("/projects/default/connections", "/projects/default/connections/sealed", "/audit"):
        shown.append(there.server.admin.get(path).text)
    assert not [text for text in shown if SECRET in text]
    with there.server.deps.db.read() as tx:
        rows = tx.execute(connection_table.select()).all()
    assert all(SECRET.encode() not in bytes(row.credentials or b"") for row in rows)
    database = (there.server.deps.settings.data_dir / "millpond.db").read_bytes()
    assert SECRET.encode() not in database


# Other people, other projects


def test_roles(there: Importing) -> None:
    viewer = there.server.user("imports-viewer", roles={"default": Role.VIEWER})
    member = there.server.user("imports-member", roles={"default": Role.MEMBER})
    new = {"name": "mine", "url": "s3://loot", "endpoint": there.bucket.endpoint}
    asked = {"connection": "loot", "uri": there.uri("a/")}
    assert member.post("/projects/default/connections", json=new).status_code == 403
    assert viewer.post("/projects/default/datasets/victim/imports", json=asked).status_code == 403
    assert viewer.post("/projects/default/sources", json=asked | {"dataset": "victim"}).status_code == 403
    assert member.post("/projects/default/datasets/victim/imports", json=asked).status_code == 201
    assert viewer.get("/projects/default/datasets/victim/commits/main/file?path=one").content == b"one"


def test_a_connection_is_its_projects_own(there: Importing) -> None:
    """Whoever is in project B can use nothing of project A's, not even with a hand-made descriptor."""
    outsider = there.server.user("outsider", roles={"b": Role.MEMBER})
    token = outsider.headers["Authorization"].removeprefix("Bearer ")
    asked = {"connection": "loot", "uri": there.uri("a/")}
    with Api(there.server.url, token) as theirs:
        create_dataset(theirs, "b", "stolen")
        assert outsider.post("/projects/b/datasets/stolen/imports", json=asked).status_code == 404
        assert outsider.post("/projects/b/sources", json=asked | {"dataset": "stolen"}).status_code == 404
        commit_by_hand(theirs, "b", "stolen", Descriptor("loot", there.uri("a/one"), 3, '"x"'))
        with pytest.raises(NotFound, match="connection 'loot'"):
            theirs.request("GET", "/projects/b/datasets/stolen/commits/main/file", params={"path": "file"})
        with pytest.raises(NotFound):
            theirs.request("GET", "/projects/default/connections/loot")


def test_a_hand_made_descriptor_leads_nowhere_else(there: Importing) -> None:
    """A member may import through the connection anyway; what it does not cover stays out of reach."""
    there.connect("narrow", url="s3://loot/a")
    there.bucket.put("hidden", b"not below the prefix")
    for uri in ("s3://loot/hidden", "s3://loot/a/../hidden", "s3://lake/millpond.json", "s3://loot/a/%2e%2e/hidden"):
        name = f"made-{digest_of(uri.encode()).hex()[:8]}"
        create_dataset(there.api, "default", name)
        commit_by_hand(there.api, "default", name, Descriptor("narrow", uri, 20, '"x"'))
        answer = there.server.admin.get(f"/projects/default/datasets/{name}/commits/main/file?path=file")
        assert answer.status_code in (400, 404), uri
        urls = there.server.admin.post(
            f"/projects/default/datasets/{name}/commits/main/urls", json={"external": ["file"]}
        )
        if urls.status_code == 200:
            assert b"not below" not in httpx.get(urls.json()["external"]["file"]["url"], trust_env=False).content
    create_dataset(there.api, "default", "liar")
    with pytest.raises(BadRequest, match="is listed with"):
        commit_by_hand(there.api, "default", "liar", Descriptor("narrow", "s3://loot/a/one", 3, '"x"'), size=4)


# Private addresses


def test_endpoints_and_sites_at_private_addresses_are_refused(there: Importing, site: Website) -> None:
    for endpoint in ("http://169.254.169.254", "https://169.254.169.254", "https://10.1.2.3", "https://[::1]:9000"):
        assert "refused: " in refused(there, url="s3://bucket", endpoint=endpoint)
    made = there.server.admin.post(
        "/projects/default/connections", json={"name": "private", "url": site.url("/", "other.test")}
    )
    assert made.status_code == 201  # nothing was asked of it yet
    site.files["/a"] = b"a"
    test = there.server.admin.post("/projects/default/connections/private/test").json()
    assert not test["works"] and "refused: " in test["problem"]
    there.dataset("private")
    with pytest.raises(BadRequest, match="refused: "):
        there.bring("private", "private", site.url("/a", "other.test"))
    assert not [path for _, path, headers in site.asked if headers.get("Host", "").startswith("other.test")]


def test_a_site_that_redirects_inwards_is_refused_whenever_it_begins_to(there: Importing, site: Website) -> None:
    there.connect("web", url=site.url("/pub"), endpoint=None, credentials=None)
    site.files["/pub/good.csv"] = b"1,2,3\n"
    there.dataset("web")
    assert there.bring("web", "web", site.url("/pub/good.csv")).added == 1
    assert there.server.admin.get("/projects/default/datasets/web/commits/main/file?path=good.csv").content == (
        b"1,2,3\n"
    )
    site.redirects["/pub/good.csv"] = site.url("/internal", "other.test")
    site.files["/internal"] = b"metadata"
    answer = there.server.admin.get("/projects/default/datasets/web/commits/main/file?path=good.csv")
    assert answer.status_code == 400 and "refused: " in answer.json()["detail"]
    urls = there.server.admin.post(
        "/projects/default/datasets/web/commits/main/urls", json={"external": ["good.csv"]}
    ).json()
    url = urls["external"]["good.csv"]["url"]
    assert url.startswith("/external?"), "a site is read by the server alone"
    proxied = httpx.get(there.server.url + url, trust_env=False)
    assert proxied.status_code == 400 and b"metadata" not in proxied.content
    for changed in (url.replace("good.csv", "../internal"), url.replace("size=6", "size=7"), url[:-1]):
        assert httpx.get(there.server.url + changed, trust_env=False).status_code == 403


# Helpers of the attackers


def commit_by_hand(api: Api, project: str, dataset: str, descriptor: Descriptor, *, size: int | None = None) -> None:
    raw = encode_descriptor(descriptor)
    entry = Entry(b"file", Kind.FILE, descriptor.size if size is None else size, Content.EXTERNAL, digest_of(raw))
    pages: dict[str, bytes] = {}
    tree = build_tree([entry], lambda page_id, data: pages.update({page_id: pack_page(data)}))
    with ApiUploader(api, project) as uploader, Packer(uploader, Meter(None), PACK_TARGET) as packer:
        packer.add(entry.digest, raw)
        packer.finish()
        slots: list[Slot] = uploader.page_slots(list(pages))
        packer.put_all(slots, pages)
        create_commit(api, project, dataset, CommitCreate(upload=uploader.id, tree=tree.root))
