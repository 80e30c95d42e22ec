"""The contract every backend of the model server keeps. Subclass `ModelBackendContract` and give it a model."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from millpond.serve.core import ModelServer
from millpond.serve.errors import ServeError
from millpond.serve.request import InferRequest, RequestedOutput
from millpond.serve.statistics import BatchTimes
from millpond.serve.tensors import Tensor, numpy_type


class ModelBackendContract:
    """Subclasses provide the fixture `repository`: a folder with a model `double` of four numbers a row: y = 2 x."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        raise NotImplementedError

    @pytest.fixture
    def server(self, repository: Path) -> Iterator[ModelServer]:
        server = ModelServer(repository)
        server.load("double")
        yield server
        server.close()

    def test_computes(self, server: ModelServer) -> None:
        response = server.infer_blocking(self._request(server, [[1, 2, 3, 4]]))
        np.testing.assert_allclose(response.outputs[0].array, [[2, 4, 6, 8]], rtol=1e-5)
        assert (response.model, response.version) == ("double", "1")

    def test_names_what_it_takes_and_gives(self, server: ModelServer) -> None:
        metadata = server.model_metadata("double")
        assert [entry["shape"] for entry in metadata["inputs"]] == [[-1, 4]]
        assert metadata["outputs"][0]["shape"] == [-1, 4]
        assert all(entry["name"] and entry["datatype"] for entry in metadata["inputs"] + metadata["outputs"])

    def test_answers_many_at_once_each_with_its_own(self, server: ModelServer) -> None:
        with ThreadPoolExecutor(8) as pool:
            rows = [[[n, n + 1, n + 2, n + 3]] * (1 + n % 3) for n in range(60)]
            answers = list(pool.map(lambda row: server.infer_blocking(self._request(server, row)), rows))
        for row, answer in zip(rows, answers, strict=True):
            np.testing.assert_allclose(answer.outputs[0].array, np.array(row) * 2.0, rtol=1e-5, atol=1e-9)

    def test_runs_several_requests_as_one_batch(self, server: ModelServer) -> None:
        (instance, *_) = server.repository.find("double")._instances
        requests = [self._request(server, [[n, n, n, n]] * (n + 1)) for n in range(4)]
        results = instance.execute(requests, BatchTimes())
        for n, result in enumerate(results):
            assert not isinstance(result, ServeError)
            (array, *_) = result.values()
            np.testing.assert_allclose(array, np.full((n + 1, 4), 2.0 * n), rtol=1e-5, atol=1e-9)

    def test_gives_only_what_is_asked_for(self, server: ModelServer) -> None:
        name = server.model_metadata("double")["outputs"][0]["name"]
        response = server.infer_blocking(self._request(server, [[1, 1, 1, 1]], RequestedOutput(name)))
        assert [tensor.name for tensor in response.outputs] == [name]

    def test_refuses_other_shapes_types_and_names(self, server: ModelServer) -> None:
        good = self._request(server, [[1, 2, 3, 4]]).inputs[0]
        wrong = [
            Tensor(good.name, good.datatype, good.array[:, :3]),
            Tensor(good.name, good.datatype, good.array[0]),
            Tensor(good.name, "UINT8", good.array.astype(np.uint8)),
            Tensor("other", good.datatype, good.array),
        ]
        for tensor in wrong:
            with pytest.raises(ServeError) as caught:
                server.infer_blocking(InferRequest("double", (tensor,)))
            assert caught.value.status == 400

    def test_says_why_a_broken_file_cannot_be_loaded(self, repository: Path) -> None:
        (broken,) = [path for path in sorted((repository / "double" / "1").iterdir()) if path.is_file()][:1]
        broken.chmod(0o644)
        broken.write_bytes(b"\x80broken\0file")
        server = ModelServer(repository)
        with pytest.raises(ServeError, match="cannot load model 'double' version 1"):
            server.load("double")
        assert server.index()[0]["state"] == "UNAVAILABLE"
        server.close()

    def test_is_loaded_again_and_unloaded(self, server: ModelServer) -> None:
        server.load("double")
        assert server.infer_blocking(self._request(server, [[1, 2, 3, 4]])).outputs
        server.unload("double")
        assert not server.is_model_ready("double")

    def _request(self, server: ModelServer, rows: list[list[float]], *outputs: RequestedOutput) -> InferRequest:
        entry = server.model_metadata("double")["inputs"][0]
        array = np.array(rows, numpy_type(entry["datatype"]))
        return InferRequest("double", (Tensor(entry["name"], entry["datatype"], array),), outputs=outputs)
