"""`mill run import`: runs of an MLflow server and of TensorBoard's event files, once each, however often."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.client.credentials import load_credentials
from millpond.client.run_import.event_files import masked_crc

from .cli import Mill, ServerHere, server_here

pytestmark = pytest.mark.filterwarnings("ignore")
needs_mlflow = pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow-skinny is not installed")
PNG = b"\x89PNG\r\n\x1a\n rest"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(Path(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capsys, tmp_path)


# MLflow ----------------------------------------------------------------------------------------------


class Source:
    """A project of the same server, as an MLflow server that runs are imported from."""

    def __init__(self, server: ServerHere, name: str) -> None:
        self.token = load_credentials(server.home).servers[server.url].token
        self.uri = f"{server.url}/mlflow/{name}"
        self.environment = {
            "MLFLOW_TRACKING_TOKEN": self.token,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        }
        self.http = httpx.Client(headers={"Authorization": f"Bearer {self.token}"})
        made = self.http.post(f"{server.url}/api/v1/projects", json={"name": name})
        assert made.status_code == 201, made.text

    def post(self, path: str, **body: Any) -> Any:
        answer = self.http.post(f"{self.uri}/api/2.0/mlflow/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def run(self, experiment: str, **fields: Any) -> str:
        made: str = self.post("runs/create", experiment_id=experiment, start_time=1_763_000_000_000, **fields)["run"][
            "info"
        ]["run_id"]
        return made

    def log(self, run: str, key: str, values: list[Any]) -> None:
        metrics = [
            {"key": key, "value": value, "timestamp": 1_763_000_000_000 + step, "step": step}
            for step, value in enumerate(values)
        ]
        self.post("runs/log-batch", run_id=run, metrics=metrics)

    def put(self, run: str, path: str, content: bytes) -> None:
        store = f"{self.uri}/api/2.0/mlflow-artifacts/artifacts/{self.uri.rpartition('/')[2]}/{run}/artifacts"
        assert self.http.put(f"{store}/{path}", content=content).status_code == 200

    def end(self, run: str, status: str = "FINISHED", at: int = 1_763_000_100_000) -> None:
        self.post("runs/update", run_id=run, status=status, end_time=at)


@needs_mlflow
def test_an_mlflow_server_is_imported_once(server: ServerHere, mill: Mill) -> None:
    source = Source(server, "old")
    experiment = source.post("experiments/create", name="x-ray")["experiment_id"]
    note = [{"key": "mlflow.note.content", "value": "# Why"}, {"key": "team", "value": "a"}]
    outer = source.run(experiment, run_name="outer", tags=note)
    source.post("runs/log-parameter", run_id=outer, key="lr", value="0.1")
    source.log(outer, "loss", [3, 2, "NaN", "Infinity"])
    source.put(outer, "net/weights.bin", b"w")
    inner = source.run(experiment, run_name="inner", tags=[{"key": "mlflow.parentRunId", "value": outer}])
    source.end(inner, "FAILED")
    source.post("registered-models/create", name="net", description="a net", tags=[{"key": "k", "value": "v"}])
    source.post("model-versions/create", name="net", source=f"runs:/{outer}/net", run_id=outer)
    source.post("model-versions/create", name="net", source="elsewhere://b/net")
    source.post("registered-models/alias", name="net", alias="champion", version="1")
    source.post("model-versions/transition-stage", name="net", version="1", stage="Production")

    def imported(*more: str) -> Any:
        return mill.ok("run", "import", "mlflow", source.uri, "--json", *more, **source.environment).json

    planned = imported("--dry-run")
    assert (planned["runs_new"], planned["versions_new"], planned["dry_run"]) == (2, 2, True)
    assert mill.ok("run", "list", "--experiment", "x-ray", "--json").json == {"items": []}

    done = imported()
    assert (done["runs_new"], done["points"], done["files"], done["versions_new"]) == (2, 4, 1, 2)
    # A version whose files cannot be read is there all the same, with its place.
    assert len(done["problems"]) == 1
    assert "version 2" in done["problems"][0]

    run = mill.ok("run", "show", "outer", "--json").json
    assert (run["state"], run["params"], run["notes"], run["experiment"]) == (
        "running",
        {"lr": "0.1"},
        "# Why",
        "x-ray",
    )
    assert run["tags"]["team"] == "a"
    assert mill.ok("run", "show", "inner", "--json").json["parent"] == run["id"]
    assert mill.ok("run", "show", "inner", "--json").json["state"] == "failed"
    history = mill.ok("run", "metrics", "outer", "--json").out
    assert history.count("1763000000003") == 1
    version = mill.ok("model", "show", "net@champion", "--json").json
    assert (version["stage"], version["run"], version["files"]) == ("Production", run["id"], 1)

    # The run goes on at its source: only what is new comes.
    source.post("runs/log-metric", run_id=outer, key="loss", value=1, timestamp=1_763_000_000_009, step=9)
    source.put(outer, "log.txt", b"more")
    source.end(outer)
    again = imported()
    assert (again["runs_new"], again["runs_updated"], again["runs_unchanged"]) == (0, 1, 1)
    assert (again["points"], again["files"], again["versions_new"], again["versions_unchanged"]) == (1, 1, 0, 2)
    assert mill.ok("run", "show", "outer", "--json").json["state"] == "succeeded"
    third = imported()
    assert (third["runs_unchanged"], third["points"], third["problems"]) == (2, 0, [])
    assert imported("--experiment", "Default")["runs_unchanged"] == 0
    text = mill.ok("run", "import", "mlflow", source.uri, **source.environment).out
    assert "Imported 0 new runs" in text
    assert "Unchanged: 2 runs." in text


@needs_mlflow
def test_what_cannot_be_imported_from(server: ServerHere, mill: Mill, tmp_path: Path) -> None:
    source = Source(server, "empty")
    for uri, words in (
        (str(tmp_path / "nothing"), "is not a folder"),
        ("sqlite:///nothing.db", "does not exist"),
        ("http://127.0.0.1:1", "Cannot read http://127.0.0.1:1"),
    ):
        done = mill("run", "import", "mlflow", uri, **source.environment)
        assert done.code == 2, uri
        assert words in done.err
    assert not (tmp_path / "nothing").exists()
    wrong = mill("run", "import", "mlflow", source.uri, "--experiment", "x-rai", **source.environment)
    assert wrong.code == 3
    assert "has no experiment 'x-rai'" in wrong.err


# TensorBoard -----------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = b""
    while value > 0x7F:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def part(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def event(at: float, step: int, *values: bytes) -> bytes:
    summary = b"".join(part(1, value) for value in values)
    return varint(1 << 3 | 1) + struct.pack("<d", at) + varint(2 << 3) + varint(step) + part(5, summary)


def scalar(tag: str, value: float) -> bytes:
    return part(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)


def plugin(name: str, content: bytes = b"") -> bytes:
    return part(9, part(1, part(1, name.encode()) + part(2, content)))


def record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked_crc(length)) + message + struct.pack("<I", masked_crc(message))


def hparams(**values: Any) -> bytes:
    entries = b""
    for key, value in values.items():
        written = part(3, value.encode()) if isinstance(value, str) else varint(2 << 3 | 1) + struct.pack("<d", value)
        entries += part(1, part(1, key.encode()) + part(2, written))
    return part(1, b"_hparams_/session_start_info") + plugin("hparams", part(3, entries))


def test_event_files_are_imported_once(mill: Mill, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "a").mkdir(parents=True)
    (logs / "b" / "c").mkdir(parents=True)
    first = logs / "a" / "events.out.tfevents.1763000000.host.1.0"
    values = [event(1_763_000_000.0 + step, step, scalar("loss/train", 1 / (step + 1))) for step in range(5)]
    image = part(1, b"../im x") + part(4, part(4, PNG))
    text = part(1, b"note") + plugin("text") + part(8, part(8, b"hello"))
    precise = (
        part(1, b"acc") + plugin("scalars") + part(8, varint(1 << 3) + varint(2) + part(4, struct.pack("<d", 0.1)))
    )
    rest = [event(1_763_000_009.0, -3, image, text, precise, scalar("bad", float("nan")), hparams(lr=0.5, opt="adam"))]
    first.write_bytes(b"".join(map(record, [*values, *rest])))
    second = logs / "b" / "c" / "events.out.tfevents.1763000000.host.1.1"
    second.write_bytes(b"".join(map(record, values)) + record(rest[0])[:20])

    done = mill.ok("run", "import", "tensorboard", "logs", "--json").json
    assert (done["runs_new"], done["points"], done["files"]) == (2, 12, 2)
    (problem,) = done["problems"]
    assert "it ends in the middle of a record" in problem
    assert str(second) in problem

    run = mill.ok("run", "show", "a", "--json").json
    assert (run["experiment"], run["state"], run["params"]) == ("logs", "succeeded", {"lr": 0.5, "opt": "adam"})
    assert run["metrics"]["acc"] == 0.1
    assert run["started_at"].startswith("2025-11-13")
    files = mill.ok("run", "artifacts", "a").out
    assert "images/im x/-3.png" in files
    assert "text/note/-3.md" in files

    again = mill.ok("run", "import", "tensorboard", "logs", "--json").json
    assert (again["runs_unchanged"], again["points"], again["files"]) == (2, 0, 0)
    second.write_bytes(b"".join(map(record, [*values, event(1_763_000_020.0, 7, scalar("loss/train", 9.0))])))
    more = mill.ok("run", "import", "tensorboard", "logs", "--json").json
    assert (more["runs_updated"], more["runs_unchanged"], more["points"], more["problems"]) == (1, 1, 1, [])


def test_event_files_that_are_none(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    assert "has no event files" in mill("run", "import", "tensorboard", "logs").err
    assert "is not a folder" in mill("run", "import", "tensorboard", "nothing").err
    damaged = folder / "events.out.tfevents.1.host"
    for content in (b"not a record at all", record(b"\xff\xff\xff"), record(b"x")[:-1] + b"?", b"\0" * 40):
        damaged.write_bytes(content)
        done = mill.ok("run", "import", "tensorboard", "logs", "--dry-run", "--json").json
        assert len(done["problems"]) == 1, content


def test_checksums_are_those_of_tensorboard() -> None:
    """The check value of CRC-32C, masked as the format says."""
    crc = 0xE3069283
    assert masked_crc(b"123456789") == ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
