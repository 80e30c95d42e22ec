"""An event hub that only remembers."""

from __future__ import annotations

from typing import Any


class FakeEvents:
    """Implements `deps.Events`: `published` holds (topic, project id, data), `woken` topics, `changed` user ids."""

    def __init__(self) -> None:
        self.published: list[tuple[str, str | None, dict[str, Any]]] = []
        self.woken: list[str] = []
        self.changed: list[str] = []

    def publish(self, topic: str, *, project_id: str | None, data: dict[str, Any]) -> None:
        self.published.append((topic, project_id, data))

    def wake(self, topic: str) -> None:
        self.woken.append(topic)

    def access_changed(self, user_id: str) -> None:
        self.changed.append(user_id)
