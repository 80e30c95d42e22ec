"""Logging must not end a training: whatever goes wrong in a call is said once on stderr."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

log = logging.getLogger(__name__)


class _Warns(Protocol):
    def warn(self, text: str) -> None: ...


_P = ParamSpec("_P")
_S = TypeVar("_S", bound=_Warns)


def harmless(method: Callable[Concatenate[_S, _P], None]) -> Callable[Concatenate[_S, _P], None]:
    """Make a method warn where it would raise. The libraries whose objects it is given raise anything."""

    @functools.wraps(method)
    def tried(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            log.debug("logging_failed", exc_info=True)
            self.warn(f"{method.__name__} recorded nothing: {error or type(error).__name__}")

    return tried
