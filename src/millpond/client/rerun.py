"""Runs made again: plan, send what only this machine can (code from Git, recorded packages), submit."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.client.code import commit_code
from millpond.client.credentials import resolve_target
from millpond.client.environment import commit_environment
from millpond.client.git import checked_out
from millpond.client.http import Api
from millpond.client.paths import run_path
from millpond.client.runs import find_run, get_run
from millpond.client.submitting import Submitted
from millpond.errors import BadRequest
from millpond.model.quantity import format_count
from millpond.model.rerun import PartState
from millpond.wire.rerun import GitCode, Rerun, RerunAsked, RerunPart

# A temporary folder is where code that was sent came from: its name means nothing to anybody.
_CODE_HINT = "Send the code of a folder instead: mill rerun RUN --code DIR"


@dataclass(frozen=True, slots=True)
class Replacing:
    """What is sent instead of what was recorded. `packages`: build the recorded ones; None: for scripts only."""

    code: Path | None = None
    requirements: Path | None = None
    packages: bool | None = None


def plan_rerun(
    api: Api, project: str, run: str, asked: RerunAsked, replacing: Replacing | None = None
) -> Rerun:  # fmt: skip
    """What making the run (an id) again comes to; nothing is submitted, and what is replaced is not sent."""
    found = _ask(api, project, run, asked.model_copy(update={"dry_run": True}))
    if not replacing:
        return found
    packages = len(_wanted(api, project, run, found, replacing)) if replacing.packages else 0
    return _as_replaced(found, replacing, packages)


def _as_replaced(found: Rerun, replacing: Replacing, packages: int) -> Rerun:
    """The plan as it would be with code, requirements or recorded packages sent: what they replace may be gone."""
    told = {
        **({"code": f"The code in {replacing.code.resolve()}."} if replacing.code else {}),
        **({"environment": f"The requirements in {replacing.requirements}."} if replacing.requirements else {}),
    }
    kept = [part for part in found.parts if part.part not in told]
    sent = [RerunPart(part=name, state=PartState.CHANGED, text=text) for name, text in told.items()]
    if packages:
        text = f"Built from {format_count(packages, 'recorded package')}."
        kept = [part for part in kept if part.part != "environment"]
        sent.append(RerunPart(part="environment", state=PartState.SAME, text=text))
    return found.model_copy(
        update={
            "parts": [*sent, *kept],
            "can_start": all(part.state is not PartState.GONE for part in kept),
            "git": None if replacing.code else found.git,
            "packages": [] if replacing.requirements else found.packages,
        }
    )


def rerun_run(
    api: Api, project: str, run: str, asked: RerunAsked, replacing: Replacing | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Rerun:  # fmt: skip
    """Send code and packages that the server does not have, and submit the job. Conflict if something is gone."""
    replacing = replacing or Replacing()
    sent = asked.model_copy(update=_replaced(api, project, replacing))
    found = plan_rerun(api, project, run, sent)
    if found.can_start:
        sent = sent.model_copy(update=_send(api, project, found, _wanted(api, project, run, found, replacing), tell))
    return _ask(api, project, run, sent)


def rerun(
    run: str,
    set: Mapping[str, Any] | None = None,
    *,
    on: str | None = None,
    name: str | None = None,
    experiment: str | None = None,
    data: Sequence[str] = (),
    code: Path | str | None = None,
    requirements: Path | str | None = None,
    packages: bool | None = None,
    dry_run: bool = False,
    project: str | None = None,
    server: str | None = None,
) -> Submitted | Rerun:
    """Make a run (an id or a name) again as a job, with some parameters `set` otherwise; with `dry_run`, the plan.

    Code, data, environment and command are those that were recorded. `plan.parts` says what is the same, changed, not
    pinned or gone. Raises Conflict if something is gone; `code` (a folder), `requirements` (a file) and `data`
    (`dataset@ref`) replace it. `packages`: build the recorded packages (as for scripts), or do not.
    """
    target = resolve_target(server, project)
    api = Api(target.server, target.token)
    found = find_run(api, target.project, run)
    asked = RerunAsked(
        params={key: written(value) for key, value in (set or {}).items()}, on=on, name=name, experiment=experiment,
        data=list(data),
    )  # fmt: skip
    replacing = Replacing(
        Path(code) if code is not None else None, Path(requirements) if requirements is not None else None, packages
    )
    if dry_run:
        return plan_rerun(api, target.project, found.id, asked)
    made = rerun_run(api, target.project, found.id, asked, replacing)
    assert made.job is not None, "a run that is made again has a job"
    return Submitted(api, made.job)


def written(value: Any) -> str:
    """A parameter as a command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ask(api: Api, project: str, run: str, asked: RerunAsked) -> Rerun:
    return api.send("POST", f"{run_path(project, run)}/rerun", Rerun, asked, idempotent=asked.dry_run)


def _replaced(api: Api, project: str, replacing: Replacing) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if replacing.code is not None:
        found["code_commit"] = commit_code(api, project, replacing.code.absolute()).id
    if replacing.requirements is not None:
        found["environment"] = commit_environment(api, project, replacing.requirements).id
    return found


def _wanted(api: Api, project: str, run: str, found: Rerun, replacing: Replacing) -> Sequence[str]:
    """The packages to build: those of a script, and on request those that the script of a job recorded."""
    if replacing.packages is False or replacing.requirements is not None:
        return ()
    if found.packages or not replacing.packages:
        return found.packages
    recorded = get_run(api, project, run).origin.get("packages")
    if not isinstance(recorded, list) or not recorded:
        raise BadRequest("The run recorded no packages.", hint="Give a file: mill rerun RUN --requirements FILE")
    return [str(line) for line in recorded if not str(line).lower().startswith(("millpond==", "pip==", "setuptools=="))]


def _send(
    api: Api, project: str, found: Rerun, packages: Sequence[str], tell: Callable[[str], None]
) -> dict[str, Any]:  # fmt: skip
    sent: dict[str, Any] = {}
    if found.git is not None:
        tell(f"Fetching {found.git.commit[:12]} of {found.git.url}")
        sent |= {"code_commit": _send_git(api, project, found.git), "code_is_recorded": True}
    if packages:
        tell(f"Its environment is built from {len(packages)} recorded packages")
        sent |= {"environment": _send_packages(api, project, packages), "environment_is_recorded": True}
    return sent


def _send_git(api: Api, project: str, git: GitCode) -> str:
    """The commit of the code: checked out, with the changes on top that were not committed."""
    with checked_out(f"{git.url}@{git.commit}", Path.cwd()) as checkout:
        if git.diff:
            _apply(checkout.folder, git.diff)
        return commit_code(api, project, checkout.folder, whole=True).id


def _apply(folder: Path, diff: str) -> None:
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(command, cwd=folder, input=diff.encode(), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise BadRequest(
            f"The recorded changes do not apply to the Git commit: {said[0] if said else 'git apply failed'}.",
            hint=_CODE_HINT,
        )


def _send_packages(api: Api, project: str, packages: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="millpond-rerun-") as temporary:
        file = Path(temporary) / "requirements.txt"
        file.write_text("".join(f"{line}\n" for line in packages), "utf-8")
        return commit_environment(api, project, file).id
