"""Which endpoint and versions a request asks for, from the names in it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ServeError
from .config import RoutedEndpoint, RoutedVersion, RouterConfig


@dataclass(frozen=True, slots=True)
class Asked:
    """An endpoint and the versions of which one is to answer."""

    endpoint: RoutedEndpoint
    versions: tuple[RoutedVersion, ...]


class Names:
    """The names of one configuration."""

    def __init__(self, config: RouterConfig) -> None:
        self._endpoints = {endpoint.name: endpoint for endpoint in config.endpoints}
        self._by_model: dict[str, list[RoutedEndpoint]] = {}
        for endpoint in config.endpoints:
            for model in {served.model for served in _served(endpoint)}:
                self._by_model.setdefault(model, []).append(endpoint)

    def resolve(self, model: str, version: str = "", endpoint: str | None = None) -> Asked:
        """What `model` (the name of an endpoint, or of a model) and `version` mean; ServeError where they mean nothing.

        Without a version, the versions with a weight share the requests. A model that several endpoints serve has to be
        asked for by the name of the endpoint.
        """
        found = self._endpoint(model, endpoint)
        served = _served(found)
        of_model = served if model == found.name else tuple(one for one in served if one.model == model)
        if version:
            versions = tuple(one for one in of_model if str(one.version) == version)
            if not versions:
                raise ServeError(404, f"Request for unknown model: '{model}' version {version} is not found")
            return Asked(found, versions)
        weighted = tuple(one for one in of_model if found.weights.get(one))
        if versions := weighted or of_model:
            return Asked(found, versions)
        raise ServeError(404, f"Request for unknown model: '{model}' has no available versions")

    def _endpoint(self, model: str, endpoint: str | None) -> RoutedEndpoint:
        if endpoint is not None:
            found = self._endpoints.get(endpoint)
            if found is None:
                raise ServeError(404, f"There is no endpoint '{endpoint}' at this address.")
            if model != endpoint and all(served.model != model for served in _served(found)):
                raise ServeError(404, f"Request for unknown model: '{model}' is not served by endpoint '{endpoint}'")
            return found
        if model in self._endpoints:
            return self._endpoints[model]
        serving = self._by_model.get(model, [])
        if len(serving) == 1:
            return serving[0]
        if not serving:
            raise ServeError(404, f"Request for unknown model: '{model}' is not found")
        names = ", ".join(sorted(one.name for one in serving))
        raise ServeError(400, f"Several endpoints serve the model '{model}': ask for one of them by name: {names}")


def _served(endpoint: RoutedEndpoint) -> tuple[RoutedVersion, ...]:
    """All versions that this endpoint may answer with: those with a weight first, then others that have replicas."""
    others = {replica.serves for replica in endpoint.replicas} - endpoint.weights.keys()
    return (*endpoint.weights, *sorted(others))
