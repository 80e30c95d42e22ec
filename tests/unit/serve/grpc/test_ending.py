"""How gRPC ends, and how it is kept from others' eyes: calls in flight are answered, TLS by files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from millpond.testing.serving import write_python_model
from millpond.testing.waiting import wait_until
from millpond.testing.website import make_certificate
from tests.unit.serve.grpc.conftest import serving_grpc
from tests.unit.serve.grpc.test_clients import pair

# Says that it began, and waits until it may end.
WAITS = """
    import pathlib
    import time

    class Model:
        inputs = {{"x": ("FP32", [2])}}
        outputs = {{"y": ("FP32", [2])}}

        def predict(self, inputs):
            folder = pathlib.Path({folder!r})
            (folder / "began").touch()
            while not (folder / "go").exists():
                time.sleep(0.005)
            return {{"y": inputs["x"]}}
"""


def test_a_call_in_flight_is_answered_before_the_end(tmp_path: Path) -> None:
    root = tmp_path / "models"
    write_python_model(root, "waits", WAITS.format(folder=str(tmp_path)))
    with serving_grpc(root) as (_, server), ThreadPoolExecutor(2) as threads:
        client = triton.InferenceServerClient(server.address.removeprefix("tcp:"))
        answer = threads.submit(client.infer, "waits", pair())
        wait_until((tmp_path / "began").exists)
        end = threads.submit(server.drain, 60)
        late = triton.InferenceServerClient(server.address.removeprefix("tcp:"))
        wait_until(lambda: not _is_live(late))
        assert not end.done()
        (tmp_path / "go").touch()
        assert answer.result(30).as_numpy("y").tolist() == [1, 2]
        end.result(30)
        client.close()
        late.close()


def _is_live(client: triton.InferenceServerClient) -> bool:
    try:
        return bool(client.is_server_live())
    except InferenceServerException:
        return False


def test_tls_by_files(root: Path, tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    with serving_grpc(root, tls_cert=cert, tls_key=key) as (_, server):
        where = server.address.removeprefix("tcp:")
        trusting = triton.InferenceServerClient(where, ssl=True, root_certificates=str(cert))
        assert trusting.infer("double", pair()).as_numpy("y").tolist() == [2, 4]
        trusting.close()
        with triton.InferenceServerClient(where) as plain, pytest.raises(InferenceServerException):
            plain.is_server_live()
