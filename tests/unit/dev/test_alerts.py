"""Each alert rule fires when it should and not otherwise (promtool), and is in the chart as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev import make_dashboards

ROOT = Path(__file__).parents[3]
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(make_dashboards.RULES.read_text())["groups"] for rule in group["rules"]
]
# Of each alert: series, one sample a minute, with which it fires, and with which it does not.
Series = dict[str, str]
CASES: dict[str, tuple[Series, Series]] = {
    "MillpondAbsent": ({"other": "1x60"}, {"millpond_server_info": "1x60"}),
    "MillpondServerDown": ({'up{job="millpond"}': "0x60"}, {'up{job="millpond"}': "1x60", 'up{job="other"}': "0x60"}),
    "MillpondPartNotWell": ({'millpond_part_ok{part="lake"}': "0x60"}, {'millpond_part_ok{part="lake"}': "1 0 1x60"}),
    "MillpondRequestsFail": (
        {'millpond_requests_total{status="500"}': "0+10x60", 'millpond_requests_total{status="200"}': "0+90x60"},
        {'millpond_requests_total{status="404"}': "0+50x60", 'millpond_requests_total{status="200"}': "0+50x60"},
    ),
    "MillpondRequestsSlow": (
        {
            'millpond_request_seconds_bucket{le="1"}': "0+1x60",
            'millpond_request_seconds_bucket{le="10"}': "0+9x60",
            'millpond_request_seconds_bucket{le="+Inf"}': "0+9x60",
        },
        {
            'millpond_request_seconds_bucket{le="1"}': "0+99x60",
            'millpond_request_seconds_bucket{le="10"}': "0+100x60",
            'millpond_request_seconds_bucket{le="+Inf"}': "0+100x60",
        },
    ),
    "MillpondLoopFails": (
        {'millpond_loop_rounds_total{loop="flows",outcome="failed"}': "0+1x60"},
        {'millpond_loop_rounds_total{loop="flows",outcome="failed"}': "0x30 1x60"},
    ),
    "MillpondSchedulerStalled": (
        {'millpond_loop_last_done_timestamp_seconds{loop="schedule"}': "0x60"},
        # One of two servers stands still: the other plans.
        {
            'millpond_loop_last_done_timestamp_seconds{loop="schedule",instance="a"}': "0+60x60",
            'millpond_loop_last_done_timestamp_seconds{loop="schedule",instance="b"}': "0x60",
        },
    ),
    "MillpondDatabaseConnectionsUsedUp": (
        {"millpond_database_connections": "47x60", "millpond_database_connections_max": "48x60"},
        {"millpond_database_connections": "5x60", "millpond_database_connections_max": "48x60"},
    ),
    "MillpondBackupLate": ({"millpond_backup_late": "1x120"}, {"millpond_backup_late": "0x100 1x20"}),
    "MillpondComputeAway": (
        {'millpond_compute_connected{compute="gpu"}': "0x60"},
        # Seen by another server a moment ago.
        {
            'millpond_compute_connected{compute="gpu",instance="a"}': "0x60",
            'millpond_compute_connected{compute="gpu",instance="b"}': "1x60",
        },
    ),
    "MillpondVolumeProblem": (
        {'millpond_volume_connected{volume="nfs"}': "0x60"},
        {'millpond_volume_connected{volume="nfs"}': "1x60"},
    ),
    "MillpondVolumeFull": (
        {
            'millpond_volume_free_bytes{volume="nfs"}': "1x120",
            'millpond_volume_capacity_bytes{volume="nfs"}': "100x120",
        },
        {
            'millpond_volume_free_bytes{volume="nfs"}': "9x120",
            'millpond_volume_capacity_bytes{volume="nfs"}': "100x120",
        },
    ),
    "MillpondVolumeTooSmall": (
        {'millpond_cache_evictions_total{volume="nfs",cause="room"}': "0+1x120"},
        {'millpond_cache_evictions_total{volume="nfs",cause="idle"}': "0+1x120"},
    ),
    "MillpondCacheRefuses": (
        {'millpond_cache_refusals_total{reason="room"}': "0+1x60"},
        {'millpond_cache_refusals_total{reason="room"}': "3x60"},
    ),
    "MillpondLakeCallsFail": (
        {'millpond_lake_call_errors_total{operation="get"}': "0+2x60"},
        {'millpond_lake_call_errors_total{operation="get"}': "0x30 1x30"},
    ),
    "MillpondLakeReplicaBehind": (
        {'millpond_lake_replica_behind_seconds{replica="far"}': "3700+60x60"},
        {'millpond_lake_replica_behind_seconds{replica="far"}': "60x60"},
    ),
    "MillpondMirrorFails": (
        {'millpond_mirrors{state="failing"}': "2x60"},
        {'millpond_mirrors{state="failing"}': "0x60", 'millpond_mirrors{state="ok"}': "2x60"},
    ),
    "MillpondSourceFails": (
        {'millpond_sources{state="failing"}': "1x60"},
        {'millpond_sources{state="failing"}': "0x60"},
    ),
    "MillpondJobsWait": (
        {"millpond_jobs_oldest_queued_seconds": "30000x60"},
        {"millpond_jobs_oldest_queued_seconds": "600x60"},
    ),
    "MillpondJobsFail": (
        {
            'millpond_jobs_ended_total{state="failed"}': "0+1x100",
            'millpond_jobs_ended_total{state="succeeded"}': "0x100",
        },
        # More than half, but of three.
        {
            'millpond_jobs_ended_total{state="failed"}': "0x50 2x50",
            'millpond_jobs_ended_total{state="succeeded"}': "0x50 1x50",
        },
    ),
    "MillpondGpusIdle": (
        {'millpond_gpus_idle{pool="a100"}': "6x120", 'millpond_gpus_allocated{pool="a100"}': "8x120"},
        {'millpond_gpus_idle{pool="a100"}': "0x120", 'millpond_gpus_allocated{pool="a100"}': "0x120"},
    ),
    "MillpondEndpointFails": (
        {'millpond_endpoints{state="failing"}': "1x60"},
        {'millpond_endpoints{state="failing"}': "0x60"},
    ),
    "MillpondEndpointErrors": (
        {
            'millpond_endpoint_errors_total{endpoint_id="e"}': "0+2x60",
            'millpond_endpoint_requests_total{endpoint_id="e"}': "0+9x60",
        },
        {
            'millpond_endpoint_errors_total{endpoint_id="e"}': "0x60",
            'millpond_endpoint_requests_total{endpoint_id="e"}': "0+9x60",
        },
    ),
    "MillpondEndpointDrifts": (
        {'millpond_endpoint_drift_alerts{endpoint_id="e"}': "1x60"},
        {'millpond_endpoint_drift_alerts{endpoint_id="e"}': "0x60"},
    ),
    "MillpondQuotaUsedUp": (
        {'millpond_project_quota_used{quota="jobs"}': "10x60", 'millpond_project_quota_limit{quota="jobs"}': "10x60"},
        # Nothing is allowed, and nothing used.
        {'millpond_project_quota_used{quota="jobs"}': "0x60", 'millpond_project_quota_limit{quota="jobs"}': "0x60"},
    ),
}


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (dev/apt.txt: prometheus)")
    return found


def test_rules_are_read_by_prometheus(promtool: str) -> None:
    done = subprocess.run(
        [promtool, "check", "rules", make_dashboards.RULES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and f"{len(CASES)} rules found" in done.stdout, done.stdout + done.stderr


def test_every_alert_fires_when_it_should_and_not_otherwise(promtool: str, tmp_path: Path) -> None:
    assert [rule["alert"] for rule in RULES] == list(CASES)
    tests = [
        case(alert, series, count) for alert, pair in CASES.items() for series, count in zip(pair, (1, 0), strict=True)
    ]
    file = tmp_path / "alerts_test.yaml"
    file.write_text(json.dumps({"rule_files": [str(make_dashboards.RULES)], "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def case(alert: str, series: Series, firing: int) -> dict[str, Any]:
    """At the last sample: `alert` fires for one thing, or does not."""
    minutes = max(len(expand(values)) for values in series.values()) - 2
    labels = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if firing else []
    return {
        "name": f"{alert} {'fires' if firing else 'is quiet'}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": f"count by (alertname) ({labels})", "eval_time": f"{minutes}m", "exp_samples": samples}
        ],
    }


def expand(values: str) -> range:
    """As many as promtool makes of it."""
    return range(sum(int(word.partition("x")[2]) + 1 if "x" in word else 1 for word in values.split()))


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    guide = (ROOT / "docs" / "monitoring.md").read_text()
    for rule in RULES:
        name = rule["alert"]
        assert re.fullmatch(r"\d+[mh]", rule["for"]), name
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), name
        assert rule["annotations"]["summary"].endswith("."), name
        assert rule["annotations"]["runbook"] == f"docs/monitoring.md#{name.lower()}"
        assert f"\n### {name}\n" in guide, f"docs/monitoring.md says nothing of {name}"
    assert set(re.findall(r"^### (Millpond\w+)$", guide, re.MULTILINE)) == set(CASES)


def test_dashboards_and_the_charts_copies_are_current() -> None:
    files = make_dashboards.files()
    for path, text in files.items():
        assert path.read_text() == text, f"{path.relative_to(ROOT)} is out of date: make docs"
    there = {path for folder in {path.parent for path in files} for path in folder.iterdir() if path.suffix != ".md"}
    assert there == set(files)
