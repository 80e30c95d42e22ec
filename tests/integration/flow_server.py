"""Flows on a running server, over HTTP: save, run, wait for the end."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

HERE = "/projects/default"
# Two steps that need neither Millpond nor Python: files and values go from one to the other.
_STEPS = """schema: millpond.flow/1
name: two-steps
steps:
  digits: {dataset: digits}
  make:
    command: [sh, -c, 'cat $MILL_INPUT_DATA/FILE > $MILL_OUTPUT/out/a.txt; echo "{\\"n\\": 7}" > $MILL_VALUES']
    inputs: {data: "${steps.digits}"}
    outputs: {out: {type: directory}, n: {type: int}}
  use:
    command: [sh, -c, 'cat $MILL_INPUT_MADE/a.txt $MILL_PARAMS']
    inputs: {made: "${steps.make.outputs.out}"}
    params: {n: "${steps.make.outputs.n}"}
"""


def save(client: httpx.Client, text: str, files: Mapping[str, str] | None = None) -> str:
    """Save a flow with the files beside it; its name."""
    name = next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("name:"))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in {"flow.yaml": text, **(files or {})}.items():
            archive.writestr(path, content)
    answer = client.put(f"{HERE}/flows/{name}", content=target.getvalue())
    assert answer.status_code == 200, answer.text
    return name


def check_steps(mill: Mill, folder: Path, compute: str, *, image: str = "", file: str = "a.txt") -> None:
    """Steps on this compute see and leave what they should. `file` of the dataset `digits` holds "one"."""
    mill.ok("template", "create", f"on-{compute}", "--compute", compute, *(["--image", image] if image else []))
    (folder / "flow.yaml").write_text(_STEPS.replace("FILE", file))
    run = mill("flow", "run", "flow.yaml", "--on", f"on-{compute}", "--wait", "--json", cwd=folder).json
    assert run["state"] == "succeeded", (run["reason"], mill("flow", "logs", "two-steps").out)
    log = mill.ok("flow", "logs", "two-steps", "use").out
    assert "one\n" in log and '"n": 7' in log


def start(client: httpx.Client, name: str, **body: Any) -> str:
    """Start a run; its id."""
    answer = client.post(f"{HERE}/flows/{name}/runs", json=body)
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["id"]
    return found


def get(client: httpx.Client, run: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{HERE}/flow-runs/{run}").raise_for_status().json()
    return found


def ended(client: httpx.Client, run: str, within: float = 120) -> dict[str, Any]:
    """The run, once it has ended."""
    wait_until(lambda: get(client, run)["ended_at"], within=within, what=f"the end of the flow run {run}")
    return get(client, run)


def steps(run: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By label."""
    return {one["name"] if one["index"] is None else f"{one['name']}[{one['index']}]": one for one in run["steps"]}


def states(run: Mapping[str, Any]) -> dict[str, str]:
    return {label: one["state"] for label, one in steps(run).items()}


def file_of(client: httpx.Client, place: str) -> str:
    """The text of a file that is written as `project/dataset@COMMIT:path`."""
    dataset, _, rest = place.partition("/")[2].partition("@")
    commit, _, path = rest.partition(":")
    answer = client.get(f"{HERE}/datasets/{dataset}/commits/{commit}/file", params={"path": path})
    return answer.raise_for_status().text
