"""Sessions: interactive jobs in which people work in a workspace, and what tells them from other jobs."""

from __future__ import annotations

from enum import Enum

# Tag of such a job: what it was opened as.
SESSION_TAG = "millpond.session"
# What its program asks browsers for. The server derives it and gives it to the job alone.
SESSION_TOKEN_ENV = "MILL_SESSION_TOKEN"
# Where a container shows the workspace.
SESSION_TARGET = "/workspace"


class SessionKind(Enum):
    LAB = "lab"
    CODE = "code"
    SHELL = "shell"

    @property
    def title(self) -> str:
        return {"lab": "JupyterLab", "code": "code-server", "shell": "Shell"}[self.value]
