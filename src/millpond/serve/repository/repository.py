"""Which versions serve now. Requests look them up without a lock; loading and unloading happen one at a time."""

from __future__ import annotations

import base64
import binascii
import logging
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ..config import PbConfig, parse_json, read_written
from ..errors import ServeError
from ..served import LoadedVersion
from .layout import ModelFolder, choose_versions, find_models
from .loading import load_version

log = logging.getLogger(__name__)

LOADING, READY, UNLOADING, UNAVAILABLE = "LOADING", "READY", "UNLOADING", "UNAVAILABLE"


@dataclass(slots=True)
class _State:
    state: str
    reason: str = ""


@dataclass(slots=True)
class _Model:
    versions: dict[int, _State] = field(default_factory=dict)
    # Files that a client sent instead of those in the repository.
    sent: tempfile.TemporaryDirectory[str] | None = None


class Repository:
    """Models in `root`, one folder each, and single ones from elsewhere."""

    def __init__(self, root: Path | None = None, models: Mapping[str, ModelFolder] | None = None) -> None:
        self._root = root
        self._single = dict(models or {})
        self._models: dict[str, _Model] = {}
        # By name and version; "" is the newest. Replaced whole, so that whoever reads needs no lock.
        self._serving: dict[tuple[str, str], LoadedVersion] = {}
        self._changing = threading.RLock()
        self.warmup_seconds = 0.0

    def find(self, name: str, version: str = "") -> LoadedVersion:
        """The version that serves; 404 if none does, with the reason where there is one."""
        served = self._serving.get((name, version))
        if served is not None:
            return served
        known = self._models.get(name)
        if known is None:
            raise ServeError(404, f"Request for unknown model: '{name}' is not found")
        state = known.versions.get(int(version)) if version.isdecimal() else None
        if version and state is None:
            raise ServeError(404, f"Request for unknown model: '{name}' version {version} is not found")
        reason = f": {state.reason}" if state and state.reason else ""
        written = f" version {version}" if version else ""
        raise ServeError(404, f"model '{name}'{written} is not ready{reason}")

    def is_ready(self, name: str, version: str = "") -> bool:
        return (name, version) in self._serving

    def serving(self, name: str | None = None) -> list[LoadedVersion]:
        """All versions that serve, or those of one model, in the order of name and number."""
        found = [
            served for (each, version), served in self._serving.items() if version and (name is None or each == name)
        ]
        return sorted(found, key=lambda served: (served.config.name, int(served.version)))

    def load_all(self) -> dict[str, ServeError]:
        """Load every model that can be found; the errors of those that cannot."""
        errors = {}
        for name in self._found():
            try:
                self.load(name)
            except ServeError as error:
                log.error("%s", error)
                errors[name] = error
        return errors

    def load(self, name: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Load or load again; the versions that serve go on until the new ones are ready.

        `parameters`: `config` is a configuration in JSON instead of the written one, `file:1/model.onnx` a file
        (bytes or base64) instead of all that lie in the repository.
        """
        with self._changing:
            config, sent = self._overrides(name, parameters or {})
            folder = ModelFolder(name, Path(sent.name)) if sent else self._found().get(name)
            if folder is None:
                raise ServeError(404, f"failed to load '{name}': the repository has no such model")
            try:
                self._load(folder, config)
            except BaseException:
                if sent:
                    sent.cleanup()
                raise
            self._models[name].sent, old = sent, self._models[name].sent
            if old:
                old.cleanup()

    def unload(self, name: str) -> None:
        """Take the model out of service; requests that it has taken are answered first. None is fine, as in Triton."""
        with self._changing:
            model = self._models.get(name)
            if model is None:
                return
            old = self.serving(name)
            for state in model.versions.values():
                if state.state == READY:
                    state.state = UNLOADING
            self._serve(name, {})
            for served in old:
                served.close()
            model.versions = {number: _State(UNAVAILABLE, "unloaded") for number in model.versions}
            if model.sent:
                model.sent.cleanup()
                model.sent = None

    def unload_all(self) -> None:
        for name in list(self._models):
            self.unload(name)

    def index(self, *, ready: bool = False) -> list[dict[str, str]]:
        """All models with their versions and states; a model that was never loaded has neither."""
        entries: list[dict[str, str]] = []
        for name in sorted({*self._found(), *self._models}):
            model = self._models.get(name)
            if model is None or not model.versions:
                if not ready:
                    entries.append({"name": name})
                continue
            for number, state in sorted(model.versions.items()):
                if not ready or state.state == READY:
                    entry = {"name": name, "version": str(number), "state": state.state}
                    entries.append({**entry, "reason": state.reason} if state.reason else entry)
        return entries

    def _found(self) -> dict[str, ModelFolder]:
        return {**(find_models(self._root) if self._root else {}), **self._single}

    def _load(self, folder: ModelFolder, config: PbConfig | None) -> None:
        name = folder.name
        model = self._models.setdefault(name, _Model())
        available = folder.versions()
        written = config if config is not None else read_written(folder.folder)
        chosen = choose_versions(written, available, folder)
        loaded: dict[int, LoadedVersion] = {}
        states: dict[int, _State] = {}
        for number in chosen:
            if number not in model.versions:
                model.versions[number] = _State(LOADING)
            began = time.monotonic()
            try:
                loaded[number], warmup = load_version(name, number, folder.folder, available[number], written)
            except ServeError as error:
                self._keep_serving(model, loaded, number, error)
                raise
            self.warmup_seconds += warmup
            states[number] = _State(READY)
            log.info("model %s version %s is ready after %.3f s", name, number, time.monotonic() - began)
        for number in model.versions.keys() - states.keys():
            states[number] = _State(UNAVAILABLE, "unloaded")
        old = self.serving(name)
        model.versions = states
        self._serve(name, loaded)
        for served in old:
            served.close()

    def _keep_serving(self, model: _Model, loaded: Mapping[int, LoadedVersion], failed: int, error: ServeError) -> None:
        """One version cannot be loaded: none of this attempt serves, and what served goes on."""
        for served in loaded.values():
            served.close()
        for number, state in model.versions.items():
            if state.state == LOADING:
                model.versions[number] = _State(UNAVAILABLE, error.message if number == failed else "unloaded")

    def _serve(self, name: str, versions: Mapping[int, LoadedVersion]) -> None:
        serving = {key: served for key, served in self._serving.items() if key[0] != name}
        for number, served in versions.items():
            serving[name, str(number)] = served
        if versions:
            serving[name, ""] = versions[max(versions)]
        self._serving = serving

    def _overrides(
        self, name: str, parameters: Mapping[str, Any]
    ) -> tuple[PbConfig | None, tempfile.TemporaryDirectory[str] | None]:
        files = {key.removeprefix("file:"): value for key, value in parameters.items() if key.startswith("file:")}
        if unknown := [key for key in parameters if key != "config" and not key.startswith("file:")]:
            raise ServeError(400, f"failed to load '{name}': parameter '{unknown[0]}' is not config or file:PATH")
        if files and "config" not in parameters:
            raise ServeError(400, f"failed to load '{name}': files need the parameter config, too")
        config = None
        if "config" in parameters:
            if not isinstance(parameters["config"], str):
                raise ServeError(400, f"failed to load '{name}': parameter config must be JSON in a string")
            config = parse_json(parameters["config"], f"the config for model '{name}'")
        return config, _write_files(name, files) if files else None


def _write_files(name: str, files: Mapping[str, Any]) -> tempfile.TemporaryDirectory[str]:
    sent = tempfile.TemporaryDirectory(prefix="millpond-model-")
    try:
        for path, content in files.items():
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
                raise ServeError(400, f"failed to load '{name}': file:{path} leads out of the model's folder")
            target = Path(sent.name, *pure.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_decoded(name, path, content))
    except BaseException:
        sent.cleanup()
        raise
    return sent


def _decoded(name: str, path: str, content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ServeError(400, f"failed to load '{name}': file:{path} is not base64") from None
