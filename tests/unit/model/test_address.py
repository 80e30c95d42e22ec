from __future__ import annotations

import pytest

from millpond.model.address import is_local_host


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "s3.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "10.1.2.3"]
)
def test_local(host: str) -> None:
    assert is_local_host(host)


@pytest.mark.parametrize("host", ["example.org", "8.8.8.8", "localhost.example.org", "2001:4860::1", ""])
def test_not_local(host: str) -> None:
    assert not is_local_host(host)
