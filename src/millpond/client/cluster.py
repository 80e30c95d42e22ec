"""`millpond.Cluster`: a Dask or Ray cluster of a project, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond.client import clusters as calls
from millpond.client.credentials import resolve_target
from millpond.client.environment import commit_environment
from millpond.client.http import Api
from millpond.client.submitting import Submitted, submit
from millpond.model.cluster import ClusterKind, ClusterState
from millpond.model.quantity import parse_bytes, parse_gpus
from millpond.wire.clusters import Cluster as ClusterInfo
from millpond.wire.clusters import ClusterCreate, ClusterLimits


class Cluster:
    """A cluster of a project, by name. What is known of it (`state`, `workers`, `history` …) are attributes, as they
    were when it was last read: `refresh` reads it again."""

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        target = resolve_target(server, project)
        self._api = Api(target.server, target.token)
        self.info: ClusterInfo = calls.get_cluster(self._api, target.project, name)

    @classmethod
    def create(
        cls, name: str, kind: str, *, workers: int = 1, adapt: tuple[int, int] | None = None,
        env: str | Path | None = None, cpu: int = 1, memory: str | None = None, gpu: str | float | None = None,
        image: str | None = None, compute: str | None = None, on: str | None = None, site: str | None = None,
        data: Sequence[str] = (), scheduler_memory: str | None = None,
        server: str | None = None, project: str | None = None,
    ) -> Cluster:  # fmt: skip
        """A new cluster of `kind` dask or ray. `env` is a requirements file with its packages; CPUs, memory, GPUs and
        image are those of each worker. `data` are datasets that workers read. With `adapt`, workers follow the demand
        between two numbers. Without `scheduler_memory` the scheduler reserves as much as a worker, from 1 to 4 GB."""
        target = resolve_target(server, project)
        api = Api(target.server, target.token)
        asked = ClusterCreate(
            name=name, kind=ClusterKind(kind), workers=workers,
            adapt=ClusterLimits(min=adapt[0], max=adapt[1]) if adapt else None,
            cpu=cpu, memory_bytes=parse_bytes(memory) if memory else 0,
            scheduler_memory_bytes=parse_bytes(scheduler_memory) if scheduler_memory else 0,
            gpu_hundredths=0 if gpu is None else parse_gpus(str(gpu)), image=image, compute=compute, on=on, site=site,
            data=list(data),
            environment=commit_environment(api, target.project, Path(env)).id if env is not None else None,
        )  # fmt: skip
        calls.create_cluster(api, target.project, asked)
        return cls(name, server=server, project=project)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        return getattr(self.info, name)

    @property
    def is_usable(self) -> bool:
        """True if jobs could use it when it was last read."""
        return self.info.state.takes_jobs

    def refresh(self) -> Cluster:
        self.info = calls.get_cluster(self._api, self.info.project, self.info.name)
        return self

    def wait(self, timeout: float | None = None) -> Cluster:
        """Until it has as many workers as wanted; TimeoutError after `timeout` seconds."""
        self.info = calls.wait_until_ready(self._api, self.info.project, self.info.name, timeout=timeout)
        if self.info.state is not ClusterState.READY:
            raise TimeoutError(f"Cluster {self.info.name} is {self.info.state.value}: {' '.join(self.info.reasons)}")
        return self

    def scale(self, workers: int | None = None, *, adapt: tuple[int, int] | None = None) -> Cluster:
        """A fixed number of workers, or two numbers between which they follow the demand."""
        limits = ClusterLimits(min=adapt[0], max=adapt[1]) if adapt else None
        self.info = calls.scale_cluster(self._api, self.info.project, self.info.name, workers=workers, adapt=limits)
        return self

    def submit(self, command: Any, **options: Any) -> Submitted:
        """Run a command as a job that finds this cluster, as `millpond.submit` does."""
        return submit(command, cluster=self.info.name, project=self.info.project, **options)

    def delete(self) -> None:
        """Retire its workers and stop its scheduler."""
        calls.delete_cluster(self._api, self.info.project, self.info.name)
