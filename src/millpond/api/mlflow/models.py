"""Logged models of MLflow 3. None can be made yet; clients look for them whenever they list a run's artifacts."""

from __future__ import annotations

from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint
from millpond.model.people import Role


def search(call: Call) -> dict[str, Any]:
    return {"models": []}


ENDPOINTS = (Endpoint("POST", "logged-models/search", Role.VIEWER, search),)
