from __future__ import annotations

import pytest

from millpond.decide.allowed_addresses import Reach

PRIVATE = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "198.18.0.1", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fd00::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
    "::127.0.0.1", "fec0::1", "64:ff9b:1::a00:1", "::ffff:0:127.0.0.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_not_allowed(address: str) -> None:
    assert not Reach().allows("host.test", address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert Reach().allows("host.test", address)


@pytest.mark.parametrize(
    ("listed", "host", "address", "allowed"),
    [
        ("files.lab", "files.lab", "10.0.0.1", True),
        ("files.lab", "FILES.lab.", "10.0.0.1", True),
        ("files.lab", "evil.files.lab", "10.0.0.1", False),
        ("files.lab", "xfiles.lab", "10.0.0.1", False),
        ("10.1.0.0/16", "anything", "10.1.2.3", True),
        ("10.1.0.0/16", "anything", "10.2.0.1", False),
        ("10.1.0.0/16", "anything", "::ffff:10.1.2.3", True),
        ("::1, 127.0.0.1", "localhost", "127.0.0.1", True),
        ("::1", "localhost", "127.0.0.1", False),
        ("[fd00::]/8", "x", "fd00::1", False),
        ("fd00::/8", "x", "fd00::1", True),
    ],
)
def test_what_administrators_list(listed: str, host: str, address: str, allowed: bool) -> None:
    try:
        reach = Reach.parse(listed)
    except ValueError:
        assert not allowed
    else:
        assert reach.allows(host, address) is allowed


def test_plain_http_is_for_listed_hosts() -> None:
    reach = Reach.parse("files.lab,10.0.0.0/8")
    assert reach.lists("files.lab") and reach.lists("10.2.3.4")
    assert not reach.lists("other.lab") and not reach.lists("11.0.0.1")


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="neither a host nor a network"):
        Reach.parse("http://files.lab/")
