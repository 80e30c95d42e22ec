from __future__ import annotations

import pytest

from millpond.errors import BadFormat
from millpond.lake import page_batches
from millpond.lake.page_batches import pack_batch, unpack_batch

PAGES = {"ab" * 32: b"frame", "00" * 32: b"", "ff" * 32: bytes(1000)}


def test_comes_back_as_it_was() -> None:
    assert unpack_batch(pack_batch(PAGES)) == PAGES
    assert pack_batch({"ab" * 32: b"frame"}) == b"\xab" * 32 + b"\x05\0\0\0" + b"frame"


@pytest.mark.parametrize("kept", [10, 35, 36, 40])
def test_what_was_cut_off_is_refused(kept: int) -> None:
    with pytest.raises(BadFormat):
        unpack_batch(pack_batch(PAGES)[:kept])


def test_batches_are_bounded_but_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_batches, "BATCH_BYTES", 10)
    pages = [(f"{number:064}", bytes(size)) for number, size in enumerate([4, 6, 1, 100, 2])]
    sizes = [[len(frame) for frame in batch.values()] for batch in page_batches.page_batches(pages)]
    assert sizes == [[4, 6], [1], [100], [2]]
    assert list(page_batches.page_batches([])) == []
