"""What the state of a Job and its pod means, in words: pure functions of the objects that the API server shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Object = Mapping[str, Any]

# How long Kubernetes may go on trying what seldom helps to try again.
PATIENCE = timedelta(minutes=2)
_AT_ONCE = frozenset({"InvalidImageName"})
_IN_VAIN = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "CreateContainerConfigError"})
_WORDS = {
    "ContainerCreating": "Creating the container.",
    "PodInitializing": "Creating the container.",
    "InvalidImageName": "Invalid image name",
    "ErrImagePull": "Cannot pull the image",
    "ImagePullBackOff": "Cannot pull the image",
    "ErrImageNeverPull": "The image is not on the node",
    "CreateContainerConfigError": "Cannot create the container",
}


@dataclass(frozen=True, slots=True)
class PodEnding:
    """How the container of a pod ended; `reason` as Kubernetes calls it (OOMKilled, Evicted, StartError …)."""

    exit_code: int | None
    reason: str
    message: str


def is_over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def how_it_ended(pod: Object) -> PodEnding:
    status = pod.get("status") or {}
    state = _container(pod).get("state") or {}
    ended = state.get("terminated") or {}
    reason = ended.get("reason") or status.get("reason") or ""
    return PodEnding(ended.get("exitCode"), reason, _one_line(ended.get("message") or status.get("message") or ""))


def why_pending(pod: Object | None, events: Sequence[Object]) -> str:
    """What a pod that has not begun waits for; `events` are warnings about it, or about its Job while it has none."""
    if pod is None:
        return _newest(events) or "Kubernetes has not created the pod yet."
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return _one_line(condition.get("message") or "The pod is not scheduled yet.")
    waiting = (_container(pod).get("state") or {}).get("waiting") or {}
    reason, message = waiting.get("reason", ""), _one_line(waiting.get("message") or "")
    if reason in ("ContainerCreating", "PodInitializing"):
        return _newest(events) or _WORDS[reason]
    words = _WORDS.get(reason, reason)
    return f"{words}: {message}" if words and message else words or "Starting the container."


def is_slow(pod: Object | None, now: datetime) -> bool:
    """Whether it is worth asking for events: something is not as quick as it should be, and its state does not say."""
    if pod is None:
        return True
    waiting = (_container(pod).get("state") or {}).get("waiting") or {}
    return waiting.get("reason") == "ContainerCreating" and now > _created(pod) + timedelta(seconds=5)


def why_never(pod: Object, now: datetime) -> str | None:
    """Why a pod that has not begun will not begin; None as long as it may."""
    waiting = (_container(pod).get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    if reason in _AT_ONCE or (reason in _IN_VAIN and now > _created(pod) + PATIENCE):
        return why_pending(pod, ())
    if not is_over(pod):
        return None
    ended = how_it_ended(pod)
    if "executable file not found" in ended.message or "no such file or directory" in ended.message:
        return f"The image has no Python that can run the job's keeper: {ended.message}"
    return f"The container did not start: {': '.join(filter(None, (ended.reason, ended.message)))}."


def why_lost(pods: Sequence[Object]) -> str:
    """What became of a keeper that wrote nothing."""
    if not pods:
        return "The job's pod is gone."
    ended = how_it_ended(pods[-1])
    if ended.reason == "OOMKilled":
        return "The job's pod was killed for exceeding its memory limit."
    how = ended.reason or (f"exit code {ended.exit_code}" if ended.exit_code is not None else "no reason given")
    return f"The keeper of the job was killed with its pod: {how}{f', {ended.message}' if ended.message else ''}."


def image_digest(pods: Sequence[Object]) -> str:
    """`sha256:…` of the image that the job's container was made of; empty while no node has told."""
    for pod in pods:
        # docker-pullable://registry/image@sha256:…, registry/image@sha256:…, or sha256:…
        found = str(_container(pod).get("imageID") or "").rpartition("sha256:")
        if found[1]:
            return f"{found[1]}{found[2]}"
    return ""


def _container(pod: Object) -> Object:
    found: Sequence[Object] = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return found[0]


def _newest(events: Sequence[Object]) -> str:
    known = [event for event in events if event.get("type") == "Warning"]
    last = max(known, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "", default=None)
    return _one_line(f"{last['reason']}: {last['message']}") if last else ""


def _created(pod: Object) -> datetime:
    return datetime.fromisoformat(pod["metadata"]["creationTimestamp"])


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 400 else f"{line[:399]}…"
