"""What runs in a session: the command of its job, the packages it can be given, and the token its program asks for.

The token is derived from the server's secret: it is stored nowhere, and no specification, log or other job has it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from millpond.db import jobs
from millpond.errors import BadRequest
from millpond.model.job import Job
from millpond.model.names import CODE_DATASET
from millpond.model.people import Project
from millpond.model.workspace_session import SESSION_TAG, SESSION_TOKEN_ENV, SessionKind
from millpond.requirements import Requirements
from millpond.services.deps import Deps
from millpond.services.flows import lake_files

_NOT_INSTALLED = 127
_PACKAGES = {SessionKind.LAB: ("jupyterlab",)}
# code-server takes a hash instead of a password, and then its cookie is that hash.
_CODE_COOKIE = "code-server-session"
_LAB = (
    'cd "$HOME"; command -v jupyter-lab >/dev/null || {{ echo "JupyterLab is not installed on this compute. '
    'Have it installed for the session (--install), or choose an --image that has it." >&2; exit {missing}; }}; '
    'export JUPYTER_TOKEN="${token}"; exec jupyter lab --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0 '
    '--no-browser --ServerApp.allow_remote_access=True --ServerApp.root_dir="$HOME" --allow-root'
)
_CODE = (
    'cd "$HOME"; command -v code-server >/dev/null || {{ echo "code-server is not installed on this compute. '
    'Choose an --image that has it." >&2; exit {missing}; }}; '
    'export HASHED_PASSWORD="$(printf %s "${token}" | sha256sum | cut -d" " -f1)"; '
    "exec code-server --auth password --bind-addr 127.0.0.1:{port} "
    '--disable-telemetry --disable-update-check "$HOME"'
)
_SHELL = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"
_SCRIPTS = {SessionKind.LAB: _LAB, SessionKind.CODE: _CODE, SessionKind.SHELL: _SHELL}


def command(kind: SessionKind, port: int) -> tuple[str, ...]:
    return ("sh", "-c", _SCRIPTS[kind].format(port=port, token=SESSION_TOKEN_ENV, missing=_NOT_INSTALLED))


def packages_commit(deps: Deps, project: Project, kind: SessionKind, *, author: str) -> str:
    """The commit from which an environment with the program is built."""
    lines = _PACKAGES.get(kind)
    if lines is None:
        raise BadRequest(f"{kind.title} cannot be installed for a session.", hint="Choose an image that has it.")
    files = {name: text.encode() for name, text in Requirements(lines).files().items()}
    branch = f"environment-{lake_files.digest_of_files(files)[:32]}"
    return lake_files.commit_files(deps, project, CODE_DATASET, files, branch=branch, author=author).id


def kind_of(job: Job) -> SessionKind | None:
    """What the job was opened as; None if it is no session."""
    said = job.spec.tags.get(SESSION_TAG)
    return next((kind for kind in SessionKind if kind.value == said), None)


def variables_of(found: Iterable[Job], server_secret: bytes) -> Mapping[str, Mapping[str, str]]:
    """By job, what sessions get in their environment, as if it were a secret of the project."""
    return {job.id: {SESSION_TOKEN_ENV: token_of(job.id, server_secret)} for job in found if kind_of(job)}


def token_of(job_id: str, server_secret: bytes) -> str:
    return hmac.new(server_secret, f"session {job_id}".encode(), hashlib.sha256).hexdigest()


def cookies_of(deps: Deps, job_id: str) -> Mapping[str, str]:
    """For the host of its port: what lets a browser into code-server without a second password."""
    with deps.db.read() as tx:
        job = jobs.get(tx, job_id)
    if job is None or kind_of(job) is not SessionKind.CODE:
        return {}
    return {_CODE_COOKIE: hashlib.sha256(token_of(job.id, deps.secret).encode()).hexdigest()}
