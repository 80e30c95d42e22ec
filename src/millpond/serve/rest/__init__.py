"""The protocol over HTTP: every path that clients of Triton call."""

from .routes import Routes

__all__ = ["Routes"]
