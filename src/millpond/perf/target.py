"""What is measured: a server that runs, files on this machine, or a version of a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from millpond.client.cached import cache
from millpond.client.endpoints import create_token, get_endpoint, revoke_token
from millpond.client.http import Api
from millpond.client.model import Model
from millpond.errors import BadRequest
from millpond.perf.servers import MeasuredServer, started_servers

# Longer than any run but an official one of many scenarios.
_TOKEN_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class PerfTarget:
    """`folder` holds the model's files; `server` runs already. Exactly one is set."""

    model: str
    folder: Path | None = None
    server: MeasuredServer | None = None
    # Its files in the lake, written dataset@commit: they can be cached on a volume, the document's shared storage.
    dataset: str | None = None

    @contextmanager
    def running(self, scratch: Path) -> Iterator[MeasuredServer]:
        """The server itself, or one that is started for the block."""
        if self.server is not None:
            yield self.server
            return
        assert self.folder is not None
        with started_servers(self.model, self.folder, 1, scratch) as (server,):
            yield server


def is_plain_name(written: str) -> bool:
    """True for what may be the name of an endpoint: no URL, folder or version."""
    return not set(written) & set("/@:.~") and not Path(written).is_dir()


def resolve(
    written: str, *, model: str | None, grpc: str | None, token: str | None, server: str | None, project: str | None
) -> PerfTarget:
    """URL, ./folder, MODEL@VERSION or an endpoint. Raises BadRequest, or NotFound for what does not exist."""
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
    info = found.info
    return PerfTarget(info.model, folder=found.path(), dataset=f"{info.dataset}@{info.commit}")


@contextmanager
def endpoint_target(api: Api, project: str, name: str) -> Iterator[PerfTarget]:
    """An endpoint where it is nearest, with a token for as long as it is measured."""
    found = get_endpoint(api, project, name)
    site = next((site for site in found.sites if site.http), None)
    if site is None:
        raise BadRequest(f"Endpoint {name} has no address yet.", hint=f"See why: mill why {name}")
    made = create_token(api, project, found.name, "mlperf", expires_seconds=_TOKEN_SECONDS)
    try:
        yield PerfTarget(found.name, server=MeasuredServer(site.http, site.grpc, made.secret))
    finally:
        revoke_token(api, project, found.name, made.id)


def shared_folder(target: PerfTarget) -> Path:
    """The model's files on a volume that this machine has. Raises BadRequest where there is none."""
    if target.dataset is None:
        raise BadRequest(
            "A folder of this machine is no shared storage.", hint="Measure a registered model: MODEL@VERSION."
        )
    cached = cache(target.dataset).wait()
    if not cached.path.is_dir():
        raise BadRequest(f"Volume {cached.volume} is not on this machine.", hint="Measure where the volume is mounted.")
    return cached.path
