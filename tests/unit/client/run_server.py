"""The part of a server that runs need: remembers runs, batches (each once) and artifacts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millpond.api.shapes.points import read_points, to_batch
from millpond.lake.encoding import decode_blob
from millpond.lake.packs import read_index
from millpond.model.ids import new_pack_id
from millpond.wire.points import MEDIA_TYPE
from tests.unit.client.fake_server import Answer, FakeServer, Received, problem

DEADLINE = 10.0


@dataclass
class Runs:
    created: dict[str, dict[str, Any]] = field(default_factory=dict)
    batches: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    # As servers were that take no points as bytes.
    knows_json_only: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def install(self, server: FakeServer) -> None:
        server.on("POST", "/projects/([^/]+)/runs", self._create)
        server.on("POST", "/projects/[^/]+/runs/([^/]+)/batch", self._batch)
        server.on("POST", "/projects/[^/]+/uploads", lambda received: {"id": "upload01", "begins_empty": True})
        server.on("POST", "/projects/[^/]+/uploads/upload01/packs", self._slots)
        server.on("PUT", "/stored/(.+)", self._pack)
        server.on("POST", "/projects/[^/]+/uploads/upload01/packs/written", lambda received: Answer(204))
        server.on("POST", "/projects/[^/]+/runs/[^/]+/artifacts", self._artifacts)

    def points(self, key: str) -> list[tuple[int, float | str]]:
        found = [part for part in self._all("series") if part["key"] == key]
        return [point for part in found for point in zip(part["steps"], part["values"], strict=True)]

    def params(self) -> dict[str, Any]:
        return {key: value for batch in self._batches() for key, value in batch["params"].items()}

    def tags(self) -> dict[str, str]:
        return {key: value for batch in self._batches() for key, value in batch["tags"].items()}

    def origin(self) -> dict[str, Any]:
        return {key: value for batch in self._batches() for key, value in batch["origin"].items()}

    def ended(self) -> list[str]:
        return [batch["ended"] for batch in self._batches() if batch.get("ended")]

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE), "the server did not get it in time"

    def _batches(self) -> list[dict[str, Any]]:
        return list(self.batches.values())

    def _all(self, name: str) -> list[dict[str, Any]]:
        return [item for batch in sorted(self._batches(), key=lambda one: one["sequence"]) for item in batch[name]]

    def _create(self, received: Received) -> dict[str, Any]:
        request = received.json
        with self.changed:
            self.created[request["id"]] = request
            self.changed.notify_all()
        return self.shape(request["id"]) | {"experiment": request["experiment"], "name": request["name"] or "a-run"}

    def shape(self, run: str) -> dict[str, Any]:
        return {
            "id": run, "project": "default", "experiment": "default", "name": "a-run", "job": None, "state": "running",
            "params": {}, "tags": {}, "metrics": {}, "created_by": "maria", "started_at": "2026-01-01T00:00:00Z",
            "ended_at": None,
        }  # fmt: skip

    def _batch(self, received: Received) -> Answer:
        batch = self.read(received)
        if batch is None:
            return problem(400, "bad_request", "The request body is not JSON.")
        with self.changed:
            self.batches.setdefault((received.match[1], batch["writer"], batch["sequence"]), batch)
            self.changed.notify_all()
        return Answer(204)

    def read(self, received: Received) -> dict[str, Any] | None:
        if received.headers.get("content-type") != MEDIA_TYPE:
            found: dict[str, Any] = received.json
            return found
        if self.knows_json_only:
            return None
        head, points = read_points(received.body)
        batch: dict[str, Any] = json.loads(to_batch(head, points))
        return batch | {"params": {}, "tags": {}, "origin": {}}

    def _slots(self, received: Received) -> dict[str, Any]:
        ids = [new_pack_id() for _ in range(received.json["count"])]
        return {"slots": [{"id": one, "url": f"/stored/{one}", "expires_at": "2100-01-01T00:00:00Z"} for one in ids]}

    def _pack(self, received: Received) -> Answer:
        pack_id, pack = received.match[1], received.body
        for place in read_index(pack_id, len(pack), lambda start, end: pack[start:end]):
            stored = pack[place.offset : place.offset + place.stored]
            self.blobs[place.digest.hex()] = bytes(decode_blob(place.digest, place.encoding, stored, place.raw))
        return Answer(200)

    def _artifacts(self, received: Received) -> Answer:
        with self.changed:
            for put in received.json["puts"]:
                self.artifacts[put["path"]] = self.blobs[put["digest"]]
            self.changed.notify_all()
        return Answer(204)
