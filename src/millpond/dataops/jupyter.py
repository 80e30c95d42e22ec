"""The toolkit's JupyterLab workspaces: a workspace with a session of JupyterLab, reached at the session's page."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from millpond.client import opening
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.jobs import get_job, stop_job, wait_for_job
from millpond.client.workspace import Workspace
from millpond.dataops import common
from millpond.dataops.errors import InvalidVolumeParameterError, ServiceUnavailableError, told_as
from millpond.errors import Conflict, MillError, Unavailable
from millpond.model.job import JobState
from millpond.model.quantity import parse_bytes, parse_gpus
from millpond.model.workspace_session import SessionKind
from millpond.wire.workspace_sessions import WorkspaceSession

# A job that has begun is running before its program has found out that JupyterLab is missing.
_NOT_INSTALLED = "JupyterLab is not installed"
_STOP_SECONDS = 120.0


class Lab:
    """Opens and ends JupyterLab in workspaces of one project."""

    def __init__(self, namespace: str | None) -> None:
        target = resolve_target(None, common.project_of(namespace))
        self.project = target.project
        self._api = Api(target.server, target.token)

    def open(self, workspace: str, **asked: Any) -> str:
        """Its address, once JupyterLab listens. Where it is missing, it is installed for the session."""
        try:
            return self._opened(workspace, asked)
        except Conflict as error:
            if _NOT_INSTALLED not in str(error) or asked.get("image"):
                raise
        return self._opened(workspace, {**asked, "install": True})

    def sessions(self, workspace: str) -> Sequence[WorkspaceSession]:
        return [one for one in opening.list_sessions(self._api, self.project, workspace) if one.kind is SessionKind.LAB]

    def address(self, workspace: str, job: str) -> str:
        """The page that leads to it whoever may use the workspace: addresses of JupyterLab itself work but once."""
        place = f"/projects/{quote(self.project)}/workspaces/{quote(workspace)}/sessions/{quote(job)}"
        return f"{self._api.base_url}{place}"

    def close(self, workspace: str) -> dict[str, Any] | None:
        """End what is open, and wait for that; what it asked for, to open it so again. None if nothing was open."""
        asked: dict[str, Any] | None = None
        for one in self.sessions(workspace):
            job = get_job(self._api, self.project, one.job)
            asked = {
                "cpu": job.spec.cpu, "memory_bytes": job.spec.memory_bytes, "image": job.spec.image,
                "gpu_hundredths": job.spec.gpu_hundredths, "environment": job.spec.environment,
            }  # fmt: skip
            stop_job(self._api, self.project, one.job)
            wait_for_job(self._api, self.project, one.job, timeout=_STOP_SECONDS)
        return asked

    def _opened(self, workspace: str, asked: dict[str, Any]) -> str:
        session = opening.open_session(self._api, self.project, workspace, SessionKind.LAB, **asked)
        opening.wait_until_running(self._api, self.project, workspace, session.job)
        try:
            opening.session_url(self._api, self.project, workspace, session.job)
        except Unavailable:  # The server has no addresses for ports: its page tells how to forward this one.
            time.sleep(opening.POLL_SECONDS)
        return self.address(workspace, session.job)


def resources_of(cpu: str | None, memory: str | None, gpus: str | None) -> dict[str, Any]:
    """`0.5`, `100Gi` and `2` as a session asks for them: whole CPUs."""
    return {
        "cpu": math.ceil(float(cpu)) if cpu else 0,
        "memory_bytes": parse_bytes(memory) if memory else 0,
        "gpu_hundredths": parse_gpus(gpus) if gpus else 0,
    }


def create_jupyter_lab(
    workspace_name: str, workspace_size: str, mount_pvc: str | None = None, storage_class: str | None = None,
    load_balancer_service: bool = False, namespace: str = "default", workspace_password: str | None = None,
    workspace_image: str | None = None, request_cpu: str | None = None, request_memory: str | None = None,
    request_nvidia_gpu: str | None = None, register_with_astra: bool = False, allocate_resource: str | None = None,
    print_output: bool = False, pvc_already_exists: bool = False, labels: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """A new workspace with JupyterLab in it; its address. `mount_pvc` (`NAME:/path`): another workspace for it.

    There is no password: whoever may use the workspace is let in. Without an image, the compute's own JupyterLab is
    used, or one that is installed for the session.
    """
    ignored = {
        "load_balancer_service": load_balancer_service, "workspace_password": workspace_password, "labels": labels,
        "register_with_astra": register_with_astra, "allocate_resource": allocate_resource,
    }  # fmt: skip
    common.tell_ignored(print_output, ignored)
    with told_as(InvalidVolumeParameterError):
        asked = resources_of(request_cpu, request_memory, request_nvidia_gpu)
        asked |= {"image": workspace_image, "workspaces": [mount_pvc] if mount_pvc else []}
        if not pvc_already_exists:
            common.say(print_output, f"Creating workspace {workspace_name}.")
            Workspace.create(workspace_name, workspace_size, volume=storage_class, project=common.project_of(namespace))
    return _open(workspace_name, namespace, asked, print_output=print_output)


def clone_jupyter_lab(
    new_workspace_name: str, source_workspace_name: str, source_snapshot_name: str | None = None,
    load_balancer_service: bool = False, namespace: str = "default", workspace_password: str | None = None,
    volume_snapshot_class: str = "csi-snapclass", request_cpu: str | None = None, request_memory: str | None = None,
    request_nvidia_gpu: str | None = None, print_output: bool = False, new_workspace_password: str | None = None,
) -> str:  # fmt: skip
    """A clone of a workspace, as it is now or as in a snapshot, with JupyterLab in it; its address."""
    password = workspace_password or new_workspace_password
    common.tell_ignored(print_output, {"load_balancer_service": load_balancer_service, "workspace_password": password})
    with told_as(InvalidVolumeParameterError):
        asked = resources_of(request_cpu, request_memory, request_nvidia_gpu)
        common.say(print_output, f"Cloning workspace {source_workspace_name} to {new_workspace_name}.")
        source = Workspace(source_workspace_name, project=common.project_of(namespace))
        source.clone(new_workspace_name, snapshot=source_snapshot_name)
    return _open(new_workspace_name, namespace, asked, print_output=print_output)


def delete_jupyter_lab(
    workspace_name: str, namespace: str = "default", preserve_snapshots: bool = False, print_output: bool = False
) -> None:
    """End its JupyterLab and move the workspace to the bin with its snapshots, for 30 days."""
    with told_as(InvalidVolumeParameterError):
        lab = Lab(namespace)
        lab.close(workspace_name)
        Workspace(workspace_name, project=lab.project).remove()
    common.say(
        print_output,
        f"Workspace {workspace_name} moved to the bin. Restore it: mill workspace undelete {workspace_name}",
    )


def list_jupyter_labs(
    namespace: str = "default", include_astra_app_id: bool = False, print_output: bool = False
) -> list[dict[str, Any]]:
    """All workspaces; the address of JupyterLab of those that have it open."""
    with told_as(InvalidVolumeParameterError):
        lab = Lab(namespace)
        rows = [_row(lab, info) for info in Workspace.list(project=lab.project) if info.usable]
    common.print_table(rows, print_output=print_output)
    return rows


def restore_jupyter_lab(lab: Lab, workspace: Workspace, snapshot: str) -> None:
    """Put a snapshot in the place of what is there, and open JupyterLab again if it was open."""
    asked = lab.close(workspace.name)
    workspace.restore(snapshot)
    if asked is not None:
        lab.open(workspace.name, **asked)


def _open(workspace: str, namespace: str, asked: dict[str, Any], *, print_output: bool) -> str:
    common.say(print_output, "Waiting for JupyterLab to be ready.")
    try:
        address = Lab(namespace).open(workspace, **asked)
    except MillError as error:
        raise ServiceUnavailableError(f"Workspace {workspace} is there, but JupyterLab is not: {error}") from error
    common.say(print_output, f"To access workspace, navigate to {address}")
    return address


def _row(lab: Lab, info: Any) -> dict[str, Any]:
    open_now = lab.sessions(info.name)
    source, snapshot = common.source_of(info)
    is_ready = any(one.state is JobState.RUNNING for one in open_now)
    return {
        "Workspace Name": info.name,
        "Status": "Ready" if is_ready else ("Not Ready" if open_now else "Stopped"),
        "Size": common.size_of(info),
        "StorageClass": info.volume,
        "Access URL": lab.address(info.name, open_now[0].job) if open_now else "",
        "Clone": "Yes" if source else "No",
        "Source Workspace": source,
        "Source VolumeSnapshot": snapshot or ("n/a" if source else ""),
    }
