"""What a job sees of the machine's files, decided without mounting anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.agent.isolation.view import Shown, closed_above, view_of
from millpond.agent.spec import Mount


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Everything from here on may be entered by everybody but for `closed`; what is above may be closed."""
    tmp_path.chmod(0o755)
    for name in ("state/p1/work", "volume/commits/p/d/c", "closed/python/bin", "open/python"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    return tmp_path


def hidden(machine: Path, *names: str) -> tuple[str, ...]:
    above = closed_above(machine)
    return (str(above),) if above else tuple(str(machine / name) for name in names)


def test_what_is_private_is_hidden_and_what_is_needed_of_it_shown(machine: Path) -> None:
    work, data = machine / "state/p1/work", machine / "volume/commits/p/d/c"
    view = view_of(
        private=[machine / "state", machine / "volume"], own=[work], inputs={data: "/data/x"}, programs=[], data=True
    )
    assert set(view.hide) == {*hidden(machine, "state", "volume"), "/data"} | (
        set() if closed_above(machine) is None else set(hidden(machine))
    )
    assert view.show == (Shown(str(work), str(work), True), Shown(str(data), str(data)), Shown(str(data), "/data/x"))


def test_programs_are_shown_where_they_would_be_hidden(machine: Path) -> None:
    python = machine / "closed/python"
    view = view_of(private=[], own=[], inputs={}, programs=[python, python / "bin", Path("/usr/bin")], data=False)
    assert view.hide == hidden(machine, "closed")
    assert view.show == (Shown(str(python), str(python)),)


def test_without_a_place_for_it_data_is_only_where_it_lies(machine: Path) -> None:
    data = machine / "volume/commits/p/d/c"
    view = view_of(private=[machine / "volume"], own=[], inputs={data: "/data/x"}, programs=[], data=False)
    assert view.hide == (str(machine / "volume"),)
    assert view.show == (Shown(str(data), str(data)),)


def test_links_on_the_way_are_followed(machine: Path) -> None:
    (machine / "link").symlink_to(machine / "volume")
    view = view_of(private=[machine / "link"], own=[], inputs={}, programs=[], data=False)
    assert view.hide == (str(machine / "volume"),)


def test_the_first_closed_directory_counts(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    before = closed_above(tmp_path / "a/b/c")
    (tmp_path / "a").chmod(0o750)
    assert closed_above(tmp_path / "a/b/c") == (before or tmp_path / "a")
    assert closed_above(Path("/usr/bin")) is None


def test_a_mount_is_shown_where_it_lies_and_at_an_empty_directory(machine: Path) -> None:
    shared, empty, full = machine / "open", machine / "empty", machine / "volume"
    empty.mkdir()
    mounts = [Mount(str(shared), str(empty), writable=True), Mount(str(shared), str(full)), Mount(str(shared), "/none")]
    view = view_of(private=[], own=[], inputs={}, programs=[], data=False, mounts=mounts)
    at = str(shared)
    assert view.show == (Shown(at, at, True), Shown(at, str(empty), True), Shown(at, at), Shown(at, at))
