"""Sites, links, topology, the choice of a volume and the use of caches, by the command line against a real server."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from millpond.testing.up import MillUp
from tests.integration.cli import Mill


@pytest.fixture(scope="module")
def server(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture
def mill(server: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def test_sites_and_links(mill: Mill) -> None:
    assert "mill link set berlin lake" in mill.ok("site", "add", "berlin").err
    mill.ok("site", "add", "paris")
    done = mill.ok("link", "set", "berlin", "paris", "--bandwidth", "25Gbit/s", "--latency", "0.8ms")
    assert "berlin – paris: 25 Gbit/s, 0.8 ms, near" in done.err
    mill.ok("link", "set", "lake", "paris", "--bandwidth", "100MB/s", "--price-per-gb", "0.09")
    found = mill.ok("link", "list", "--json").json["items"]
    assert [(one["a"], one["b"], one["bits_per_second"], one["near"]) for one in found] == [
        ("lake", "paris", 800_000_000, False),
        ("berlin", "paris", 25_000_000_000, True),
    ]
    assert "lake: 800 Mbit/s, 0.09 per GB" in mill.ok("site", "show", "paris").out
    assert "link berlin – paris: 25 Gbit/s, 0.8 ms, near" in mill.ok("topology").out
    mill.ok("link", "rm", "paris", "berlin")
    mill.ok("site", "rm", "berlin", "--yes")
    assert mill("site", "show", "berlin").code == 3


def test_limits(mill: Mill) -> None:
    mill.ok("site", "add", "rome")
    mill.ok("link", "set", "rome", "lake", "--bandwidth", "1Gbit/s", "--price-per-gb", "0.09")
    done = mill.ok(
        "link", "set", "rome", "lake", "--limit", "100Mbit", "--between", "08:00-18:00", "Europe/Rome", "--json"
    )
    link = done.json
    assert (link["bits_per_second"], link["price_per_gb"]) == (10**9, 0.09), "what else was said stays"
    window = {"bits_per_second": 10**8, "start": "08:00", "end": "18:00", "zone": "Europe/Rome"}
    assert link["limit"]["windows"] == [window]
    assert link["limit"]["text"] == "100 Mbit/s from 08:00 to 18:00 Europe/Rome, otherwise unlimited"
    mill.ok("link", "set", "rome", "lake", "--bandwidth", "2Gbit/s")
    assert "limit 100 Mbit/s from 08:00" in mill.ok("topology").out, "and so does the limit"
    both = mill.ok(
        "site", "set", "rome", "--limit", "50M", "--between", "22:00-06:00", "UTC", "--limit", "10M", "--json"
    )
    assert both.json["limit"]["text"] == "50 Mbit/s from 22:00 to 06:00 UTC, otherwise 10 Mbit/s"
    assert "10 Mbit/s" in mill.ok("site", "show", "rome").out
    mill.ok("link", "set", "rome", "lake", "--no-limit")
    mill.ok("site", "set", "rome", "--no-limit")
    assert mill.ok("site", "show", "rome", "--json").json["site"]["limit"] is None
    mill.ok("site", "rm", "rome", "--yes")


def test_limits_that_make_no_sense(mill: Mill) -> None:
    zero = mill("link", "set", "local", "lake", "--limit", "0")
    assert zero.code == 2 and "would stop all fills" in zero.err and "mill link rm" in zero.err
    lost = mill("site", "set", "local", "--limit", "1G", "--between", "08:00-18:00", "Europe/Berln")
    assert lost.code == 2 and "Europe/Berlin" in lost.err
    assert "08:00" in mill("site", "set", "local", "--limit", "1G", "--between", "8-18").err
    assert "needs a --limit" in mill("site", "set", "local", "--between", "08:00-18:00").err
    assert "exclude" in mill("site", "set", "local", "--limit", "1G", "--no-limit").err
    assert "No value" in mill("site", "set", "local").err
    lasting = mill.ok("site", "set", "local", "--placements-last", "24h", "--json")
    assert lasting.json["placement_seconds"] == 86_400 and "jobs last 1 d without" in lasting.err
    assert "86400" in mill.ok("site", "show", "local").out
    assert "between 1 m and 30 d" in mill("site", "set", "local", "--placements-last", "5s").err
    assert mill.ok("site", "set", "local", "--placements-last", "default", "--json").json["placement_seconds"] is None
    assert mill.ok("site", "show", "local", "--json").json["site"]["limit"] is None


def test_mistakes_say_what_to_do(mill: Mill) -> None:
    assert "10Gbit/s" in mill("link", "set", "local", "lake").err
    assert "not a bandwidth" in mill("link", "set", "local", "lake", "--bandwidth", "fast").err
    assert mill("link", "set", "local", "rome", "--bandwidth", "1G").code == 3
    assert mill("link", "rm", "local", "lake").code == 3
    refused = mill("site", "rm", "local", "--yes")
    assert refused.code == 5 and "volume" in refused.err
    assert mill("site", "add", "lake").code == 2


def test_the_volume_is_chosen_near_the_compute_and_what_it_saves_is_counted(mill: Mill) -> None:
    root = mill.cwd / "counted"
    root.mkdir()
    (root / "large.bin").write_bytes(os.urandom(3_000_000))
    mill.ok("data", "init", cwd=root)
    mill.ok("data", "sync", "-m", "first", cwd=root)
    before = mill.ok("cache", "summary", "--json").json["total"]
    fills = mill.ok("volume", "usage", "local", "--json").json["total"]["fills"]
    compute = mill.ok("compute", "list", "--json").json["items"][0]["name"]
    done = mill.ok("cache", "add", "counted", "--near", compute)
    assert "near: both are at site local" in done.err
    again = mill.ok("cache", "add", "counted", "--near", "local", "--json")
    assert "it is already cached there" in again.err
    assert again.json["volume"] == "local"

    total = mill.ok("cache", "summary", "--json").json["total"]
    assert (total["hits"] - before["hits"], total["misses"] - before["misses"]) == (1, 1)
    assert total["saved_bytes"] - before["saved_bytes"] == 3_000_000
    assert re.search(r"\d+ hits?, \d+ miss(es)? \(\d+ %\), \d.* MB", mill.ok("cache", "summary").out)

    usage = mill.ok("volume", "usage", "local", "--json").json
    assert [one["source"] for one in usage["bandwidth"]] == ["lake"]
    assert usage["total"]["fills"] == fills + 1
    shown = mill.ok("topology", "--json").json
    served = shown["computes"][0]["volumes"][0]
    assert (served["serves"], served["reason"]) == (True, "both are at site local")
    assert shown["volumes"][0]["bandwidth"][0]["bytes_per_second"] > 0
    assert "from lake" in mill.ok("topology").out
    assert mill("cache", "add", "counted", "--near", "nowhere").code == 3


def test_egress_and_its_budgets(mill: Mill) -> None:
    root = mill.cwd / "fetched"
    root.mkdir()
    (root / "large.bin").write_bytes(os.urandom(2_000_000))
    mill.ok("data", "init", cwd=root)
    mill.ok("data", "sync", "-m", "first", cwd=root)
    mill.ok("cache", "add", "fetched", "--on", "local", "--wait")
    found = mill.ok("egress", "--by", "day", "--by", "link", "--json").json
    assert any(row["link"] == "lake – local" and row["bytes"] >= 2_000_000 for row in found["rows"])
    assert "lake – local" in mill.ok("egress", "--by", "link").out
    assert mill.ok("egress", "--csv", "--by", "site").out.splitlines()[0] == "site,bytes,money"
    done = mill.ok("egress", "budget", "set", "--bytes", "5TB", "--warn", "70%")
    assert "all projects" in done.err and "of 5.0 TB" in done.err
    assert "70 %" in mill.ok("egress", "budget", "list").out
    mill.ok("egress", "budget", "rm")
    assert "2026-11-18" in mill("egress", "--from", "yesterday").err
    assert "either in bytes or in money" in mill("egress", "budget", "set").err
    assert mill("egress", "--site", "nowhere").code == 3
