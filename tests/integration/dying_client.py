"""A client that syncs a folder and ends hard at one chosen step: before or after a request, or beside a note it makes.

Run in a process of its own (`die_at`), because ending hard is what it does.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from millpond.blobs.store import Buffer
from millpond.client import sync as syncing
from millpond.client import working_tree
from millpond.client.commits import create_commit
from millpond.client.http import Api
from millpond.client.transfer import ApiUploader
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.lake.push import PushOptions
from millpond.lake.transfer import Slot

DIED = 77
# Small, so that a small folder makes several packs.
PACK_TARGET = 100_000


class Steps:
    """Counts steps from every thread; the process is gone at the chosen one."""

    def __init__(self, fatal: int) -> None:
        self._fatal = fatal
        self._count: Iterator[int] = itertools.count()

    def step(self) -> None:
        if next(self._count) == self._fatal:
            os._exit(DIED)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **named: Any) -> Any:
            self.step()
            answer = call(*arguments, **named)
            self.step()
            return answer

        return stepping


class SteppingUploader(ApiUploader):
    """The real uploader, with a step before and after each thing asked of it."""

    steps: Steps

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        return self.steps.around(super().missing)(digests)  # type: ignore[no-any-return]

    def pack_slots(self, count: int, crc32: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Slot]:
        return self.steps.around(super().pack_slots)(count, crc32, sizes)  # type: ignore[no-any-return]

    def put(self, slot: Slot, data: Buffer) -> None:
        self.steps.around(super().put)(slot, data)

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        self.steps.around(super().packs_written)(packs)

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        return self.steps.around(super().page_slots)(pages)  # type: ignore[no-any-return]

    def put_pages(self, pages: Mapping[str, bytes]) -> None:
        self.steps.around(super().put_pages)(pages)


def die_at(folder: Path, token: str, fatal: int) -> None:
    """Sync the folder; gone with status DIED at step `fatal`, 0 if there are fewer steps."""
    steps = Steps(fatal)
    SteppingUploader.steps = steps
    copy = require_working_copy(folder)
    with (
        Api(copy.server, token) as api,
        patch.object(syncing, "ApiUploader", SteppingUploader),
        patch.object(syncing, "create_commit", steps.around(create_commit)),
        patch.object(syncing, "options_of", _small_packs),
        patch.object(WorkingCopy, "save", steps.around(WorkingCopy.save)),
    ):
        syncing.sync(api, copy)


def _small_packs(copy: WorkingCopy, *, rehash: bool) -> PushOptions:
    return replace(working_tree.options_of(copy, rehash=rehash), pack_target=PACK_TARGET)
