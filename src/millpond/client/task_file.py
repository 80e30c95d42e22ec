"""A job as a YAML file: `mill submit -f job.yaml`, and how an existing job is written as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from pydantic import ValidationError

from millpond.client.yaml_text import YamlText, as_bool, as_int, read_yaml
from millpond.errors import BadRequest, MillError
from millpond.model.documents import unknown_key
from millpond.model.job_spec import JobSpec, checked_document
from millpond.model.quantity import format_gpus, parse_bytes, parse_gpus, parse_seconds
from millpond.wire.jobs import Job, JobCreate

# Amounts as people write them, by the field they are for.
_WRITTEN: Mapping[str, tuple[str, Callable[[str], int]]] = {
    "memory": ("memory_bytes", parse_bytes),
    "gpu": ("gpu_hundredths", parse_gpus),
    "min_gpu_memory": ("min_gpu_memory_bytes", parse_bytes),
    "timeout": ("timeout_seconds", parse_seconds),
    "backoff": ("backoff_seconds", parse_seconds),
    "grace": ("grace_seconds", parse_seconds),
    "idle": ("idle_seconds", parse_seconds),
}
# What a file says beside the spec.
_OWN = ("name", "requirements", "git", "code")
_FIELDS = frozenset(field.name for field in fields(JobSpec))
_TYPES = get_type_hints(JobSpec)


@dataclass(frozen=True, slots=True)
class Task:
    """Content of a task file: fields of a spec, and what the client uploads first.

    `code`: upload the working directory. `requirements` is relative to the file.
    """

    name: str | None
    document: Mapping[str, Any]
    requirements: Path | None
    git: str | None
    code: bool
    text: YamlText | None = None

    def request(self, **changes: Any) -> JobCreate:
        """The request, with these fields of the spec changed. Raises BadRequest for an invalid value."""
        return self._checked({**self.document, **changes}, told=changes.keys())

    def _checked(self, document: Mapping[str, Any], told: Any) -> JobCreate:
        try:
            return JobCreate.model_validate({"name": self.name, **document})
        except ValidationError as error:
            first = error.errors()[0]
            path = first["loc"][1:] if first["loc"][:1] == ("spec",) else first["loc"]
            if self.text is None or not path or path[0] in told:
                raise
            message = f"{'.'.join(map(str, path))}: {first['msg']}."
            raise self.text.error((_written_as(str(path[0]), self.text), *path[1:]), message) from None


EMPTY = Task(None, {}, None, None, code=True)


def read_task(file: Path) -> Task:
    """Raises BadRequest with line, column and, for an unknown key, the nearest known one."""
    return task_of(read_yaml(read_text(file), str(file)), file.parent)


def read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadRequest(f"{file} is not UTF-8 text.") from None


def task_of(text: YamlText, folder: Path) -> Task:
    """The task that a mapping describes; its requirements are relative to `folder`."""
    if not isinstance(text.value, dict):
        raise text.error((), "A task file is a mapping, like `command: [python, train.py]`.")
    known = {*_OWN, *_WRITTEN, *_FIELDS, "version", "interactive"}
    for key in text.value:
        if key not in known:
            unknown = unknown_key(key, key, known)
            raise text.error((key,), unknown.message, unknown.hint)
    requirements = text.value.get("requirements")
    return Task(
        name=text.value.get("name"),
        document=_document(text),
        requirements=folder / requirements if requirements else None,
        git=text.value.get("git"),
        code=_flag(text, "code", default=True),
        text=text,
    )


def write_task(job: Job) -> str:
    """YAML that submits the job again with the same code, data and environment."""
    document = _without_template(job.spec.to_document(), job.filled)
    del document["version"]
    document["inputs"] = [f"{item.dataset}@{item.commit_id or item.ref}" for item in job.spec.inputs]
    document["after"] = [one.job if one.when == "success" else f"{one.job}:{one.when}" for one in job.spec.after]
    for short, (name, parse) in _WRITTEN.items():
        text = _short(name, document.get(name))
        if text is not None and parse(text) == document.get(name):
            document = {short if key == name else key: text if key == name else item for key, item in document.items()}
    document = {"name": job.name, **{key: item for key, item in document.items() if item not in ([], {})}}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def _without_template(document: dict[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked: the template fills in the rest again."""
    found = dict(document)
    for key, value in filled.items():
        if isinstance(value, dict):
            found[key] = {name: own for name, own in found.get(key, {}).items() if name not in value}
        else:
            found.pop(key, None)
    return found


def _document(text: YamlText) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in text.value.items():
        if key in _OWN:
            continue
        if key in _WRITTEN:
            name, parse = _WRITTEN[key]
            if name in text.value:
                raise text.error((key,), f"{key!r} and {name!r} mean the same: remove one of them.")
            found[name] = _parsed(text, key, value, parse)
        elif value is not None:
            found[key] = _typed(text, key, value)
    try:
        return checked_document(found)
    except MillError as error:
        path = tuple(int(part) if part.isdecimal() else part for part in _first_field(error).split("."))
        raise text.error(path, error.message, error.hint) from None


def _typed(text: YamlText, key: str, value: Any) -> Any:
    if key == "command" and isinstance(value, str):
        return ["sh", "-c", value]
    if key == "interactive" or _TYPES.get(key) is bool:
        return _flag(text, key, default=False)
    if key == "version" or _TYPES.get(key) in (int, tuple[int, ...]):
        return [as_int(item) for item in value] if isinstance(value, list) else as_int(value)
    return value


def _parsed(text: YamlText, key: str, value: Any, parse: Callable[[str], int]) -> int:
    try:
        return parse(str(value))
    except MillError as error:
        raise text.error((key,), f"{key}: {error.message}", error.hint) from None


def _flag(text: YamlText, key: str, *, default: bool) -> bool:
    value = as_bool(text.value.get(key, str(default)))
    if not isinstance(value, bool):
        raise text.error((key,), f"{key} must be true or false.")
    return value


def _first_field(error: MillError) -> str:
    named = error.details.get("fields") or [""]
    return str(named[0])


def _written_as(name: str, text: YamlText) -> str:
    """The key used in the file for a field."""
    return next((short for short, (field, _) in _WRITTEN.items() if field == name and short in text.value), name)


def _short(name: str, value: Any) -> str | None:
    """A number with its unit, as people write it; None for None."""
    if not value:
        return None
    if name == "gpu_hundredths":
        return format_gpus(value)
    units = (("GB", 10**9), ("MB", 10**6)) if name.endswith("memory_bytes") else (("h", 3600), ("m", 60), ("s", 1))
    return next((f"{value // size}{unit}" for unit, size in units if value % size == 0), None)
