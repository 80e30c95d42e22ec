"""What the states of pods mean, in words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from millpond.agent.drivers.kubernetes import explain

MADE = datetime.fromisoformat("2026-11-16T12:00:00+00:00")


def a_pod(phase: str = "Pending", state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    statuses = {"containerStatuses": [{"state": state}]} if state else {}
    return {"metadata": {"creationTimestamp": "2026-11-16T12:00:00Z"}, "status": {"phase": phase, **statuses, **status}}


def test_the_digest_of_the_image() -> None:
    digest = f"sha256:{'a' * 64}"
    for written in (f"docker-pullable://registry/image@{digest}", f"registry/image@{digest}", digest):
        pods = [a_pod(), a_pod("Running", containerStatuses=[{"imageID": written}])]
        assert explain.image_digest(pods) == digest
    assert explain.image_digest([]) == explain.image_digest([a_pod()]) == ""


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return a_pod(state={"waiting": {"reason": reason, "message": message}})


def ended(**terminated: Any) -> dict[str, Any]:
    return a_pod("Failed", state={"terminated": terminated})


UNSCHEDULED = a_pod(
    conditions=[
        {
            "type": "PodScheduled",
            "status": "False",
            "message": "0/3 nodes are available:\n 3 Insufficient nvidia.com/gpu.",
        }
    ]
)
NO_MOUNT = {
    "type": "Warning",
    "reason": "FailedMount",
    "message": "no such claim",
    "lastTimestamp": "2026-11-16T12:00:09Z",
}
OLDER = {"type": "Warning", "reason": "Other", "message": "older", "lastTimestamp": "2026-11-16T12:00:01Z"}


@pytest.mark.parametrize(
    ("pod", "events", "words"),
    [
        (None, [], "Kubernetes has not created the pod yet."),
        (None, [{**NO_MOUNT, "reason": "FailedCreate", "message": "exceeded quota"}], "FailedCreate: exceeded quota"),
        (UNSCHEDULED, [], "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
        (waiting("ContainerCreating"), [], "Creating the container."),
        (waiting("ContainerCreating"), [NO_MOUNT, OLDER], "FailedMount: no such claim"),
        (waiting("ImagePullBackOff", "back-off"), [], "Cannot pull the image: back-off"),
        (waiting("SomethingNew", "of a later version"), [], "SomethingNew: of a later version"),
        (a_pod(), [], "Starting the container."),
    ],
)
def test_what_it_waits_for(pod: dict[str, Any] | None, events: list[dict[str, Any]], words: str) -> None:
    assert explain.why_pending(pod, events) == words


def test_what_is_waited_for_in_vain() -> None:
    soon, late = MADE + timedelta(seconds=10), MADE + timedelta(minutes=10)
    assert explain.why_never(waiting("InvalidImageName", "x"), soon) == "Invalid image name: x"
    assert explain.why_never(waiting("ImagePullBackOff", "x"), soon) is None
    assert explain.why_never(waiting("ImagePullBackOff", "x"), late) == "Cannot pull the image: x"
    assert explain.why_never(UNSCHEDULED, late) is None, "room may come"
    no_python = ended(reason="StartError", message='exec: "python3": executable file not found in $PATH')
    assert (explain.why_never(no_python, soon) or "").startswith("The image has no Python that can run")


def test_how_a_keeper_was_lost() -> None:
    assert explain.why_lost([]) == "The job's pod is gone."
    assert "exceeding its memory limit" in explain.why_lost([ended(reason="OOMKilled", exitCode=137)])
    assert "exit code 137" in explain.why_lost([ended(exitCode=137)])
    evicted = a_pod("Failed", reason="Evicted", message="The node was low on resource: memory.")
    assert "Evicted, The node was low on resource" in explain.why_lost([evicted])


def test_events_are_asked_for_only_when_something_is_slow() -> None:
    soon, late = MADE + timedelta(seconds=1), MADE + timedelta(seconds=30)
    assert explain.is_slow(None, soon)
    assert not explain.is_slow(waiting("ContainerCreating"), soon)
    assert explain.is_slow(waiting("ContainerCreating"), late)
    assert not explain.is_slow(UNSCHEDULED, late), "its state says why"
