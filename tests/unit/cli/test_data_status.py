"""`mill data diff` on a terminal: a long list of changes is cut, and says so."""

from __future__ import annotations

import io

import pytest

from millpond.cli.data_status import MOST_SHOWN, show_changes
from millpond.cli.output import Output
from millpond.cli.session import Flags, Session
from millpond.wire.data import Change, Diff


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "everything", "shown"), [(True, False, 50), (True, True, 1254), (False, False, 1254)]
)
def test_a_long_list_of_changes_is_cut_for_people(terminal: bool, everything: bool, shown: int) -> None:
    changes = [
        Change(path=f"{n}.png", change="added", size_before=None, size_after=1) for n in range(MOST_SHOWN + 1204)
    ]
    found = Diff(
        before="a", after="b", added=len(changes), removed=0, changed=0, renamed=0, added_bytes=0, removed_bytes=0,
        renamed_bytes=0, renames_complete=True, items=changes,
    )  # fmt: skip
    mill = Session(Flags())
    out, err = Terminal() if terminal else io.StringIO(), io.StringIO()
    mill.__dict__["out"] = Output(stdout=out, stderr=err, no_color=True)
    show_changes(mill, found, everything=everything)
    assert len(out.getvalue().splitlines()) == shown
    assert ("… and 1,204 more; --all shows them" in err.getvalue()) == (shown == MOST_SHOWN)
