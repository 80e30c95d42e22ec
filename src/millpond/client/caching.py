"""Asking for a cached commit and waiting for it, read into quick shapes by the command, into whole ones by scripts."""

from __future__ import annotations

import time
from collections.abc import Callable

from millpond.client.http import Api, Body, Shape, segment
from millpond.errors import NotReady

# Whoever waits hears at once when a fill or a verification is over, and this often how far it is.
PROGRESS_SECONDS = 1.0
# What nobody is told of is looked at this often.
LOOK_SECONDS = 0.5
# Evictions are carried out by an agent: so long whoever asks for what is just leaving, or clears it, waits for that.
LEAVING_SECONDS = 30.0


def ask_cached(api: Api, request: Body, shape: type[Shape], *, patience: float = LEAVING_SECONDS) -> Shape:
    """What is just leaving its volume is asked for again until it has left; NotReady when that takes too long."""
    ends = time.monotonic() + patience
    while True:
        try:
            # Asking twice is one fill: the server answers with the one that is there or on its way.
            return api.send("POST", "/caches", shape, request, idempotent=True)
        except NotReady:
            if time.monotonic() >= ends:
                raise
            time.sleep(LOOK_SECONDS)  # the server answers at once, and tells nobody when it has left


def look_again(
    api: Api, cached_id: str, shape: type[Shape], goes_on: Callable[[Shape], bool], seconds: float = PROGRESS_SECONDS
) -> Shape:
    """A cached commit after `seconds`, or as soon as nothing `goes_on` with it any more."""
    began = time.monotonic()
    found = api.get(f"/caches/{segment(cached_id)}", shape, wait=seconds)
    if goes_on(found):
        # A server that is about to stop answers at once.
        time.sleep(max(0.0, began + seconds - time.monotonic()))
    return found
