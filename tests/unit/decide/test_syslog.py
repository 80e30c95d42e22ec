"""Audit entries as syslog: whole messages of RFC 5424, whatever somebody has called themselves."""

from __future__ import annotations

import json
import re

import pytest

from millpond.decide.syslog import MOST_DATAGRAM, as_datagram, counted, syslog_line

ENTRY = {
    "id": 7, "at": "2026-01-31T08:00:00.250000+00:00", "actor": "ada", "action": "user.create", "subject": "bob",
    "project": None, "details": {}, "address": "10.0.0.1", "via": "session 0123", "request": "abc", "before": {},
    "after": {"email": "bob@example.org"},
}  # fmt: skip
MESSAGE = re.compile(
    r"<109>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]+) millpond ([!-~]+) ([!-~]{1,32}) "
    r'\[millpond@32473((?: [a-z]+="(?:[^"\\\]]|\\["\\\]])*")+)\] (\{.*\})'
)


def parsed(line: str) -> re.Match[str]:
    found = MESSAGE.fullmatch(line)
    assert found is not None, line
    return found


def test_an_entry_is_one_message() -> None:
    found = parsed(syslog_line(ENTRY, host="mill-1", process="42"))
    assert found[1] == "2026-01-31T08:00:00.250000Z" and found[2] == "mill-1" and found[4] == "user.create"
    assert 'who="ada"' in found[5] and 'from="10.0.0.1"' in found[5] and "project=" not in found[5]
    assert json.loads(found[6]) == ENTRY


@pytest.mark.parametrize("name", ['x"] <13>1 forged', "a\nb", "a\\", "]", "\x00\x1b[31m", "Größe\u2028", "x" * 5000])
def test_what_people_type_ends_no_message(name: str) -> None:
    line = syslog_line({**ENTRY, "subject": name, "actor": name}, host="a host\n", process="1")
    assert "\n" not in line and "\x00" not in line
    assert json.loads(parsed(line)[6])["subject"] == name


def test_tcp_counts_bytes_and_udp_leaves_long_values_out() -> None:
    line = syslog_line({**ENTRY, "subject": "Größe"}, host="h", process="1")
    size, _, rest = counted(line).partition(b" ")
    assert int(size) == len(rest) and rest.decode() == line
    long = {**ENTRY, "after": {"spec": "x" * 20_000}}
    data = as_datagram(syslog_line(long, host="h", process="1"), long)
    assert len(data) <= MOST_DATAGRAM
    assert json.loads(parsed(data.decode())[6]) == {
        "id": 7, "at": ENTRY["at"], "actor": "ada", "action": "user.create", "subject": "bob", "truncated": True,
    }  # fmt: skip
