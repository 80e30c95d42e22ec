"""What may go wrong while serving, with the HTTP status that tells it."""

from __future__ import annotations


class ServeError(Exception):
    """A request that cannot be answered: `status` of HTTP, `message` for people, when to try again."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
