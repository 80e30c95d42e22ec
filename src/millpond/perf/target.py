"""What is measured: a server that runs, files on this machine, or a version of a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from millpond.client.model import Model
from millpond.errors import BadRequest
from millpond.perf.servers import MeasuredServer, started_servers


@dataclass(frozen=True, slots=True)
class PerfTarget:
    """`folder` holds the model's files; `server` runs already. Exactly one is set."""

    model: str
    folder: Path | None = None
    server: MeasuredServer | None = None
    # The files lie on a volume beside the compute: the document's shared storage.
    is_shared: bool = False

    @contextmanager
    def running(self, scratch: Path) -> Iterator[MeasuredServer]:
        """The server itself, or one that is started for the block."""
        if self.server is not None:
            yield self.server
            return
        assert self.folder is not None
        with started_servers(self.model, self.folder, 1, scratch) as (server,):
            yield server


def resolve(
    written: str, *, model: str | None, grpc: str | None, token: str | None, server: str | None, project: str | None
) -> PerfTarget:
    """URL, ./folder or MODEL@VERSION. Raises BadRequest, or NotFound for a version that does not exist."""
    if written.startswith(("http://", "https://")):
        if model is None:
            raise BadRequest("A URL needs the name of the model.", hint="Add --model NAME.")
        parts = urlsplit(written)
        # Triton's own numbers: gRPC is one above HTTP.
        other = grpc or f"{parts.hostname}:{(parts.port or 8000) + 1}"
        return PerfTarget(model, server=MeasuredServer(written, other, token))
    path = Path(written)
    if written.startswith((".", "/", "~")) or path.is_dir():
        folder = path.expanduser().resolve()
        if not folder.is_dir():
            raise BadRequest(
                f"{written} is not a folder.", hint="Name the folder of one model, with 1/model.onnx in it."
            )
        return PerfTarget(model or folder.name, folder=folder)
    found = Model(written, server=server, project=project)
    # Names of models allow what folders and addresses do not.
    return PerfTarget(model or found.info.model, folder=found.path(), is_shared=True)
