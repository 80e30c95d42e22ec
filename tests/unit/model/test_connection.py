from __future__ import annotations

import pytest

from millpond.errors import BadRequest
from millpond.model.connection import Place, PlaceKind


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("s3://bucket", "s3://bucket/"),
        ("s3://bucket/a/b/", "s3://bucket/a/b/"),
        ("gs://my_bucket.x/a", "gs://my_bucket.x/a/"),
        ("https://host/a", "https://host/a/"),
        ("https://host:8443", "https://host:8443/"),
    ],
)
def test_places(url: str, root: str) -> None:
    assert Place.parse(url).root == root


@pytest.mark.parametrize(
    "url",
    [
        "bucket", "ftp://host/", "http://host/", "s3://", "s3://Bucket", "s3://a..b", "s3://b@evil/x", "file:///etc",
        "https://user:pass@host/", "https://host/#x", "https://host/a/../b", "https://host/%2e%2e/b", "https:///x",
        "https://host/a b", "https://ho\nst/", "https://host\\@evil/", "https://host/a%2f..%2fb",
        "s3://ab/" + "x" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_place(url: str) -> None:
    with pytest.raises(BadRequest):
        Place.parse(url)


def test_endpoints_and_regions() -> None:
    place = Place.parse("s3://bucket", endpoint="http://host:9000/", region="eu-west-1")
    assert (place.endpoint, place.region) == ("http://host:9000", "eu-west-1")
    for wrong in ("host:9000", "http://user@host", "http://host/path", "http://host?x=1", "ftp://host"):
        with pytest.raises(BadRequest):
            Place.parse("s3://bucket", endpoint=wrong)
    with pytest.raises(BadRequest):
        Place.parse("s3://bucket", region="x.evil.com/")
    with pytest.raises(BadRequest):
        Place.parse("https://host", endpoint="http://host")


@pytest.mark.parametrize(
    ("url", "uri", "covered"),
    [
        ("s3://b-1/a", "s3://b-1/a/x", True),
        ("s3://b-1/a", "s3://b-1/a", True),
        ("s3://b-1/a", "s3://b-1/ab", False),
        ("s3://b-1/a", "s3://b-1/a/../x", False),
        ("s3://b-1/a", "s3://b-1/a/./x", False),
        ("s3://b-1/a", "s3://b-1/a/..x//y", True),
        ("s3://b-1", "s3://b-2/x", False),
        ("s3://b-1", "gs://b-1/x", False),
        ("https://h/a", "https://h/a/x?y=1", True),
        ("https://h/a", "https://h/a/%2E%2e/x", False),
        ("https://h/a", "https://h/a/x%2f..%2f..%2fy", False),
        ("https://h/a", "https://h.evil/a/x", False),
        ("https://h/a", "https://h/a/x#y", False),
    ],
)
def test_what_a_place_covers(url: str, uri: str, covered: bool) -> None:
    assert Place.parse(url).covers(uri) is covered


def test_keys_are_kept_byte_for_byte() -> None:
    place = Place.parse("s3://bucket/a")
    for key in ("a/ü %20+&?#", "a//b", "a/b/"):
        assert place.key_of(place.uri_of(key)) == key
    assert place.kind == PlaceKind.S3


def test_plugins_add_kinds() -> None:
    with pytest.raises(BadRequest, match="not a place"):
        Place.parse("shelf://books/novels")
    place = Place.parse("shelf://books/novels", kinds=["shelf"])
    assert (place.kind, place.root, place.uri_of("novels/emma")) == (
        "shelf",
        "shelf://books/novels/",
        "shelf://books/novels/emma",
    )
