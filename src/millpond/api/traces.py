"""A span for each request, below the one that its client names (`traceparent`); only while traces are sent."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond import tracing

_HEADER = tracing.HEADER.encode()


class TracedRequests:
    """ASGI middleware around the edge that gives requests their ids."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parent = next((value.decode("latin-1") for name, value in scope["headers"] if name == _HEADER), None)
        with tracing.span(scope["method"], kind="server", parent=parent) as span:

            async def seen(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = message["status"]
                    span.set(http__response__status_code=status)
                    if status >= 500:
                        span.fail(str(status))
                await send(message)

            try:
                await self._app(scope, receive, seen)
            finally:
                # The pattern, never the path: a path holds names.
                route = getattr(scope.get("route"), "path", "none")
                span.rename(f"{scope['method']} {route}")
                span.set(http__request__method=scope["method"], http__route=route)
                if request_id := scope.get("state", {}).get("request_id"):
                    span.set(millpond__request__id=request_id)
