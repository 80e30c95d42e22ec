"""endpoint.yaml: read whole, written back the same, every mistake named with its line and column."""

from __future__ import annotations

import json

import pytest

from millpond.decide.endpoints.reader import endpoint_document, read_endpoint
from millpond.model.endpoint_spec import (
    EndpointDrift,
    EndpointLog,
    EndpointPorts,
    EndpointRollout,
    EndpointSite,
    LogLevel,
    Offline,
    ShadowVersion,
    WeightedVersion,
)

WHOLE = """\
schema: millpond.endpoint/1
name: xray
versions: [{model: chest-xray@3, weight: 95}, {model: chest-xray@candidate, weight: 5}]
shadow: {model: chest-xray@5, percent: 10}
sites: {berlin: {min: 1, max: 4, template: cpu-small}, "shop-*": {min: 0, max: 1, offline: stop}}
scale: {target_concurrency: 4, idle_to_zero: 10m, target_p95_ms: 50}
rollout: {step: 10, every: 5m, promote_if: {errors_max: 0.01, p99_ratio_max: 1.2}, else: hold}
access: {public: true, token_quota_per_min: 600}
log: {level: full, sample: 0.1, redact: [patient], to: xray-requests@main, every: 10m}
drift: {reference: "train@v3:a.csv", window: 1h, every: 15m, columns: [age], alert: {psi_max: 0.3}, on: cpu-small}
ports: {http: 9000, grpc: 9001, metrics: 9002}
environment: none
"""


def test_everything_is_read_and_written_back() -> None:
    spec, problems = read_endpoint(WHOLE)
    assert spec is not None and not problems
    assert spec.versions == (WeightedVersion("chest-xray@3", 95), WeightedVersion("chest-xray@candidate", 5))
    assert spec.shadow == ShadowVersion("chest-xray@5", 10)
    assert spec.sites == (
        EndpointSite("berlin", 1, 4, "cpu-small", Offline.SERVE),
        EndpointSite("shop-*", 0, 1, None, Offline.STOP),
    )
    assert spec.rollout == EndpointRollout(10, 300, 0.01, 1.2, None, rolls_back=False)
    assert spec.log == EndpointLog(LogLevel.FULL, 0.1, ("patient",), "xray-requests@main", 600)
    assert spec.drift == EndpointDrift("train@v3:a.csv", 3600, 900, ("age",), psi_max=0.3, p_min=0.01, on="cpu-small")
    assert spec.ports == EndpointPorts(9000, 9001, 9002)
    again, problems = read_endpoint(json.dumps(endpoint_document(spec)))
    assert again == spec and not problems


def test_the_least_that_is_needed() -> None:
    spec, problems = read_endpoint("schema: millpond.endpoint/1\nname: e\nversions: [{model: m}]\n")
    assert spec is not None and not problems
    assert spec.versions == (WeightedVersion("m@latest", 100),) and spec.sites == ()


_LOGGED = "log: {level: full, to: log@main}\n"


@pytest.mark.parametrize(
    ("line", "place", "said"),
    [
        ("verions: []", (4, 1), "Did you mean 'versions'?"),
        ("sites: {a: {mn: 1}}", (4, 13), "Did you mean 'min'?"),
        ("sites: {a: {min: 3, max: 2}}", (4, 26), "max (2) is below min (3)."),
        ("sites: {a: {offline: go}}", (4, 22), "offline cannot be 'go'."),
        ("scale: {idle_to_zero: 10}", (4, 23), "'10' has no unit."),
        ("rollout: {promote_if: {errors_max: 2}}", (4, 36), "errors_max must be a number from 0 to 1"),
        ("shadow: {percent: 10}", (4, 9), "No model given."),
        ("ports: {http: 8001}", (4, 8), "The ports must differ"),
        ("log: {sample: 1.5}", (4, 15), "sample must be a number"),
        ("log: {keep: 5}", (4, 13), "'5' has no unit."),
        ("log: {keep: 5s}", (4, 13), "'5s' is too short."),
        ("log: {max: lots}", (4, 12), "'lots' is not a size."),
        ("log: {max: 1MB}", (4, 12), "At least 100.0 MB."),
        ("log: {send: {at: 3}}", (4, 14), "Unknown key 'at'."),
        ("log: {send: {between: 22:00}}", (4, 23), "is not a time window."),
        ("log: {send: {between: 22:00-22:00}}", (4, 23), "A window needs some length."),
        ("log: {send: {between: 22:00-06:00, zone: Europe/Berln}}", (4, 42), "Did you mean 'Europe/Berlin'?"),
        ("log: {send: {zone: UTC}}", (4, 20), "A zone needs a window."),
        ("log: {send: {limit: 1kbit}}", (4, 21), "is too low"),
        ("drift: {}", (4, 8), "drift needs a reference."),
        ("drift: {reference: train}", (4, 8), "Write: log: {level: full"),
        (f"{_LOGGED}drift: {{reference: 'a b'}}", (5, 20), "is not a valid name"),
        (f"{_LOGGED}drift: {{reference: 'a:../b'}}", (5, 20), "leaves the dataset"),
        (f"{_LOGGED}drift: {{reference: a, window: 5s}}", (5, 31), "too short"),
        (
            f"{_LOGGED}drift: {{reference: a, alert: {{psi_max: -1}}}}",
            (5, 40),
            "psi_max must be a number from 0 to 100",
        ),
        ("environment: conda", (4, 14), "environment cannot be 'conda'."),
        ("name: again", (4, 1), "stands twice"),
    ],
)
def test_mistakes_have_a_line_and_a_column(line: str, place: tuple[int, int], said: str) -> None:
    text = f"schema: millpond.endpoint/1\nname: e\nversions: [{{model: m@1}}]\n{line}\n"
    _, problems = read_endpoint(text)
    assert [(one.line, one.column) for one in problems] == [place]
    assert said in f"{problems[0].message} {problems[0].hint}"


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ("[]", "versions must be a list"),
        ("[{model: m@1, weight: 60}, {model: m@2, weight: 30}]", "The weights sum to 90."),
        ("[{model: m@1, weight: 50}, {model: m@1, weight: 50}]", "A version stands twice."),
        ("[{model: 'm@', weight: 100}]", "is not a version of a model"),
        ("[{model: m@1, weight: 0.5}]", "weight must be a whole number"),
    ],
)
def test_versions_that_cannot_be(versions: str, said: str) -> None:
    _, problems = read_endpoint(f"schema: millpond.endpoint/1\nname: e\nversions: {versions}\n")
    assert any(said in one.message for one in problems)


@pytest.mark.parametrize("text", ["", "- a", "a: [", "schema: other/1\nname: E!\n", "\0"])
def test_what_is_no_endpoint_has_problems(text: str) -> None:
    assert read_endpoint(text)[1]
