"""Places outside the lake: the same expectations of a site and of real S3 servers, one of which checks signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import pytest

from millpond.blobs.external import ExternalPlace
from millpond.blobs.external_s3 import S3Place
from millpond.blobs.external_web import WebPlace
from millpond.blobs.guarded_http import GuardedHttp
from millpond.blobs.location import open_store
from millpond.blobs.sigv4 import Keys
from millpond.decide.allowed_addresses import Reach
from millpond.errors import BadRequest, ChangedOutside, Forbidden, NotFound
from millpond.model.connection import ExternalObject, Place
from millpond.retry import RetryPolicy
from millpond.testing import rclone as rclone_keys
from millpond.testing.rclone import Rclone
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.website import resolving, running_website

KEYS = Keys(CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"])


@dataclass(frozen=True)
class Outside:
    """A place, and how things are put there without it."""

    place: ExternalPlace
    root: str
    put: Callable[[str, bytes], None]


@pytest.fixture(params=["site", "seaweed", "rclone"])
def outside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    if request.param == "site":
        yield from _site(tmp_path_factory)
    else:
        yield _bucket(request.getfixturevalue(request.param))


def _site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    with running_website(tmp_path_factory.mktemp("site")) as site, resolving({"files.test": ["127.0.0.1"]}):
        where = Place.parse(site.url("/pub"))
        place = WebPlace(where, GuardedHttp(Reach.parse("files.test"), policy=RetryPolicy(attempts=1)))
        yield Outside(place, where.root, lambda name, data: site.files.__setitem__(f"/pub/{name}", data))
        place.close()


def _bucket(server: Seaweed | Rclone, keys: Keys | None = KEYS) -> Outside:
    assert rclone_keys.CREDENTIALS == CREDENTIALS
    where = Place.parse(f"s3://{server.bucket}/places", endpoint=server.endpoint)
    http = GuardedHttp(Reach.parse("127.0.0.1"), policy=RetryPolicy(attempts=1))
    store = open_store(server.url("places"), environment=CREDENTIALS)
    place = S3Place(where, http, keys, lambda: datetime.now(UTC))
    return Outside(place, where.root, store.put)


def test_looked_at_and_read(outside: Outside) -> None:
    data = bytes(range(256)) * 5000
    outside.put("a/data.bin", data)
    found = outside.place.look(f"{outside.root}a/data.bin")
    assert (found.size, found.sha256) == (len(data), None)
    assert found.etag
    assert b"".join(outside.place.read(found, 0, len(data))) == data
    assert b"".join(outside.place.read(found, 700_000, 700_011)) == data[700_000:700_011]
    assert list(outside.place.read(found, 5, 5)) == []


def test_what_is_not_there_or_not_covered(outside: Outside) -> None:
    with pytest.raises(NotFound):
        outside.place.look(f"{outside.root}nothing")
    for uri in (outside.root.replace("places", "other").replace("pub", "other") + "x", f"{outside.root}../x"):
        with pytest.raises(BadRequest, match="is not below"):
            outside.place.look(uri)


def test_an_object_that_changed_is_never_read(outside: Outside) -> None:
    outside.put("b/moving", b"first")
    found = outside.place.look(f"{outside.root}b/moving")
    outside.put("b/moving", b"other")  # of the same length
    with pytest.raises(ChangedOutside, match="b/moving"):
        list(outside.place.read(found, 0, 5))
    newer = outside.place.look(f"{outside.root}b/moving")
    longer = ExternalObject(newer.uri, 6, newer.etag)
    with pytest.raises(ChangedOutside, match="5 bytes"):
        list(outside.place.read(longer, 0, 5))


@pytest.mark.parametrize("server", ["seaweed", "rclone"])
def test_buckets_list_and_sign(server: str, request: pytest.FixtureRequest) -> None:
    outside = _bucket(request.getfixturevalue(server))
    names = ["list/a", "list/b/c.txt", "list/b/d-e_f.txt", "list/z"]
    for name in names:
        outside.put(name, name.encode())
    found = list(outside.place.list(f"{outside.root}list/"))
    assert [item.uri for item in found] == [outside.root + name for name in names]
    assert [item.size for item in found] == [len(name) for name in names]
    looked = outside.place.look(f"{outside.root}list/z")
    assert found[-1].etag and looked.etag and found[-1].etag.strip('"') == looked.etag.strip('"')
    signed = outside.place.sign(f"{outside.root}list/b/c.txt", 60)
    assert signed is not None
    assert httpx.get(signed, trust_env=False).content == b"list/b/c.txt"


def test_long_lists_come_in_pages(seaweed: Seaweed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.blobs.external_s3._PER_PAGE", "5")
    outside = _bucket(seaweed)
    names = [f"many/{number:02}" for number in range(12)]
    for name in names:
        outside.put(name, b"x")
    assert [item.uri for item in outside.place.list(f"{outside.root}many/")] == [outside.root + name for name in names]


def test_signatures_are_right_and_wrong_keys_are_refused(rclone: Rclone) -> None:
    _bucket(rclone).put("secret", b"x")
    wrong = _bucket(rclone, Keys(KEYS.id, "wrong"))
    with pytest.raises(Forbidden):
        wrong.place.look(f"{wrong.root}secret")
    assert "wrong" not in repr(Keys("id", "wrong"))
