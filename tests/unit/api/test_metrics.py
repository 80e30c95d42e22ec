"""Who hears what at /metrics, and that what it tells is documented."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from dev import make_metrics_docs
from prometheus_client.parser import text_string_to_metric_families

from millpond.api.metrics.requests import RequestMetrics
from millpond.api.metrics.routes import read_token
from millpond.errors import SetupError
from millpond.model.job import JobState
from millpond.model.people import Role
from millpond.testing.builders_work import add_job
from millpond.testing.server import RunningServer

TOKEN = "0123456789abcdef"


def test_reference_is_current() -> None:
    assert make_metrics_docs.TARGET.read_text() == make_metrics_docs.written(), "run: make docs"


def test_names_and_units_are_as_prometheus_has_them() -> None:
    found = make_metrics_docs.families()
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert one.name.startswith("millpond_") and one.text.endswith("."), one
        assert one.name.endswith("_total") == (one.kind == "counter"), one
        assert not one.name.endswith(("_ms", "_minutes", "_percent", "_gb")), one
        assert ("project_id" in one.labels) <= (one.scope in ("project", "clusters")), one


def test_nobody_hears_of_projects_without_a_token(server: RunningServer) -> None:
    add_job(server.deps.db, project=server.project("very-secret").name, name="hidden")
    maria = server.user("maria", roles={"very-secret": Role.ADMIN})
    for client in (server.client(), maria):
        text = scraped(server, client)
        assert "project_id" not in text and "very-secret" not in text and 'millpond_jobs{state="queued"} 1.0' in text
        assert client.get(f"{server.url}/metrics/clusters").status_code == 401
    text = scraped(server, server.admin)
    secret = server.project("very-secret")
    assert f'millpond_project_info{{project="very-secret",project_id="{secret.id}"}} 1.0' in text
    assert f'millpond_project_jobs{{project_id="{secret.id}",state="queued"}} 1.0' in text
    assert server.admin.get(f"{server.url}/metrics/clusters").status_code == 200
    assert httpx.get(f"{server.url}/metrics", headers=bearer("wrong")).status_code == 401


def test_with_a_token_file_everybody_needs_it(server: RunningServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    server.app.state.deps = replace(
        server.deps, settings=replace(server.deps.settings, metrics_token_file=file)
    )  # as `mill up --metrics-token-file` would

    def status(secret: str | None) -> int:
        return httpx.get(f"{server.url}/metrics", headers=bearer(secret) if secret else {}).status_code

    assert (status(None), status("no"), status(TOKEN)) == (401, 401, 200)
    assert server.user("maria").get(f"{server.url}/metrics").status_code == 401
    assert "millpond_project_info{" in scraped(server, server.admin)
    file.write_text(f"another {TOKEN}")
    assert (status(TOKEN), status(f"another {TOKEN}")) == (401, 200)
    file.unlink()
    assert status(TOKEN) == 503


@pytest.mark.parametrize(("text", "said"), [(None, "Cannot read"), ("short", "at least 16"), ("", "at least 16")])
def test_a_token_that_is_none_is_refused_at_start(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "token").write_text(text)
    with pytest.raises(SetupError, match=said):
        read_token(tmp_path / "token")


def test_labels_of_requests_are_bounded(server: RunningServer) -> None:
    metrics: RequestMetrics = server.app.state.request_metrics
    for number in range(3):
        metrics.observe({"type": "http", "method": f"X{number}"}, 400, 0.1)
        server.client().get(f"/no/such/{number}")
    text = scraped(server, server.client())
    assert 'millpond_requests_total{method="other",route="none",status="400"} 3.0' in text
    assert "/no/such" not in text and "X1" not in text


def test_jobs_are_counted_once_however_often_they_are_announced(server: RunningServer) -> None:
    measures, now = server.deps.measures, server.deps.clock.now()
    job = add_job(server.deps.db, name="twice")
    ended = job.changed(state=JobState.FAILED, started_at=now, ended_at=now)
    measures.jobs_changed([ended], now)
    measures.jobs_changed([ended], now)
    found = {
        (sample.name, sample.labels.get("part") or sample.labels.get("state")): sample.value
        for family in text_string_to_metric_families(scraped(server, server.client()))
        for sample in family.samples
    }
    assert found["millpond_jobs_ended_total", "failed"] == 1
    assert found["millpond_job_start_seconds_count", "total"] == 1


def scraped(server: RunningServer, client: httpx.Client) -> str:
    answer = client.get(f"{server.url}/metrics")
    assert answer.status_code == 200
    return answer.text


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
