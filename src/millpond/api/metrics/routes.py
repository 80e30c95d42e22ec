"""`/metrics` and `/metrics/clusters`, and who hears what.

Without a token anybody hears of the system alone: nothing that tells of a project, or that there is one. With that of
`--metrics-token-file`, or as a site administrator, one hears of projects, too. Where that file is given, nobody hears
anything without.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from fastapi import APIRouter, Request
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from starlette.responses import Response

from millpond.api.access import bearer_of, deps_of, is_site_admin
from millpond.api.metrics.registries import Registries
from millpond.errors import NotSignedIn, SetupError, Unavailable

LEAST_TOKEN = 16
router = APIRouter()


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request) -> Response:
    registries: Registries = request.app.state.metrics
    shown = [registries.process, registries.system]
    if _sees_projects(request):
        shown.append(registries.projects)
    elif deps_of(request).settings.metrics_token_file is not None:
        raise _no_token()
    return _answer(b"".join(generate_latest(one) for one in shown))


@router.get("/metrics/clusters", include_in_schema=False)
def cluster_metrics(request: Request) -> Response:
    """Only with a token: each series is of a project."""
    if not _sees_projects(request):
        raise _no_token()
    registries: Registries = request.app.state.metrics
    return _answer(generate_latest(registries.clusters))


def read_token(file: Path) -> str:
    """SetupError for a file that cannot be read, or whose token somebody might guess."""
    try:
        token = file.read_text().strip()
    except (OSError, ValueError) as error:
        raise SetupError(f"Cannot read --metrics-token-file {file}: {error}.") from error
    if len(token) < LEAST_TOKEN:
        raise SetupError(
            f"The token in --metrics-token-file {file} must have at least {LEAST_TOKEN} characters.",
            hint=f"Make one: openssl rand -hex 24 > {file}",
        )
    return token


def _sees_projects(request: Request) -> bool:
    file, given = deps_of(request).settings.metrics_token_file, bearer_of(request)
    if file is not None and given:
        try:
            # Read each time: what replaces it counts from then on.
            token = read_token(file)
        except SetupError as error:
            raise Unavailable(
                "The server's token for metrics cannot be read.", hint="See --metrics-token-file."
            ) from error
        if hmac.compare_digest(given.encode(), token.encode()):
            return True
    return is_site_admin(request)


def _no_token() -> NotSignedIn:
    return NotSignedIn(
        "These metrics need a token.",
        hint="Send the token of --metrics-token-file, or of a site administrator: Authorization: Bearer TOKEN",
    )


def _answer(text: bytes) -> Response:
    return Response(text, media_type=CONTENT_TYPE_PLAIN_1_0_0)
