from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from millpond.blobs.signing import LocalSigner
from millpond.errors import BadPath, Forbidden


def taken_apart(url: str) -> tuple[str, int, str]:
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return parts.path.removeprefix("/lake/"), int(query["expires"]), query["signature"]


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def signer(clock: list[float]) -> LocalSigner:
    return LocalSigner(b"a secret of the server", clock=lambda: clock[0])


def test_accepts_its_own_url_until_it_expires(signer: LocalSigner, clock: list[float]) -> None:
    key, expires, signature = taken_apart(signer.sign("PUT", "a/b", 60).url)
    signer.check("PUT", key, expires=expires, signature=signature)
    clock[0] = 1060.0
    with pytest.raises(Forbidden, match="expired"):
        signer.check("PUT", key, expires=expires, signature=signature)


@pytest.mark.parametrize("change", ["method", "key", "expires", "signature", "secret"])
def test_refuses_anything_else(signer: LocalSigner, change: str) -> None:
    key, expires, signature = taken_apart(signer.sign("GET", "a/b", 60).url)
    method = "PUT" if change == "method" else "GET"
    key = "a/c" if change == "key" else key
    expires += 1 if change == "expires" else 0
    signature = "é" * 64 if change == "signature" else signature
    checker = LocalSigner(b"the secret of another", clock=lambda: 1000.0) if change == "secret" else signer
    with pytest.raises(Forbidden, match="wrong"):
        checker.check(method, key, expires=expires, signature=signature)


def test_signs_only_keys_of_the_lake(signer: LocalSigner) -> None:
    with pytest.raises(BadPath):
        signer.sign("GET", "../etc/passwd", 60)
