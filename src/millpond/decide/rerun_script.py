"""How a run of a script outside of jobs is made again as a job: from its Git commit, packages, datasets and command."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.quantity import format_count
from millpond.model.rerun import INPUT_TYPE, GitCode, PartState, RecordedRun, RerunAsked, RerunPart

# What every job has, or no index offers.
_NEVER_REQUIRED = frozenset({"millpond", "pip", "setuptools", "wheel", "uv"})
_INTERPRETER = re.compile(r"(?:.*/)?python[0-9.]*(?:\.exe)?")
_COMMIT = re.compile(r"[0-9a-f]{64}")
_CODE_HINT = "Send the code of a folder instead: mill rerun RUN --code DIR"


@dataclass(frozen=True, slots=True)
class ScriptPlan:
    spec: JobSpec
    parts: tuple[RerunPart, ...]
    git: GitCode | None
    packages: tuple[str, ...]


def planned(recorded: RecordedRun, asked: RerunAsked) -> ScriptPlan:
    origin = recorded.origin
    git = None if asked.code_commit and not asked.code_is_recorded else _git(origin)
    packages = requirements(origin)
    spec = JobSpec(
        command=job_command(origin, git),
        inputs=_inputs(recorded),
        code_commit=asked.code_commit,
        environment=asked.environment,
        on=asked.on,
        tags=_git_tags(git),
    )
    parts = (*_code(origin, git, asked), *_environment(origin, packages, asked), _place(origin, asked))
    return ScriptPlan(spec, parts, git, packages)


def recorded_command(origin: Mapping[str, Any]) -> tuple[str, ...]:
    found = origin.get("command")
    return tuple(str(word) for word in found) if isinstance(found, list) and found else ()


def why_no_command(origin: Mapping[str, Any]) -> str:
    if not recorded_command(origin):
        return "No command was recorded: the run was not written by the SDK of Millpond."
    return "It was recorded in a notebook, which has no command to run again."


def job_command(origin: Mapping[str, Any], git: GitCode | None) -> tuple[str, ...]:
    """The command as a job can run it: any Python, paths inside the repository; one empty word if there is none."""
    words = list(recorded_command(origin))
    if not words or any("ipykernel" in word or "colab_kernel" in word for word in words):
        return ("",)
    if _INTERPRETER.fullmatch(words[0]):
        words[0] = "python"
    started, top = str(origin.get("directory") or ""), _top(origin)
    is_inside = not top or not posixpath.relpath(started or top, top).startswith("..")
    words[1:] = [_inside(word, started if is_inside else top, top) for word in words[1:]]
    if git is not None and git.directory:
        return ("sh", "-c", 'cd "$0" && exec "$@"', git.directory, *words)
    return tuple(words)


def requirements(origin: Mapping[str, Any]) -> tuple[str, ...]:
    """The recorded packages as lines of a requirements file, without those that no index offers."""
    found = origin.get("packages")
    packages = [str(line) for line in found] if isinstance(found, list) else []
    left_out = _NEVER_REQUIRED | {name.lower() for name in _local(origin)}
    return tuple(line for line in packages if re.split(r"[ =@]", line, maxsplit=1)[0].lower() not in left_out)


def packages_told(origin: Mapping[str, Any]) -> str:
    """What was recorded, as a part of a sentence; empty if nothing was."""
    found = requirements(origin)
    return f", then Python {origin.get('python')} with {format_count(len(found), 'package')}" if found else ""


def _git(origin: Mapping[str, Any]) -> GitCode | None:
    found = origin.get("git")
    if not isinstance(found, Mapping) or not found.get("commit"):
        return None
    return GitCode(
        url=str(found.get("url") or ""),
        commit=str(found["commit"]),
        diff=str(found.get("diff") or ""),
        directory=_directory(origin),
    )


def _top(origin: Mapping[str, Any]) -> str:
    git = origin.get("git")
    return str(git.get("top") or "") if isinstance(git, Mapping) else ""


def _directory(origin: Mapping[str, Any]) -> str:
    """Where in the repository the script was started; empty for its top, and for a folder outside of it."""
    started, top = str(origin.get("directory") or ""), _top(origin)
    if not top or not started:
        return ""
    found = posixpath.relpath(started, top)
    return "" if found == "." or found.startswith("..") else found


def _git_tags(git: GitCode | None) -> dict[str, str]:
    return {"git.url": git.url, "git.commit": git.commit} if git else {}


def _code(origin: Mapping[str, Any], git: GitCode | None, asked: RerunAsked) -> list[RerunPart]:
    if asked.code_commit and not asked.code_is_recorded:
        return [RerunPart("code", PartState.CHANGED, f"Other code: commit {asked.code_commit[:12]}.")]
    if git is None:
        text = "The code was not recorded: the script ran outside of a job and of a Git repository."
        return [RerunPart("code", PartState.GONE, text, _CODE_HINT)]
    recorded = origin["git"]
    if recorded.get("is_diff_cut"):
        text = f"The changes on top of Git commit {git.commit[:12]} were too large to be recorded whole."
        return [RerunPart("code", PartState.GONE, text, _CODE_HINT)]
    changed = f" with {format_count(_changed_files(git.diff), 'changed file')}" if git.diff else ""
    parts = [RerunPart("code", PartState.SAME, f"Git commit {git.commit[:12]} of {git.url}{changed}.")]
    lost = [path for path in recorded.get("dirty") or () if not _is_in(str(path), git.diff)]
    if lost:
        named = ", ".join(map(str, lost[:5])) + (" …" if len(lost) > 5 else "")
        text = f"{format_count(len(lost), 'file')} that Git did not have, nor the record: {named}."
        parts.append(RerunPart("code", PartState.UNPINNED, text, _CODE_HINT))
    return parts


def _changed_files(diff: str) -> int:
    return sum(line.startswith("diff --git ") for line in diff.splitlines())


def _is_in(path: str, diff: str) -> bool:
    if path.endswith("/"):
        return f" b/{path}" in diff
    return f" b/{path}\n" in diff or f" b/{path}\t" in diff or f' "b/{path}"' in diff


def _environment(origin: Mapping[str, Any], packages: tuple[str, ...], asked: RerunAsked) -> list[RerunPart]:
    local = _local(origin)
    parts = []
    if asked.environment and not asked.environment_is_recorded:
        text = f"Other requirements: commit {asked.environment[:12]}."
        return [RerunPart("environment", PartState.CHANGED, text)]
    if not packages:
        text = "No packages were recorded: it runs with what is installed on the compute."
        return [RerunPart("environment", PartState.UNPINNED, text)]
    text = f"{format_count(len(packages), 'package')} at their recorded versions; Python {origin.get('python')} then."
    parts.append(RerunPart("environment", PartState.SAME, text))
    if local:
        text = f"Installed from a folder, so left out: {', '.join(local[:5])}."
        parts.append(RerunPart("environment", PartState.UNPINNED, text, "Add them to the code: --code DIR"))
    return parts


def _place(origin: Mapping[str, Any], asked: RerunAsked) -> RerunPart:
    host = f" {origin['host']}" if origin.get("host") else " a machine outside of Millpond"
    where = f" on {asked.on}" if asked.on else ""
    return RerunPart("place", PartState.CHANGED, f"It ran on{host}; now it is a job{where}.")


def _inputs(recorded: RecordedRun) -> tuple[JobInput, ...]:
    found: dict[str, JobInput] = {}
    for one in recorded.inputs:
        commit = str(one.get("digest", ""))
        name = str(one.get("name") or "")
        if name and one.get("source_type") == INPUT_TYPE and _COMMIT.fullmatch(commit):
            # Of two commits of one dataset, the one that was read last.
            found[name] = JobInput(name, ref=str(one.get("ref") or ""), commit_id=commit)
    return tuple(found.values())


def _inside(word: str, start: str, top: str) -> str:
    """A path in the repository, relative to the folder that the job starts the command in."""
    inside = top or start
    if not inside or not word.startswith("/") or posixpath.relpath(word, inside).startswith(".."):
        return word
    return posixpath.relpath(word, start)


def _local(origin: Mapping[str, Any]) -> list[str]:
    found = origin.get("local_packages")
    return sorted(str(name) for name in found) if isinstance(found, list) else []
