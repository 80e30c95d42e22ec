"""Git repositories that are cloned into new workspaces: by a job of the project, never by the server itself."""

from __future__ import annotations

from dataclasses import replace

from millpond.db import workspaces
from millpond.model.job_spec import JobSpec, JobWorkspace
from millpond.model.people import Actor, Project
from millpond.model.workspace import Workspace
from millpond.services.deps import Deps
from millpond.services.jobs import submit
from millpond.services.workspaces import access

_TARGET = "/workspace"
# A branch or tag is cloned as such; a commit is fetched by itself.
_CLONE = (
    'set -e; cd "$HOME"; git init -q .; git remote add origin "$1"; '
    'if [ -z "$2" ]; then git pull -q --ff-only origin HEAD; '
    'else git fetch -q origin "$2"; git checkout -q -B "mill-$2" FETCH_HEAD; fi; git log -1 --oneline'
)


def clone(deps: Deps, actor: Actor, project: Project, made: Workspace) -> Workspace:
    """Have the repository of a new workspace cloned, once that is ready. Without one, nothing is done."""
    if not made.git_url:
        return made
    command = ("sh", "-c", _CLONE, "clone", made.git_url, made.git_ref)
    used = JobWorkspace(made.name, _TARGET, home=True)
    job = submit.enqueue(deps, actor, project, JobSpec(command=command, workspaces=(used,)))
    with deps.db.write() as tx:
        current = access.lock(tx, made.id)
        if current is not None:
            workspaces.save(tx, replace(current, git_job=job.id))
    return replace(made, git_job=job.id)
