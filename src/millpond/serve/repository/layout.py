"""Folders of models as Triton lays them out: `NAME/config.pbtxt`, `NAME/1/model.onnx`; or bare, of one version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..config import PbConfig
from ..errors import ServeError


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Where a model lies. With `version`, the newest version of the folder is served under that number."""

    name: str
    folder: Path
    version: int | None = None

    def versions(self) -> dict[int, Path]:
        """The folder of each version. A folder without numbered ones is its own only version."""
        try:
            numbered = {
                int(entry.name): entry
                for entry in self.folder.iterdir()
                if entry.name.isdecimal() and entry.name[0] != "0" and entry.is_dir()
            }
        except OSError as error:
            raise ServeError(404, f"cannot read model '{self.name}': {error}") from None
        found = numbered or {1: self.folder}
        return {self.version: found[max(found)]} if self.version is not None else found


def find_models(root: Path) -> dict[str, ModelFolder]:
    """The models of a repository, by name; hidden folders are none."""
    return {
        entry.name: ModelFolder(entry.name, entry)
        for entry in sorted(root.iterdir())
        if entry.is_dir() and not entry.name.startswith(".")
    }


def choose_versions(config: PbConfig | None, available: dict[int, Path], model: ModelFolder) -> list[int]:
    """Versions to serve by the policy: the newest one unless the configuration says otherwise.

    A number that the folder was given counts for more: policies know the numbers in the folder only.
    """
    policy = config.version_policy if config is not None and model.version is None else None
    numbers = sorted(available)
    if policy is None or policy.WhichOneof("policy_choice") is None:
        return numbers[-1:]
    choice = policy.WhichOneof("policy_choice")
    if choice == "all":
        return numbers
    if choice == "latest":
        return numbers[-(policy.latest.num_versions or 1) :]
    wanted = sorted(set(policy.specific.versions))
    if missing := [number for number in wanted if number not in available]:
        raise ServeError(400, f"model '{model.name}' has no version {missing[0]}, which its version_policy names")
    return wanted
