"""Reading tools about models and endpoints."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.endpoints import endpoint_drift, endpoint_metrics, endpoint_yaml, get_endpoint, list_endpoints
from millpond.client.models import compare_versions, get_model, get_version, list_models, list_versions
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Limit, Project, Skip, Tools, reads

Model = Annotated[str, Field(min_length=1, description="Name of the model.")]
Endpoint = Annotated[str, Field(min_length=1, description="Name of the endpoint.")]
Version = Annotated[str, Field(description="Number of a version, an alias like champion, or latest.")]


class ModelTools(Tools):
    @reads("List models")
    def list_models(
        self,
        project: Annotated[str | None, Field(description="Only this project.")] = None,
        search: Annotated[str | None, Field(description="Part of a name.")] = None,
        limit: Limit = 50,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List models with aliases and newest version."""
        return listed(list_models(self._api, project, search=search), limit=limit, skip=skip)

    @reads("Show a model")
    def show_model(self, model: Model, project: Project = None, versions: Limit = 10) -> dict[str, Any]:
        """Show one model and its newest versions: metrics, stage, where each came from."""
        named = self._project(project)
        found = listed(list_versions(self._api, named, model), limit=versions)
        return {**document(get_model(self._api, named, model)), "versions": found}

    @reads("Show a version of a model")
    def show_model_version(self, model: Model, version: Version = "latest", project: Project = None) -> dict[str, Any]:
        """Show one version of a model: metrics, parameters, signature, checks, the commit with its files."""
        return document(get_version(self._api, self._project(project), model, version))

    @reads("Compare versions of a model")
    def compare_model_versions(
        self, model: Model, before: Version, after: Version, project: Project = None
    ) -> dict[str, Any]:
        """Say how two versions of a model differ: metrics, parameters, data, code."""
        return document(compare_versions(self._api, self._project(project), model, before, after))


class EndpointTools(Tools):
    @reads("List endpoints")
    def list_endpoints(
        self,
        project: Annotated[str | None, Field(description="Only this project.")] = None,
        limit: Limit = 50,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List endpoints (served models) with state, versions and traffic."""
        found = list_endpoints(self._api, project=project, at_most=skip + limit + 1)
        return listed(found, limit=limit, skip=skip)

    @reads("Show an endpoint")
    def show_endpoint(self, endpoint: Endpoint, project: Project = None) -> dict[str, Any]:
        """Show one endpoint: replicas, sites, rollout, and its endpoint.yaml."""
        named = self._project(project)
        yaml = endpoint_yaml(self._api, named, endpoint)
        return {**document(get_endpoint(self._api, named, endpoint)), "yaml": yaml}

    @reads("Read metrics of an endpoint")
    def read_endpoint_metrics(
        self,
        endpoint: Endpoint,
        since_seconds: Annotated[int, Field(ge=60, le=30 * 86_400, description="How far back.")] = 3600,
        project: Project = None,
    ) -> dict[str, Any]:
        """Read requests, errors and latencies of an endpoint by time and version."""
        return document(endpoint_metrics(self._api, self._project(project), endpoint, since_seconds=since_seconds))

    @reads("Read drift of an endpoint")
    def read_endpoint_drift(self, endpoint: Endpoint, project: Project = None) -> dict[str, Any]:
        """Read how far the inputs of an endpoint have moved from its reference data, as last measured."""
        return document(endpoint_drift(self._api, self._project(project), endpoint))
