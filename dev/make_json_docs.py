"""Writes docs/reference/json.md, what `--json` prints, from the shapes of the API; `--check` only compares."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from millpond.wire import (
    cache,
    computes,
    data,
    endpoints,
    find,
    flows,
    imports,
    jobs,
    mirrors,
    models,
    people,
    runs,
    scheduling,
    secrets,
    templates,
    topology,
    workspace_views,
)

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "json.md"

# A command, and the shape that it prints or lists. tests/integration/test_json_outputs.py compares most with real ones.
LISTS: Mapping[str, type[BaseModel]] = {
    "mill list": jobs.Job,
    "mill attempts JOB": jobs.Attempt,
    "mill events JOB": jobs.JobEvent,
    "mill pending": scheduling.PendingJob,
    "mill data list": data.Dataset,
    "mill data commits DATASET": data.Commit,
    "mill data refs DATASET": data.Ref,
    "mill cache list": cache.CachedCommit,
    "mill volume list": cache.Volume,
    "mill site list": cache.Site,
    "mill link list": topology.Link,
    "mill run list": runs.Run,
    "mill flow list": flows.Flow,
    "mill flow runs": flows.FlowRunSummary,
    "mill model list": models.Model,
    "mill model versions MODEL": models.ModelVersion,
    "mill endpoint list": endpoints.Endpoint,
    "mill workspace list": workspace_views.Workspace,
    "mill compute list": computes.Compute,
    "mill template list": templates.Template,
    "mill queue list": templates.Queue,
    "mill connection list": imports.Connection,
    "mill source list": imports.Source,
    "mill mirror list": mirrors.Mirror,
    "mill secret list": secrets.Secret,
    "mill project list": people.Project,
    "mill user list": people.User,
    "mill token list": people.Token,
    "mill find WORDS": find.Found,
}
THINGS: Mapping[str, type[BaseModel]] = {
    "mill submit": jobs.Job,
    "mill get JOB": jobs.Job,
    "mill why JOB": jobs.Why,
    "mill data show DATASET": data.Dataset,
    "mill data sync": data.Commit,
    "mill cache add DATASET": cache.CachedCommit,
    "mill run show RUN": runs.RunDetails,
    "mill whoami": people.Session,
}
# Beside the fields of the shape.
MORE = {"mill data sync": "and `skipped`: the paths that were left out, each with the reason"}

HEAD = """# JSON outputs

<!-- Made by dev/make_json_docs.py from the shapes of the API: `make docs`. -->

Every command takes `--json`. A list is `{"items": […]}`, whole, without pages; a thing is its shape, the same as in
[the API](../api.md); a command with nothing to tell prints `{}`.
Errors are one document on stderr ([codes](errors.md)). Fields are added, and never renamed or removed; read what you
know and ignore the rest. Times are ISO 8601 in UTC, sizes
are bytes, durations seconds, unless the name of the field ends with another unit.

    $ mill list --json | jq -r '.items[] | select(.state == "failed") | .name'

"""


def main() -> int:
    text = "".join(_parts())
    if "--check" in sys.argv:
        same = TARGET.exists() and TARGET.read_text("utf-8") == text
        print("docs/reference/json.md is current" if same else "docs/reference/json.md is old: run make docs")
        return 0 if same else 1
    TARGET.write_text(text, "utf-8")
    print(f"wrote {TARGET}")
    return 0


def _parts() -> Iterator[str]:
    yield HEAD
    yield "| command | prints |\n|---|---|\n"
    for command, shape in LISTS.items():
        yield f"| `{command} --json` | items, each {_link(shape.__name__)} |\n"
    for command, shape in THINGS.items():
        more = f", {MORE[command]}" if command in MORE else ""
        yield f"| `{command} --json` | {_link(shape.__name__)}{more} |\n"
    own = {shape.__name__: shape for shape in (*LISTS.values(), *THINGS.values())}
    _, schema = models_json_schema([(shape, "serialization") for shape in own.values()])
    shapes: Mapping[str, Any] = schema["$defs"]
    yield "\n## Shapes\n"
    for name in sorted(own):
        yield from _section(name, shapes)
    yield "\n## Parts of shapes\n"
    for name in sorted(shapes.keys() - own.keys()):
        if "properties" in shapes[name]:
            yield from _section(name, shapes)


def _section(name: str, shapes: Mapping[str, Any]) -> Iterator[str]:
    shape = shapes[name]
    yield f"\n### {name}\n\n"
    if description := shape.get("description"):
        yield f"{_cell(description)}\n\n"
    yield "| field | type | |\n|---|---|---|\n"
    for field, schema in shape["properties"].items():
        yield f"| `{field}` | {_type(schema, shapes)} | {_cell(schema.get('description', ''))} |\n"


def _type(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    if name := schema.get("$ref", "").rpartition("/")[2]:
        found = shapes[name]
        return _link(name) if "properties" in found else _type(found, shapes)
    several: Sequence[Any] = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()
    if several:
        return " or ".join(dict.fromkeys(_type(part, shapes) for part in several))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}), shapes)}"
    if kind == "object":
        inside = schema.get("additionalProperties")
        return f"by name: {_type(inside, shapes)}" if isinstance(inside, dict) and inside else "object"
    return "time" if schema.get("format") == "date-time" else str(kind)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
