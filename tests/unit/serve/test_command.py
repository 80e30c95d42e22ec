"""`python -m millpond.serve` as a process: ready file, token, TLS, and an end that loses nothing."""

from __future__ import annotations

import datetime
import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tritonclient import grpc as triton_grpc

from millpond.testing.serving import write_python_model
from millpond.testing.waiting import wait_until

# Waits for a file before it answers, so that a request is in flight for as long as a test wants.
CODE = """
    import pathlib, time

    class Model:
        def load(self, path):
            self.gate = pathlib.Path(path) / "go"
            self.begun = pathlib.Path(path) / "begun"

        def predict(self, inputs):
            self.begun.touch()
            while not self.gate.exists():
                time.sleep(0.01)
            return {"y": inputs["x"]}
"""
CALL = json.dumps({"inputs": [{"name": "x", "shape": [1], "datatype": "INT32", "data": [5]}]}).encode()


@contextmanager
def process(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "millpond.serve", "--repository", str(folder / "models")]
    running = subprocess.Popen([*command, "--ready-file", str(ready), *options])
    try:
        wait_until(lambda: ready.exists() or running.poll() is not None)
        assert running.poll() is None
        yield running, json.loads(ready.read_text())
    finally:
        running.kill()
        running.wait()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self._path)


def test_sigterm_finishes_what_is_in_flight(tmp_path: Path) -> None:
    version = write_python_model(tmp_path / "models", "m", CODE) / "1"
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    listen = tmp_path / "http.sock"
    options = (
        "--listen-unix",
        str(listen),
        "--token-file",
        str(token),
        "--drain-seconds",
        "0.2",
        "--metrics-port",
        "0",
    )
    with process(tmp_path, *options) as (running, ready):
        assert (ready["http"], ready["pid"], ready["models"]) == (f"unix:{listen}", running.pid, {"m": ["1"]})
        assert ready["metrics"].startswith("tcp:127.0.0.1:") and ready["load_s"] >= 0
        answers: list[tuple[int, bytes]] = []

        def ask() -> None:
            connection = UnixConnection(str(listen))
            connection.request("POST", "/v2/models/m/infer", CALL, {"Authorization": "Bearer s3cret"})
            answer = connection.getresponse()
            answers.append((answer.status, answer.read()))
            connection.close()

        asking = threading.Thread(target=ask)
        asking.start()
        wait_until((version / "begun").exists)
        running.send_signal(signal.SIGTERM)
        # It listens no longer, and still owes the answer.
        wait_until(lambda: not listen.exists())
        assert running.poll() is None
        (version / "go").touch()
        asking.join()
        assert (answers[0][0], json.loads(answers[0][1])["outputs"][0]["data"]) == (200, [5])
        assert running.wait(30) == 0


def test_serves_at_sockets_and_ports_at_once(tmp_path: Path) -> None:
    version = write_python_model(tmp_path / "models", "m", CODE) / "1"
    (version / "go").touch()
    token, sockets = tmp_path / "token", (tmp_path / "http.sock", tmp_path / "grpc.sock")
    token.write_text("s3cret\n")
    listen = ("--listen-unix", str(sockets[0]), "--grpc-unix", str(sockets[1]), "--http-port", "0", "--grpc-port", "0")
    with process(tmp_path, *listen, "--token-file", str(token)) as (_, ready):
        assert (ready["http"], ready["grpc"]) == (f"unix:{sockets[0]}", f"unix:{sockets[1]}")
        host, _, port = ready["remote_http"].removeprefix("tcp:").rpartition(":")
        for connection in (UnixConnection(str(sockets[0])), http.client.HTTPConnection(host, int(port), timeout=60)):
            connection.request("POST", "/v2/models/m/infer", CALL, {"Authorization": "Bearer s3cret"})
            assert connection.getresponse().status == 200
            connection.close()
        with triton_grpc.InferenceServerClient(ready["remote_grpc"].removeprefix("tcp:")) as client:
            assert client.is_server_ready(headers={"authorization": "Bearer s3cret"})


def test_serves_over_tls(tmp_path: Path) -> None:
    version = write_python_model(tmp_path / "models", "m", CODE) / "1"
    (version / "go").touch()
    certificate, key = _certificate(tmp_path)
    with process(tmp_path, "--http-port", "0", "--tls-cert", str(certificate), "--tls-key", str(key)) as (_, ready):
        port = int(ready["http"].rpartition(":")[2])
        trust = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("localhost", port, context=trust, timeout=60)
        connection.request("POST", "/v2/models/m/infer", CALL)
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        ([], 2, "--repository DIR or --model NAME=DIR"),
        (["--repository", "/nonexistent"], 2, "is not a folder"),
        (["--model", "m"], 2, "write NAME=DIR"),
        (["--model", "m=/nonexistent"], 2, "is not a folder"),
    ],
)
def test_says_what_is_wrong_with_its_options(options: list[str], code: int, word: str) -> None:
    done = subprocess.run([sys.executable, "-m", "millpond.serve", *options], capture_output=True, text=True)
    assert (done.returncode, word in done.stderr) == (code, True), done.stderr


def test_ends_if_no_model_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "broken" / "1").mkdir(parents=True)
    command = [sys.executable, "-m", "millpond.serve", "--repository", str(tmp_path), "--http-port", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "model 'broken' has none of" in done.stderr) == (1, True), done.stderr


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private
