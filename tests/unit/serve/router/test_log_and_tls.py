"""The request log on a disk that fails, and certificates that change."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from millpond.serve.router.config import LogRule, RoutedVersion, read_config
from millpond.serve.router.log_rows import LogEntry, LoggedBody, body_document, is_sampled
from millpond.serve.router.request_log import RequestLog
from tests.unit.serve.router.routed import routed


def an_entry(number: int, request: bytes | None = None) -> LogEntry:
    logged = LoggedBody(request) if request is not None else None
    served = RoutedVersion("chest-xray", 3)
    return LogEntry(f"{number:04d}", 1.5, "xray", served, "http", 200, 0.25, "t1", 10, 20, request=logged)


def a_log(directory: Path, *, most_bytes: int = 1 << 30, file_bytes: int = 1 << 24) -> RequestLog:
    return RequestLog(directory, "since", file_bytes=file_bytes, most_bytes=most_bytes)


def ids(directory: Path, pattern: str = "*.jsonl") -> list[str]:
    return [
        json.loads(line)["id"] for path in sorted(directory.glob(pattern)) for line in path.read_text().splitlines()
    ]


def test_rows_come_in_order_and_files_close_at_their_size(tmp_path: Path) -> None:
    log = a_log(tmp_path, file_bytes=1000)
    log.start()
    for number in range(100):
        log.offer(an_entry(number))
    log.stop()
    assert ids(tmp_path) == [f"{number:04d}" for number in range(100)]
    assert len(list(tmp_path.glob("*.jsonl"))) > 10 and not list(tmp_path.glob("*.open"))
    assert log.counts()["rows"] == 100 and log.counts()["dropped"] == 0


def test_what_a_killed_router_left_is_closed_without_its_half_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.open").write_text('{"id":"1"}\n{"id":"2"}\n{"id":')
    (tmp_path / "b.jsonl.open").write_text('{"id":')
    log = a_log(tmp_path)
    log.start()
    log.stop()
    assert ids(tmp_path) == ["1", "2"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_the_log_keeps_to_its_room_and_goes_on_when_files_are_taken(tmp_path: Path) -> None:
    log = a_log(tmp_path, most_bytes=3000, file_bytes=1000)
    for _ in range(10):
        log.offer(an_entry(1))
    log._write_waiting()
    for _ in range(100):
        log.offer(an_entry(2))
    log._write_waiting()
    assert log.counts()["rows"] == 10 and log.counts()["dropped"] == 100
    for path in tmp_path.glob("*.jsonl"):
        path.unlink()
    log.offer(an_entry(3))
    log._write_waiting()
    assert log.counts()["rows"] == 11
    log._close()


def test_another_limit_of_its_room_holds_from_then_on(tmp_path: Path) -> None:
    log = a_log(tmp_path, most_bytes=1)
    log.offer(an_entry(1))
    log._write_waiting()
    log.limit(1 << 20)
    log.offer(an_entry(2))
    log._write_waiting()
    log._close()
    assert log.counts()["dropped"] == 1 and ids(tmp_path) == ["0002"]


def test_the_configuration_says_how_much_room_the_log_has() -> None:
    said = {"schema": "millpond.router/1", "project": "p"}
    assert read_config(json.dumps(said | {"log": {"max_bytes": 5}})).log_bytes == 5
    assert read_config(json.dumps(said)).log_bytes is None


def test_a_disk_that_fails_loses_rows_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = a_log(tmp_path)
    log.offer(an_entry(1))
    log._write_waiting()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("millpond.serve.router.request_log.os.fsync", full)
        log.offer(an_entry(2))
        log._write_waiting()
    assert log.counts()["dropped"] == 1
    log.offer(an_entry(3))
    log._write_waiting()
    log._close()
    found = ids(tmp_path)
    assert found[0] == "0001" and found[-1] == "0003"


@given(st.floats(0, 1))
def test_the_sample_is_as_large_as_asked_and_always_the_same(sample: float) -> None:
    rule = LogRule("meta", sample)
    chosen = [number for number in range(2000) if is_sampled(rule, f"{number:x}")]
    assert abs(len(chosen) - 2000 * sample) < 150
    assert chosen == [number for number in range(2000) if is_sampled(rule, f"{number:x}")]


@given(st.binary(max_size=300), st.none() | st.integers(-5, 400), st.sampled_from(["", "gzip", "deflate", "x"]))
def test_any_body_makes_a_row(content: bytes, header_length: int | None, encoding: str) -> None:
    for body in (LoggedBody(content, encoding, header_length), LoggedBody(content, grpc=True)):
        json.dumps(body_document(body, frozenset({"a"}), is_request=True))


KEYS = st.sampled_from(["name", "data", "parameters", "binary_data_size", "inputs", "raw"])
LEAVES = st.none() | st.integers() | st.text(max_size=5)


@given(st.recursive(LEAVES, lambda one: st.lists(one) | st.dictionaries(KEYS, one), max_leaves=12))
def test_any_json_makes_a_row(value: object) -> None:
    content = json.dumps({"inputs": [value, {"parameters": value}], "parameters": value}).encode()
    json.dumps(body_document(LoggedBody(content), frozenset(), is_request=True))


def test_a_changed_certificate_is_used_for_new_connections(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    write_certificate(certificate, key, "first")
    options = {"tls_cert": certificate, "tls_key": key, "grpc": "tcp:127.0.0.1:0"}

    async def case() -> None:
        async with routed(tmp_path, 3, options=options) as (router, _):
            http, spoken = (router.router.addresses[kind].removeprefix("tcp:") for kind in ("http", "grpc"))
            for name in ("first", "second"):
                if name == "second":
                    write_certificate(certificate, key, name)
                    router.router.look_at_files()
                assert await name_at(http) == name
                await asyncio.to_thread(ask_grpc, spoken, certificate.read_bytes(), name)

    uvloop.run(asyncio.wait_for(case(), 60))


async def name_at(address: str) -> str:
    """The name in the certificate that a server shows."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    shown = x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    writer.close()
    return str(shown.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def ask_grpc(address: str, certificate: bytes, name: str) -> None:
    options = [("grpc.ssl_target_name_override", name), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.secure_channel(address, grpc.ssl_channel_credentials(certificate), options) as channel:
        live: Callable[..., bytes] = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        assert live(b"", timeout=30) == b"\x08\x01"


def write_certificate(certificate: Path, key: Path, name: str) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(private, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key.write_bytes(private.private_bytes(pem, form, no_password))
    certificate.write_bytes(made.public_bytes(pem))


def test_integers_of_typed_contents_are_logged_as_numbers() -> None:
    request = service_pb2.ModelInferRequest(model_name="xray")
    for kind, field, values in (
        ("INT64", "int64_contents", [1 << 60, -2]), ("UINT64", "uint64_contents", [3]), ("INT32", "int_contents", [4]),
        ("FP32", "fp32_contents", [0.5]), ("BOOL", "bool_contents", [True]),
    ):  # fmt: skip
        tensor = request.inputs.add(name=kind.lower(), datatype=kind, shape=[len(values)])
        getattr(tensor.contents, field).extend(values)
    request.parameters["priority"].int64_param = 7
    found = body_document(LoggedBody(request.SerializeToString(), grpc=True), frozenset(), is_request=True)
    assert [one["data"] for one in found["inputs"]] == [[1 << 60, -2], [3], [4], [0.5], [True]]
    assert found["parameters"] == {"priority": {"int64_param": 7}}
