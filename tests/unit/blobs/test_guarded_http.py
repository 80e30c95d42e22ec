"""Where imports may connect to: the address at the other end of the socket decides, at every hop."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from unittest.mock import patch

import pytest

from millpond.blobs.guarded_http import GuardedHttp, body_of
from millpond.decide.allowed_addresses import Reach
from millpond.errors import AddressRefused, BadRequest, StoreUnavailable
from millpond.retry import RetryPolicy
from millpond.testing.website import Website, resolving, running_website

LISTED = Reach.parse("files.test")
QUICK = RetryPolicy(attempts=2, first=0.0)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Website]:
    names = {"files.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    with running_website(tmp_path_factory.mktemp("site")) as running, resolving(names):
        running.files["/a.txt"] = b"content"
        yield running


def fetch(reach: Reach, url: str, **options: str) -> bytes:
    http = GuardedHttp(reach, policy=QUICK, **options)
    try:
        answer = http.request("GET", url)
        assert answer.status == 200
        return body_of(answer, url, 1000)
    finally:
        http.close()


def test_a_listed_host_is_reached(site: Website) -> None:
    assert fetch(LISTED, site.url("/a.txt")) == b"content"
    assert fetch(Reach.parse("127.0.0.0/8"), site.url("/a.txt")) == b"content"


@pytest.mark.parametrize(
    "url",
    [
        "https://files.test:{port}/a.txt",
        "https://127.0.0.1:{port}/a.txt",
        "https://2130706433:{port}/a.txt",
        "https://0x7f.1:{port}/a.txt",
        "https://[::ffff:127.0.0.1]:{port}/a.txt",
        "https://[::1]:{port}/a.txt",
        "https://0.0.0.0:{port}/a.txt",
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/",
        "https://[fd00:ec2::254]/",
        "https://[64:ff9b::7f00:1]/",
    ],
)
def test_private_addresses_are_refused_however_they_are_written(site: Website, url: str) -> None:
    asked = len(site.asked)
    with pytest.raises(BadRequest, match="refused: "):
        fetch(Reach(), url.format(port=site.port))
    assert len(site.asked) == asked


def test_a_redirect_to_a_private_address_is_refused(site: Website) -> None:
    site.files["/secret"] = b"metadata"
    for target in (site.url("/secret", "other.test"), f"https://127.0.0.1:{site.port}/secret", "//127.0.0.1/secret"):
        site.redirects["/there"] = target
        with pytest.raises(BadRequest, match="refused: "):
            fetch(LISTED, site.url("/there"))
    for target in (f"http://files.test:{site.port}/secret", "file:///etc/passwd", "gopher://files.test/"):
        site.redirects["/there"] = target
        with pytest.raises((BadRequest, StoreUnavailable)):
            fetch(LISTED if "http:" not in target else Reach.parse("127.0.0.0/8"), site.url("/there"))


def test_a_redirect_within_what_may_be_reached_is_followed_without_credentials(site: Website) -> None:
    site.redirects["/near"] = "/a.txt"
    site.redirects["/far"] = site.url("/a.txt", "other.test")
    both = Reach.parse("files.test,other.test")
    assert fetch(both, site.url("/near"), authorization="Bearer secret") == b"content"
    assert site.asked[-1][2]["Authorization"] == "Bearer secret"
    assert fetch(both, site.url("/far"), authorization="Bearer secret") == b"content"
    assert "Authorization" not in site.asked[-1][2]


@pytest.mark.parametrize(
    "target",
    [
        "https://other.test:{port}\\@files.test:{port}/a.txt",
        "https://files.test:{port}@other.test:{port}/a.txt",
        "https://[::1",
        "https://files.test:99999/",
        "https://",
    ],
)
def test_a_redirect_that_can_be_read_in_two_ways_is_refused(site: Website, target: str) -> None:
    """Credentials would go to a host that one reader takes for the first, and the other does not."""
    site.redirects["/odd"] = target.format(port=site.port)
    with pytest.raises(AddressRefused, match="not written plainly"):
        fetch(Reach.parse("files.test,other.test"), site.url("/odd"), authorization="Bearer secret")
    assert site.asked[-1][1] == "/odd"


def test_redirects_end(site: Website) -> None:
    site.redirects["/round"] = "/round"
    with pytest.raises(BadRequest, match="redirects more than"):
        fetch(LISTED, site.url("/round"))


def test_a_name_that_changes_its_mind_gains_nothing(site: Website) -> None:
    """Each connection asks the name server once, and goes to the very address that was judged."""
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]])
    asked: list[Sequence[str]] = []

    def rebind() -> Sequence[str]:
        asked.append(next(answers))
        return asked[-1]

    with resolving({"files.test": rebind}):
        assert fetch(Reach.parse("127.0.0.1"), site.url("/a.txt")) == b"content"
        assert asked == [["127.0.0.1"]]
        with pytest.raises(BadRequest, match=r"127\.0\.0\.2 is not a public address"):
            fetch(Reach.parse("127.0.0.1"), site.url("/a.txt"))
    assert len(asked) == 2


def test_what_counts_is_the_address_at_the_other_end(site: Website) -> None:
    """The name has a public address, but the connection ends somewhere else."""
    real = socket.socket.connect

    def led_astray(self: socket.socket, address: Any) -> None:
        real(self, ("127.0.0.1", site.port))

    with (
        resolving({"files.test": ["93.184.215.14"]}),
        patch("socket.socket.connect", led_astray),
        pytest.raises(StoreUnavailable, match="not public"),
    ):
        fetch(Reach(), site.url("/a.txt"))


def test_of_several_addresses_only_those_that_may_be_reached_are_tried(site: Website) -> None:
    reach = Reach.parse("127.0.0.0/8")
    with resolving({"files.test": ["10.255.255.1", "127.0.0.1"]}):
        assert fetch(reach, site.url("/a.txt")) == b"content"


def test_certificates_are_checked(site: Website) -> None:
    with resolving({"wrong.test": ["127.0.0.1"]}), pytest.raises(StoreUnavailable, match="certificate"):
        fetch(Reach.parse("wrong.test"), site.url("/a.txt", "wrong.test"))


def test_what_is_too_long_is_not_read(site: Website) -> None:
    site.files["/long"] = b"x" * 2000
    with pytest.raises(BadRequest, match="longer than"):
        fetch(LISTED, site.url("/long"))


def test_a_failure_is_told_without_the_names_of_our_classes(site: Website) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        url = f"http://files.test:{unheard.getsockname()[1]}/a.txt"
        with pytest.raises(StoreUnavailable) as refused:
            fetch(LISTED, url)
    assert "refused" in str(refused.value)
    assert "Connection(" not in str(refused.value) and "host=" not in str(refused.value)


def test_small_requests_trust_whom_others_trust(site: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(GuardedHttp(LISTED, policy=QUICK)) as http:
        assert http.send_small("GET", site.url("/a.txt"), {}, b"").body == b"content"
    monkeypatch.delenv("SSL_CERT_FILE")
    with closing(GuardedHttp(LISTED, policy=QUICK)) as http, pytest.raises(StoreUnavailable, match="certificate"):
        http.send_small("GET", site.url("/a.txt"), {}, b"")
