"""From the folder of a version to a model that serves, warmed up."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from ..backends import choose_kind, load_instances
from ..backends.base import Source
from ..config import PbConfig, check_supported, freeze
from ..config.message import complete, empty_config, finish
from ..errors import ServeError
from ..served import LoadedVersion
from .warmup import warm_up

log = logging.getLogger(__name__)


def load_version(
    name: str, version: int, folder: Path, version_folder: Path, written: PbConfig | None
) -> tuple[LoadedVersion, float]:
    """The loaded version, and the seconds that its warm-up took; `ServeError` with the reason if it cannot serve."""
    config = empty_config()
    if written is not None:
        config.CopyFrom(written)
    check_supported(config, name)
    kind, file = choose_kind(config, name, version_folder)
    complete(config, name, kind.name, kind.platform, file.name)
    source = Source(name, version, folder, version_folder, file, config)
    try:
        instances = load_instances(kind, source)
    except ServeError:
        raise
    except Exception as error:
        log.exception("cannot load model %s version %s", name, version)
        raise source.refuse(f"{type(error).__name__}: {error}") from error
    finish(config)
    served = LoadedVersion(freeze(config), version, folder, instances)
    began = time.monotonic()
    try:
        warm_up(served, folder)
    except BaseException:
        served.close()
        raise
    return served, time.monotonic() - began
