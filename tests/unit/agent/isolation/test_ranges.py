"""Installations on one machine get ranges of their own, and keep them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millpond.agent.isolation import ranges
from millpond.agent.isolation.accounts import DEFAULT, Accounts
from millpond.agent.isolation.ranges import choose, claim
from millpond.errors import SetupError

ONE, TWO = "http://127.0.0.1:8420", "http://127.0.0.1:9420"
FIRST = Accounts.parse(DEFAULT)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ranges, "_users", list)
    return tmp_path / "host" / "job-uids.json"


def overlap(a: Accounts, b: Accounts) -> bool:
    return a.first <= b.last and b.first <= a.last


def test_two_installations_never_share_a_user(registry: Path, tmp_path: Path) -> None:
    one, two = claim(tmp_path / "one", ONE, registry), claim(tmp_path / "two", TWO, registry)
    assert one == FIRST
    assert not overlap(one, two)
    assert one.of(1) != two.of(1)
    # Restarted, in another order, also after the registry was lost or the server moved.
    assert claim(tmp_path / "two", TWO, registry) == two
    registry.unlink()
    assert claim(tmp_path / "two", "https://moved.example.org", registry) == two
    assert claim(tmp_path / "one", ONE, registry) == one


def test_agents_of_one_installation_share_a_range(registry: Path, tmp_path: Path) -> None:
    claim(tmp_path / "other", ONE, registry)
    assert claim(tmp_path / "a", TWO, registry) == claim(tmp_path / "b", TWO, registry)


def test_at_the_same_moment(registry: Path, tmp_path: Path) -> None:
    def start(number: int) -> Accounts:
        return claim(tmp_path / str(number), f"http://127.0.0.1:{9000 + number}", registry)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(start, range(8)))
    assert len({one.first for one in found}) == 8


def test_an_installation_from_before_keeps_its_range_and_is_told(
    registry: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    claim(tmp_path / "new", ONE, registry)
    (tmp_path / "old" / "placements").mkdir(parents=True)
    assert claim(tmp_path / "old", TWO, registry) == FIRST
    assert f"jobs of {tmp_path / 'new'} run as the same users (70000-99999)" in caplog.text


def test_the_range_of_an_installation_that_was_removed_is_free_again(registry: Path, tmp_path: Path) -> None:
    claim(tmp_path / "one", ONE, registry)
    (tmp_path / "one" / "job-uids").unlink()
    (tmp_path / "one").rmdir()
    assert claim(tmp_path / "two", TWO, registry) == FIRST
    assert list(json.loads(registry.read_text())) == [str(tmp_path / "two")]


@pytest.mark.parametrize("content", ["{", "[]", '{"/a": 1}', '{"/a": {"server": "", "range": "x"}}'])
def test_a_registry_that_cannot_be_read_stops_nobody(
    content: str, registry: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry.parent.mkdir()
    registry.write_text(content)
    assert claim(tmp_path / "one", ONE, registry) == FIRST
    assert str(registry) in caplog.text


def test_a_damaged_range_is_not_replaced_by_another(registry: Path, tmp_path: Path) -> None:
    claim(tmp_path / "one", ONE, registry)
    (tmp_path / "one" / "job-uids").write_text("")
    with pytest.raises(SetupError, match="does not hold a range"):
        claim(tmp_path / "one", ONE, registry)


def test_users_of_the_machine_are_left_alone() -> None:
    assert choose([], [1000, 65534, 100_000]) == FIRST
    further = choose([], [70_500])
    assert further.first == 1_900_000_000
    assert choose([FIRST], [1_900_000_001]).first == 1_900_030_000
    assert choose([Accounts(75_000, 76_000)], []) == further
