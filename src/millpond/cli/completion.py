"""Completes names of datasets, refs, jobs, volumes and so on in the shell, from what the server knows.

Quick and silent: one request with a short timeout. If the server does not answer, nothing is offered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import quote, urlencode, urlsplit

import typer
from typer.models import ParameterInfo

from millpond.client.credentials import ServerTarget, config_dir, load_credentials, resolve_target
from millpond.client.working_copy import find_working_copy

# A person waits for the TAB key.
ANSWER_SECONDS = 0.5
_MOST = 200

# By metavar or help of a parameter; the first that matches.
_NOUNS = (
    ("flow-run", re.compile(r"^NAME#RUN")),
    ("flow", re.compile(r"^FILE\|NAME|^Name of the flow|^Flow \(default")),
    ("model", re.compile(r"\bMODEL\b|^Model\b|^Name of the model")),
    ("dataset", re.compile(r"\bDATASET\b|^Dataset\b")),
    ("server", re.compile(r"NAME\|URL|^Server\b")),
    ("volume", re.compile(r"\bVOLUME\b|^Volume\b|^Name of the volume|^Only this volume")),
    ("compute", re.compile(r"\bCOMPUTE\b|^Name of the compute")),
    ("site", re.compile(r"\bSITE\b|^Name of the site|^Site\b|^Target site")),
    ("job", re.compile(r"\bJOB\b|^Job\b|^Running job\b")),
    ("run", re.compile(r"\bRUN\b|^Id of the run|^Run\b")),
    ("project", re.compile(r"\bPROJECT\b|^Name of the project|^Project\b")),
    ("elastic", re.compile(r"^Name of the elastic compute")),
    ("template", re.compile(r"\bTEMPLATE\b|^Name of the template|^Template or queue")),
    ("queue", re.compile(r"^Name of the queue")),
    ("ref", re.compile(r"^(?:REF|BRANCH)$|^(?:Branch|Target branch)\b")),
)
_FLOW_SUFFIXES = (".yaml", ".yml", ".py")
_LISTS = {
    "volume": "/volumes", "compute": "/computes", "site": "/sites", "project": "/projects",
    "elastic": "/elastic", "template": "/templates", "queue": "/queues",
}  # fmt: skip


def with_completion(annotation: Any, name: str) -> Any:
    """The annotation of a parameter, completing the noun that its metavar or help names; others as they are."""
    if get_origin(annotation) is not Annotated:
        return annotation
    info = next((part for part in get_args(annotation)[1:] if isinstance(part, ParameterInfo)), None)
    noun = noun_of(info, name) if info is not None else None
    if info is not None and noun is not None and info.autocompletion is None:
        info.autocompletion = completer(noun)
    return annotation


def noun_of(info: ParameterInfo, name: str) -> str | None:
    metavar = info.metavar or ""
    texts = (metavar, info.help or "", name.upper() if not metavar else "")
    return next((noun for noun, pattern in _NOUNS if any(text and pattern.search(text) for text in texts)), None)


def completer(noun: str) -> Callable[[typer.Context, str], list[str]]:
    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            found = names(noun, ctx, incomplete)
        except Exception:  # noqa: BLE001 - whatever is wrong, a shell that completes must not be disturbed by it
            return []
        return [one for one in found if one.startswith(incomplete)]

    return complete


def names(noun: str, ctx: typer.Context, incomplete: str) -> Sequence[str]:
    if noun == "server":
        return load_credentials(config_dir()).names
    before = ctx.find_root().params | ctx.params
    target = resolve_target(before.get("server"), before.get("project"))
    if noun == "dataset":
        return _refs_of(target, incomplete) if "@" in incomplete else _datasets(target, incomplete)
    if noun == "ref":
        copy = find_working_copy(Path.cwd())
        return _refs(target, copy.project, copy.dataset) if copy else []
    if noun == "model":
        return _items(target, "/models", "name", project=target.project)
    if noun == "flow":
        return [*_items(target, f"/projects/{quote(target.project)}/flows", "name"), *_flow_files(incomplete)]
    if noun == "flow-run":
        return _items(target, f"/projects/{quote(target.project)}/flow-runs", "written")
    if noun in ("job", "run"):
        key = "name" if noun == "job" else "id"
        return list(dict.fromkeys(_items(target, f"/{noun}s", key, project=target.project)))
    return _items(target, _LISTS[noun], "name")


def _flow_files(incomplete: str) -> list[str]:
    """Files that may hold a flow, and folders on the way to one: a shell offers nothing else beside our names."""
    folder = incomplete.rpartition("/")[0]
    found = sorted(Path(folder or ".").iterdir())
    names = [f"{one}/" if one.is_dir() else str(one) for one in found if one.is_dir() or one.suffix in _FLOW_SUFFIXES]
    return [name for name in names if not Path(name).name.startswith(".")]


def _datasets(target: ServerTarget, incomplete: str) -> list[str]:
    project, slash, _ = incomplete.partition("/")
    found = _items(target, "/datasets", "name", project=project if slash else target.project)
    return [f"{project}/{name}" for name in found] if slash else found


def _refs_of(target: ServerTarget, incomplete: str) -> list[str]:
    written, _, _ = incomplete.partition("@")
    project, slash, dataset = written.rpartition("/")
    return [f"{written}@{ref}" for ref in _refs(target, project if slash else target.project, dataset)]


def _refs(target: ServerTarget, project: str, dataset: str) -> list[str]:
    return _items(target, f"/projects/{quote(project)}/datasets/{quote(dataset)}/refs", "name")


def _items(target: ServerTarget, path: str, key: str, **params: str) -> list[str]:
    """One page of a list. Not by `Api`, which is patient."""
    # Imported by those who ask a server: a static completion needs no HTTP.
    import urllib3  # noqa: PLC0415

    from millpond.pools import new_pool  # noqa: PLC0415
    from millpond.proxy import proxy_for  # noqa: PLC0415

    timeout = urllib3.Timeout(total=ANSWER_SECONDS)
    is_secure = urlsplit(target.server).scheme == "https"
    pool = new_pool(proxy_for(target.server), is_secure=is_secure, timeout=timeout, connections=1)
    headers = {"Authorization": f"Bearer {target.token}"} if target.token else {}
    query = urlencode({**params, "limit": _MOST})
    answer = pool.request("GET", f"{target.server}/api/v1{path}?{query}", headers=headers)
    return [item[key] for item in json.loads(answer.data)["items"]] if answer.status == 200 else []
