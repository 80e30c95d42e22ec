from __future__ import annotations

from pathlib import Path

import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.location import Location, open_store
from millpond.blobs.memory import MemoryStore
from millpond.errors import BadRequest
from millpond.testing.seaweed import CREDENTIALS


def test_opens_directories(tmp_path: Path) -> None:
    plain, url = open_store(str(tmp_path / "a b")), open_store((tmp_path / "a b").as_uri())
    assert isinstance(plain, LocalStore)
    assert isinstance(url, LocalStore)
    assert plain.root == url.root == tmp_path / "a b"


def test_opens_memory() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


def test_takes_an_s3_url_apart() -> None:
    location = Location.parse("s3://bucket/team/lake?endpoint=http%3A%2F%2F127.0.0.1%3A8333&region=eu-1")
    assert (location.scheme, location.bucket, location.prefix) == ("s3", "bucket", "team/lake")
    assert location.options == {"endpoint": "http://127.0.0.1:8333", "region": "eu-1"}


def test_signs_for_an_http_endpoint_without_calling_it() -> None:
    store = open_store("s3://bucket/p?endpoint=http://127.0.0.1:9", environment=CREDENTIALS)
    assert store.sign("GET", "a", 60).url.startswith("http://127.0.0.1:9/bucket/p/a?")


@pytest.mark.parametrize("url", ["ftp://host/dir", "s3://", "s3:///prefix", "s3://bucket/p?endpont=x"])
def test_refuses_what_it_does_not_know(url: str) -> None:
    with pytest.raises(BadRequest):
        open_store(url, environment=CREDENTIALS)
