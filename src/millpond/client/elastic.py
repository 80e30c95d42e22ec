"""Elastic computes, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.wire.elastic import Elastic, ElasticCreate, ElasticPut


def list_elastic(api: Api) -> Iterator[Elastic]:
    return api.items("/elastic", Elastic)


def get_elastic(api: Api, name: str) -> Elastic:
    return api.get(f"/elastic/{segment(name)}", Elastic)


def create_elastic(api: Api, request: ElasticCreate) -> Elastic:
    """NameTaken if a compute or an elastic compute has the name."""
    return api.send("POST", "/elastic", Elastic, request)


def put_elastic(api: Api, name: str, request: ElasticPut) -> Elastic:
    """New, or replaced as a whole."""
    return api.send("PUT", f"/elastic/{segment(name)}", Elastic, request)


def remove_elastic(api: Api, name: str) -> None:
    api.request("DELETE", f"/elastic/{segment(name)}")
