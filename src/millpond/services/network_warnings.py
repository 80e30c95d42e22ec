"""What an administrator should know about how this server is reached: in `mill doctor`, and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.services.deps import Deps
from millpond.settings import is_open_without_tls

OPEN_HINT = "Give --tls-cert and --tls-key to mill up, or put a proxy with HTTPS in front and name it by --public-url."


def network_warnings(deps: Deps) -> Sequence[str]:
    """Sentences; none if all is well."""
    if is_open_without_tls(deps.settings):
        return [
            f"The server listens on {deps.settings.host} without TLS: passwords and tokens can be read on their way."
        ]
    return []
