"""`python3 -m millpond_clusters`: becomes what `cluster.json` of its service folder says."""

from __future__ import annotations

import sys
from importlib import import_module

from .folder import ServiceFolder, Unusable
from .ray_environment import ray_environment

_PROGRAMS = {
    ("dask", "scheduler"): ".dask_scheduler",
    ("dask", "worker"): ".dask_worker",
    ("ray", "scheduler"): ".ray_head",
    ("ray", "worker"): ".ray_worker",
}
_INSTALL = {
    "dask": "dask distributed (and bokeh for the dashboard, prometheus-client for metrics)",
    "ray": "ray[default]",
}


def main() -> int:
    folder = ServiceFolder.here()
    try:
        return _run(folder)
    except ImportError as error:
        folder.fail(
            f"The package {error.name or error} is missing in the cluster's environment. Create the cluster with an "
            f"environment that has {_INSTALL[folder.kind]}: mill cluster create NAME --env requirements.txt"
        )
    except Unusable as error:
        folder.fail(str(error))
    return 1


def _run(folder: ServiceFolder) -> int:
    """Only the program that is wanted is loaded: an environment has the packages of one kind."""
    if folder.kind == "ray":
        ray_environment(folder)
    return int(import_module(_PROGRAMS[folder.kind, folder.role], __package__).run(folder))


if __name__ == "__main__":
    sys.exit(main())
