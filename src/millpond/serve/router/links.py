"""The connections to all replicas, and what is sent to them."""

from __future__ import annotations

import asyncio
import json

from ..http.message import Headers
from .replicas import Replica
from .upstream import Upstream, UpstreamAnswer

# Headers that concern one connection, or that are the router's to say.
_NOT_FOR_REPLICAS = frozenset(
    {
        b"authorization",
        b"connection",
        b"content-length",
        b"expect",
        b"host",
        b"keep-alive",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_FOR_CLIENTS = frozenset(
    {b"connection", b"content-length", b"keep-alive", b"proxy-connection", b"trailer", b"transfer-encoding", b"upgrade"}
)
# Head and body of small requests go out in one write.
_JOINED_BYTES = 16 * 1024


class Link:
    """The way to one replica, with the beginnings of requests to it."""

    def __init__(self, replica: Replica, *, answer_seconds: float) -> None:
        self.upstream = Upstream(replica.address.http, answer_seconds=answer_seconds)
        self._model = replica.address.serves.model
        token = replica.address.token
        self._common = "host: replica\r\n" + (f"authorization: Bearer {token}\r\n" if token else "")
        self._heads: dict[tuple[str, str], bytes] = {}

    def request(self, method: str, rest: str, headers: Headers, body: bytes) -> list[bytes]:
        """A request for the model of this replica: `rest` follows its name in the path."""
        return self._parts(method, f"/v2/models/{self._model}{rest}", headers, body)

    def get(self, path: str) -> list[bytes]:
        return self._parts("GET", path, [], b"")

    def _parts(self, method: str, path: str, headers: Headers, body: bytes) -> list[bytes]:
        head = self._heads.get((method, path))
        if head is None:
            head = self._heads[method, path] = f"{method} {path} HTTP/1.1\r\n{self._common}".encode()
        lines = [head]
        for name, value in headers:
            if name not in _NOT_FOR_REPLICAS:
                lines.append(b"%b: %b\r\n" % (name, value))
        lines.append(b"content-length: %d\r\n\r\n" % len(body))
        if len(body) <= _JOINED_BYTES:
            lines.append(body)
            return [b"".join(lines)]
        return [b"".join(lines), body]


def headers_for_client(headers: Headers) -> Headers:
    """The headers of a replica's answer that its client gets."""
    return [header for header in headers if header[0] not in _NOT_FOR_CLIENTS]


def name_as_asked(answer: UpstreamAnswer, served: str, asked: str) -> None:
    """Give an answer the name that its client asked for, where the replica's own is at its very beginning."""
    beginning = b'{"model_name":%b' % json.dumps(served).encode()
    if not answer.body or not answer.body[0].startswith(beginning):
        return
    replaced = b'{"model_name":%b' % json.dumps(asked).encode()
    answer.body[0] = replaced + answer.body[0][len(beginning) :]
    for index, (name, value) in enumerate(answer.headers):
        if name == b"inference-header-content-length" and value.isdigit():
            answer.headers[index] = (name, b"%d" % (int(value) + len(replaced) - len(beginning)))


class Links:
    """The links to the replicas of the current configuration."""

    def __init__(self, *, answer_seconds: float) -> None:
        self._answer_seconds = answer_seconds
        self._links: dict[Replica, Link] = {}

    def to(self, replica: Replica) -> Link:
        link = self._links.get(replica)
        if link is None:
            link = self._links[replica] = Link(replica, answer_seconds=self._answer_seconds)
        return link

    def close(self) -> None:
        """Close all connections at once."""
        for link in self._links.values():
            link.upstream.close(at_once=True)
        self._links.clear()

    def sweep(self, replicas: list[Replica]) -> None:
        """Give up what takes too long; forget replicas that are gone. Called about once a second."""
        now = asyncio.get_running_loop().time()
        for replica, link in list(self._links.items()):
            link.upstream.sweep(now)
            if replica not in replicas and not replica.outstanding:
                self._links.pop(replica).upstream.close()
