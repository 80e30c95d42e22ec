"""HTTP/1.1 for the data plane: `await serve_http(handler, listen="unix:/path")`.

A handler takes a `Request` and returns a `Response`, or an awaitable of one. Answers are sent in the order of the
requests of a connection. A `ServeError` that a handler raises becomes its status with `{"error": …}`.
"""

from .limits import Limits
from .message import Handler, Request, Response, error_response, json_response
from .server import HttpServer, serve_http, tls_context

__all__ = [
    "Handler",
    "HttpServer",
    "Limits",
    "Request",
    "Response",
    "error_response",
    "json_response",
    "serve_http",
    "tls_context",
]
