"""How long a request log waits at its site, and when it leaves: read, written back, shared by endpoints of a router."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from millpond.decide.endpoints.log_rules import describe_log, router_bytes, rules_of, site_rules
from millpond.decide.endpoints.reader import endpoint_document, read_endpoint
from millpond.model.endpoint_spec import DEFAULT_LOG_BYTES, EndpointLog, LogLevel, LogSending

TEXT = """\
schema: millpond.endpoint/1
name: e
versions: [{model: m@1}]
log: {level: full, keep: 7d, max: 10GB, send: {between: "22:00-06:00", zone: Europe/Berlin, limit: 10Mbit}}
"""
NIGHT = LogSending((1320, 360), "Europe/Berlin", 10_000_000)


def test_rules_are_read_and_written_back() -> None:
    spec, problems = read_endpoint(TEXT)
    assert spec is not None and not problems
    assert (spec.log.keep_seconds, spec.log.max_bytes, spec.log.send) == (7 * 86_400, 10_000_000_000, NIGHT)
    document = endpoint_document(spec)
    again, problems = read_endpoint(json.dumps(document))
    assert again == spec and not problems
    said = describe_log(document["log"])
    assert all(part in said for part in ("full", "7 d", "10.0 GB", "22:00-06:00 Europe/Berlin", "10 Mbit/s"))


def test_what_nobody_asked_for_is_not_written() -> None:
    spec, _ = read_endpoint("schema: millpond.endpoint/1\nname: e\nversions: [{model: m@1}]\nlog: {level: full}\n")
    assert spec is not None
    assert endpoint_document(spec)["log"] == {"level": "full", "sample": 1.0, "redact": []}
    assert describe_log(endpoint_document(spec)["log"]) == "full"


def test_a_site_hears_what_its_agent_reads() -> None:
    log = EndpointLog(LogLevel.FULL, keep_seconds=3600, max_bytes=5 * 10**9, send=NIGHT)
    rules = rules_of(json.loads(json.dumps(site_rules(log))))
    assert (rules.keep_seconds, rules.max_bytes, rules.bytes_per_second) == (3600, 5 * 10**9, 1_250_000)
    assert rules.is_open(datetime(2026, 1, 15, 21, 0, tzinfo=UTC))
    assert not rules.is_open(datetime(2026, 1, 15, 20, 59, tzinfo=UTC))
    assert rules_of(site_rules(EndpointLog(LogLevel.META))).is_open(datetime(2026, 1, 15, 20, 59, tzinfo=UTC))


def test_endpoints_that_share_a_router() -> None:
    large = EndpointLog(LogLevel.META, max_bytes=5 * 10**9)
    assert router_bytes([EndpointLog(LogLevel.FULL), large, EndpointLog(max_bytes=9 * 10**9)]) == 5 * 10**9
    assert router_bytes([]) == DEFAULT_LOG_BYTES


def test_rules_that_make_no_sense_have_no_say() -> None:
    for log in ({"windows": 3}, {"windows": [{"start": 1}]}, {"keep_seconds": "x"},
                {"windows": [{"start": 1, "end": 2, "zone": "Nowhere"}]}):  # fmt: skip
        assert rules_of(log) == rules_of({})
