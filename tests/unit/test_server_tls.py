"""Certificates: read, chosen by name, read again when they change, refused with words."""

from __future__ import annotations

import os
import socket
import ssl
from pathlib import Path

import httpx
import pytest

from millpond.client.http import Api
from millpond.errors import ServerUnreachable, SetupError
from millpond.local_tls import LocalTrust, local_name
from millpond.server_tls import ServedCertificates, accepts, read_certificate
from millpond.settings import KeyPair, Settings
from millpond.testing.server import running_server
from millpond.testing.website import make_certificate


def pair(folder: Path, *hosts: str, days: int = 90) -> KeyPair:
    return KeyPair(*make_certificate(folder, hosts=hosts, days=days))


def trusting(*pairs: KeyPair) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for one in pairs:
        context.load_verify_locations(one.cert)
    return context


def test_the_name_that_is_asked_for_chooses_the_certificate(tmp_path: Path) -> None:
    page, apps = pair(tmp_path / "a", "mill.test"), pair(tmp_path / "b", "*.apps.test")
    served = ServedCertificates([page, apps])
    assert accepts(served.context, trusting(page), "mill.test")
    assert accepts(served.context, trusting(apps), "8888-x.apps.test")
    assert not accepts(served.context, trusting(page), "8888-x.apps.test")
    assert accepts(served.context, trusting(page), "127.0.0.1"), "an address is named in no handshake: the first"
    assert not accepts(served.context, trusting(page), "deeper.x.apps.test")


def test_a_running_server_keeps_connections_when_its_certificate_changes(tmp_path: Path) -> None:
    first = pair(tmp_path, "localhost")
    kept = first.cert.read_bytes()
    with running_server(tmp_path / "data", tls=[first]) as server:
        served = server.certificates
        assert served is not None and not served.reload_changed(), "nothing has changed yet"
        old = trusting(first)
        with httpx.Client(base_url=server.url, verify=old, trust_env=False) as client:
            assert client.get("/healthz").status_code == 200
            make_certificate(tmp_path, hosts=["localhost"])
            assert served.reload_changed()
            assert client.get("/healthz").status_code == 200, "over the connection that was open"
            with (
                httpx.Client(base_url=server.url, verify=old, trust_env=False) as other,
                pytest.raises(httpx.ConnectError),
            ):
                other.get("/healthz")
            with httpx.Client(base_url=server.url, verify=trusting(first), trust_env=False) as other:
                assert other.get("/healthz").status_code == 200
            new = trusting(first)
            first.cert.write_bytes(kept)
            assert not served.reload_changed(), "a certificate whose key is not there yet changes nothing"
            assert accepts(served.context, new, "localhost")


def test_old_versions_of_tls_are_refused(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", tls=[pair(tmp_path, "localhost")]) as server:
        port = int(server.url.rpartition(":")[2])
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secured:
            assert secured.version() == "TLSv1.2"
            assert (secured.cipher() or ("",))[0].startswith("ECDHE-")
    assert ServedCertificates([pair(tmp_path, "localhost")]).context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_what_is_no_pair_is_refused_with_words(tmp_path: Path) -> None:
    good, other = pair(tmp_path / "a", "a.test"), pair(tmp_path / "b", "b.test")
    for cert, key, said in (
        (tmp_path / "none.pem", good.key, "Cannot use the certificate"),
        (good.cert, other.key, "with the key"),
        (good.key, good.key, "Cannot use the certificate"),
    ):
        with pytest.raises(SetupError, match=said):
            ServedCertificates([KeyPair(cert, key)])


@pytest.mark.parametrize(
    ("host", "names", "public", "expected"),
    [
        ("127.0.0.1", ["localhost"], None, "127.0.0.1"),
        ("0.0.0.0", ["mill.test"], None, "127.0.0.1"),
        ("10.0.0.5", ["mill.test"], None, "mill.test"),
        ("10.0.0.5", ["*.test", "other.example"], "https://mill.test:8420", "mill.test"),
    ],
)
def test_this_machine_uses_a_name_of_the_certificate(
    tmp_path: Path, host: str, names: list[str], public: str | None, expected: str
) -> None:
    shown = read_certificate(pair(tmp_path, *names).cert)
    assert local_name(Settings(tmp_path, host=host, public_url=public), [shown]) == expected


def test_trust_is_written_where_the_machines_own_does_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILL_CA_FILE", raising=False)
    files = pair(tmp_path, "localhost")
    settings = Settings(tmp_path, tls=[files], tls_name="localhost")
    served = ServedCertificates([files])
    trust = LocalTrust(settings, served)
    assert trust.file is not None
    assert accepts(served.context, ssl.create_default_context(cafile=str(trust.file)), "localhost")
    make_certificate(tmp_path, hosts=["localhost"])
    assert served.reload_changed() and trust.renew()
    assert trust.file.read_bytes() == files.cert.read_bytes()
    monkeypatch.setenv("MILL_CA_FILE", str(files.cert))
    assert LocalTrust(settings, served).file is None, "whoever starts the server trusts it already"


def test_a_client_is_told_how_to_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILL_CA_FILE", raising=False)
    files = pair(tmp_path, "localhost")
    with running_server(tmp_path / "data", tls=[files]) as server:
        with pytest.raises(ServerUnreachable) as refused, Api(server.url) as client:
            client.request("GET", "/session")
        assert "MILL_CA_FILE" in (refused.value.hint or "")
        monkeypatch.setitem(os.environ, "MILL_CA_FILE", str(files.cert))
        with Api(server.url, server.token_of("admin")) as client:
            assert client.request("GET", "/session").status == 200
