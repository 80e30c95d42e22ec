"""Names people choose, and the written form `project/dataset@ref:path`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from millpond.errors import BadName

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,126}")
# Behind a ref: so many commits back. `~` alone is one, and so is each `^`.
_BACK = re.compile(r"((?:\^|~[0-9]{0,9})*)$")

# Hidden datasets of every project: the code, outputs and checkpoints of jobs, and the artifacts of runs. People cannot
# choose a leading dot.
CODE_DATASET = ".code"
OUTPUT_DATASET = ".outputs"
ARTIFACT_DATASET = ".artifacts"
CHECKPOINT_DATASET = ".checkpoints"
# Versions of flows, and what steps of their runs read.
FLOW_DATASET = ".flows"
STEP_DATASET = ".steps"
# Kept snapshots of workspaces.
WORKSPACE_DATASET = ".workspaces"
SYSTEM_DATASETS = (
    CODE_DATASET, OUTPUT_DATASET, ARTIFACT_DATASET, CHECKPOINT_DATASET, FLOW_DATASET, STEP_DATASET, WORKSPACE_DATASET,
)  # fmt: skip
# A model is a dataset named so: models, datasets and flows of a project may have the same names.
MODEL_PREFIX = ".models."
MOST_MODEL_NAME = 200
DEFAULT_BRANCH = "main"
DEFAULT_PROJECT = "default"


def check_name(name: str, noun: str) -> str:
    """`name` itself if it may name a project, dataset, user, volume, site or job; BadName otherwise."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise BadName(
            f"{name!r} is not a valid name for a {noun}.",
            hint="Use 1 to 63 lower-case letters, digits, '.', '_' and '-', starting with a letter or digit.",
        )
    return name


def check_model_name(name: str) -> str:
    """`name` itself if it may name a model; BadName otherwise. More is allowed than elsewhere: MLflow's names are."""
    if (
        not 1 <= len(name) <= MOST_MODEL_NAME
        or name != name.strip()
        or not name.isprintable()
        or name in (".", "..")
        or any(character in name for character in "/:@")
    ):
        raise BadName(
            f"{name[:MOST_MODEL_NAME]!r} is not a valid name for a model.",
            hint=f"Use 1 to {MOST_MODEL_NAME} printable characters without '/', ':' and '@'.",
        )
    return name


def model_dataset(name: str) -> str:
    """The dataset that holds the versions of a model."""
    return f"{MODEL_PREFIX}{name}"


def check_ref_name(name: str) -> str:
    """`name` itself if it may name a branch or tag; BadName otherwise."""
    parts = name.split("/")
    if not _REF.fullmatch(name) or ".." in name or any(not p or p.endswith(".lock") for p in parts):
        raise BadName(
            f"{name!r} is not a valid name for a branch or tag.",
            hint="Use letters, digits, '.', '_', '-' and '/', starting with a letter or digit.",
        )
    return name


def split_ref(text: str) -> tuple[str, int]:
    """The ref in `main~2` or `main^^`, and how many commits before it is meant (by first parents)."""
    back = _BACK.search(text)
    steps = re.findall(r"\^|~([0-9]*)", back[1]) if back else []
    return text[: back.start()] if back else text, sum(int(count) if count else 1 for count in steps)


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """`project/dataset@ref:path`; everything but the dataset may be left out. `ref` may end in `~N` or `^`."""

    dataset: str
    project: str | None = None
    ref: str | None = None
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> DatasetRef:
        head, colon, path = text.partition(":")
        head, at, ref = head.partition("@")
        project, slash, dataset = head.rpartition("/")
        if not dataset or (slash and not project) or (at and not ref):
            raise BadName(
                f"{text!r} is not a dataset.",
                hint="Write it as dataset, dataset@ref or project/dataset@ref:path.",
            )
        if dataset.startswith(MODEL_PREFIX):
            check_model_name(dataset.removeprefix(MODEL_PREFIX))
        elif dataset not in SYSTEM_DATASETS:
            check_name(dataset, "dataset")
        if project:
            check_name(project, "project")
        if ref:
            check_ref_name(split_ref(ref)[0])
        return cls(dataset=dataset, project=project or None, ref=ref or None, path=path if colon else None)

    @classmethod
    def parse_commit(cls, text: str) -> DatasetRef:
        """The same where a whole commit is meant: BadName for a path in it."""
        found = cls.parse(text)
        if found.path is not None:
            whole = replace(found, path=None)
            raise BadName(f"{text!r} includes a path.", hint=f"Give a whole commit: {whole}.")
        return found

    def __str__(self) -> str:
        project = f"{self.project}/" if self.project else ""
        ref = f"@{self.ref}" if self.ref else ""
        path = f":{self.path}" if self.path is not None else ""
        return f"{project}{self.dataset}{ref}{path}"


def environment_name(dataset: str) -> str:
    """The environment variable that tells a job where an input lies: `x-ray` is `MILL_DATA_X_RAY`."""
    return "MILL_DATA_" + re.sub(r"[^A-Z0-9]", "_", dataset.lstrip(".").upper())
