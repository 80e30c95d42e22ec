"""A router between a client and replicas that do what replicas may do."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from millpond.serve.http import Request, Response, json_response
from tests.unit.serve.router.routed import FakeReplica, Routed, body, header, routed
from tests.unit.serve.router.routes import a_replica, a_token, an_endpoint


def run(case: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(case, 60))


def test_a_request_goes_to_the_replica_and_back_unchanged(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3) as (router, [replica]):
            router.configure(an_endpoint(replicas=[replica.entry(token="secret")]))
            binary = b'{"inputs":[]}' + bytes(range(256)) * 400
            replica.answer = lambda request: Response(
                200,
                [b"ab", b"cd"],
                [(b"inference-header-content-length", b"2"), (b"content-type", b"application/octet-stream")],
            )
            answer = await router.infer(
                "/v2/models/xray/infer", binary, inference_header_content_length="13", content_encoding="x", x_mine="1"
            )
            assert (answer.status, b"".join(answer.body)) == (200, b"abcd")
            assert header(answer, "inference-header-content-length") == "2"
            assert header(answer, "mill-model-version") == "3" and header(answer, "mill-request-id")
            [seen] = replica.seen
            assert (seen.method, seen.path, seen.body) == ("POST", "/v2/models/chest-xray/infer", binary)
            sent = dict(seen.headers)
            assert sent[b"authorization"] == b"Bearer secret" and sent[b"x-mine"] == b"1"
            assert sent[b"inference-header-content-length"] == b"13" and sent[b"content-encoding"] == b"x"

    run(case())


def test_the_answer_has_the_name_that_was_asked_for(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3) as (router, [replica]):
            spoken = b'{"model_name":"chest-xray","outputs":[]}'
            headers = [(b"inference-header-content-length", b"%d" % len(spoken))]
            replica.answer = lambda request: Response(200, [spoken, b"\x00\x01"], headers)
            answer = await router.infer()
            length = int(header(answer, "inference-header-content-length") or 0)
            content = b"".join(answer.body)
            assert json.loads(content[:length]) == {"model_name": "xray", "outputs": []}
            assert content[length:] == b"\x00\x01"
            same = await router.infer("/v2/models/chest-xray/infer")
            assert b"".join(same.body) == spoken + b"\x00\x01"

    run(case())


def test_weights_are_exact_and_metadata_takes_no_turn(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3, 5, weights={3: 95, 5: 5}) as (router, _):
            for _ in range(7):
                assert (await router.get("/v2/models/xray")).status == 200
            assert await router.statuses(1000) == {200: 1000}
            counts = {one["version"]: one["requests"] for one in router.stats()["versions"]}
            assert counts == {3: 950, 5: 50}
            answers = [await router.infer("/v2/models/xray/versions/5/infer") for _ in range(3)]
            assert {header(answer, "mill-model-version") for answer in answers} == {"5"}

    run(case())


def test_a_replica_that_dies_under_load_costs_no_request(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3) as (router, [one, two]):
            for replica in (one, two):
                replica.answer = _slowly(0.002)
            load = asyncio.ensure_future(router.statuses(600))
            await router.until(lambda: len(one.seen) > 100)
            await one.kill()
            assert await load == {200: 600}
            assert router.stats()["versions"][0]["retries"] > 0
            assert [len(router.router.dispatcher.taking("xray", replica)) for replica in _versions(router)] == [1]
            (lost,) = router.router.reporter.document()["lost"]
            assert lost["id"] == one.entry()["id"] and one.address in lost["problem"]
            # It comes back at the same address.
            await one.start()
            await router.until(lambda: router.stats()["versions"][0]["replicas_ready"] == 2)
            assert router.router.reporter.document()["lost"] == []

    run(case())


def test_the_only_replica_dies_and_requests_wait_for_the_next(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3) as (router, [one]):
            one.answer = _never()
            waiting = asyncio.ensure_future(router.infer())
            await router.until(lambda: len(one.seen) == 1)
            await one.kill()
            await router.until(lambda: router.stats()["held"] == 1)
            assert router.stats()["first_held_at"] is not None
            two = FakeReplica(f"unix:{tmp_path}/two.sock")
            await two.start()
            router.configure(an_endpoint(replicas=[two.entry()]))
            assert body(await waiting)["id"] == two.address
            assert router.stats()["held"] == 0 and router.stats()["first_held_at"] is None
            await two.kill()

    run(case())


def test_half_an_answer_is_asked_for_again(tmp_path: Path) -> None:
    async def case() -> None:
        for spoken, expected in [
            (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", 200),
            (b"", 200),
            (b"HTTP/1.1 200 OK\r\n", 200),
            (b"nonsense\r\n\r\n", 502),
            (b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", 502),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n", 201),
            (b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", 201),
        ]:
            async with routed(tmp_path, 3) as (router, [honest]):
                liar = await asyncio.start_unix_server(lambda r, w, s=spoken: _say(r, w, s), f"{tmp_path}/liar.sock")
                versions = [{"model": "chest-xray", "version": 3, "weight": 50}]
                entries = [a_replica(f"unix:{tmp_path}/liar.sock"), honest.entry()]
                router.configure(an_endpoint(versions=versions, replicas=entries))
                found = {(await router.infer()).status for _ in range(2)}
                assert found == {200, expected} if expected != 200 else found == {200}, spoken
                liar.close()

    run(case())


def test_a_request_that_kills_replicas_is_sent_twice_and_no_more(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3, 3) as (router, replicas):
            deaths = 0

            def dies(request: Request) -> Response:
                nonlocal deaths
                deaths += 1
                raise ConnectionAbortedError

            for replica in replicas:
                replica.answer = dies
                assert replica.server is not None
                _cut_off_on_error(replica)
            answer = await router.infer()
            assert answer.status == 502 and deaths == 2
            assert "error" in body(answer)
            [version] = router.stats()["versions"]
            assert version["errors"] == {"502": 1} and version["retries"] == 1 and version["outstanding"] == 0

    run(case())


def test_errors_of_the_model_are_passed_on_and_not_repeated(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3) as (router, replicas):
            for replica in replicas:
                replica.answer = lambda request: json_response({"error": "no"}, 500)
            assert (await router.infer()).status == 500
            assert sum(len(replica.seen) for replica in replicas) == 1

    run(case())


def test_a_replica_that_never_answers_is_given_up(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, options={"answer_seconds": 0.2}) as (router, [replica]):
            replica.answer = _never()
            assert (await router.infer()).status == 504
            replica.answer = lambda request: Response(200)
            assert (await router.infer()).status == 200

    run(case())


def test_requests_from_zero_replicas_are_held_within_limits(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, replicas=[], hold={"seconds": 30, "requests": 2}) as (router, [replica]):
            held = [asyncio.ensure_future(router.infer()) for _ in range(2)]
            await router.until(lambda: router.stats()["held"] == 2)
            refused = await router.infer()
            assert refused.status == 503 and header(refused, "retry-after")
            ready = await router.get("/v2/models/xray/ready")
            assert ready.status == 400
            router.configure(an_endpoint(replicas=[replica.entry()]))
            assert [answer.status for answer in await asyncio.gather(*held)] == [200, 200]
            assert router.stats()["refused"] == {"503": 1} and router.stats()["held_total"] == 2
            router.configure(an_endpoint(replicas=[], hold={"seconds": 0.05, "requests": 2}))
            late = await router.infer()
            assert late.status == 503 and "within 0.05 s" in body(late)["error"]

    run(case())


def test_an_endpoint_deleted_while_requests_are_held(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, replicas=[]) as (router, _):
            held = asyncio.ensure_future(router.infer())
            await router.until(lambda: router.stats()["held"] == 1)
            router.configure()
            assert (await held).status == 404

    run(case())


def test_a_draining_or_unready_replica_gets_no_new_requests(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3) as (router, [one, two]):
            router.configure(an_endpoint(replicas=[one.entry(state="draining"), two.entry()]))
            await router.statuses(20)
            assert len(one.seen) == 0 and len(two.seen) == 20
            router.configure(an_endpoint(replicas=[one.entry(), two.entry()]))
            two.ready = False
            router.router.health.probe_all()
            await router.until(lambda: router.stats()["versions"][0]["replicas_ready"] == 1)
            await router.statuses(20)
            assert len(one.seen) == 20 and len(two.seen) == 20

    run(case())


def test_shadow_copies_follow_the_answer_and_never_touch_it(tmp_path: Path) -> None:
    async def case() -> None:
        shadow = {"model": "chest-xray", "version": 6, "percent": 10}
        async with routed(tmp_path, 3, 6, weights={3: 100}, shadow=shadow) as (router, [one, six]):
            assert await router.statuses(100, body=b"payload") == {200: 100}
            await router.until(lambda: router.stats()["shadow"]["sent"] == 10)
            assert len(one.seen) == 100 and [request.body for request in six.seen] == [b"payload"] * 10
            # A shadow that never answers, or is gone, delays and fails nobody.
            six.answer = _never()
            assert await router.statuses(1000) == {200: 1000}
            assert router.stats()["shadow"]["dropped"] == 100 - 64
            await six.kill()
            await router.until(lambda: router.stats()["shadow"]["errors"] == 64)
            assert await router.statuses(100) == {200: 100}

    run(case())


def test_private_endpoints_need_a_token_and_its_quota(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, public=False, token_quota_per_min=3) as (router, [replica]):
            refused = await router.infer()
            assert refused.status == 401 and header(refused, "www-authenticate") == "Bearer"
            assert (await router.infer(authorization="Bearer mep_x.y")).status == 401
            assert (await router.infer(authorization=f"Bearer {a_token('other')}")).status == 403
            token = f"Bearer {a_token()}"
            assert [(await router.infer(authorization=token)).status for _ in range(4)] == [200, 200, 200, 429]
            over = await router.infer(authorization=token)
            assert over.status == 429 and int(header(over, "retry-after") or 0) in range(1, 21)
            # Questions about the model cost nothing, and show nothing to strangers.
            assert (await router.get("/v2/models/xray", authorization=token)).status == 200
            assert (await router.get("/v2/models/xray")).status == 401
            assert body(await router.send("POST", "/v2/repository/index")) == []
            assert len(body(await router.send("POST", "/v2/repository/index", authorization=token))) == 1
            assert all(b"mep_" not in value for request in replica.seen for _, value in request.headers)
            router.configure(an_endpoint(public=False, replicas=[replica.entry()]), revoked=["t1"])
            assert (await router.infer(authorization=token)).status == 401

    run(case())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2", 200),
        ("GET", "/v2/", 200),
        ("GET", "/v2/health/live", 200),
        ("GET", "/v2/health/ready", 200),
        ("GET", "/v2/models/xray/ready", 200),
        ("GET", "/v2/models/chest-xray/versions/3/ready", 200),
        ("GET", "/endpoints/xray/v2/models/chest-xray/config", 200),
        ("POST", "/endpoints/xray/v2/models/xray/infer", 200),
        ("POST", "/endpoints/xray/v2/repository/index", 200),
        ("HEAD", "/v2/models/xray", 200),
        ("GET", "/v2/models/xray/infer", 405),
        ("DELETE", "/v2/models/xray", 405),
        ("POST", "/v2/repository/models/xray/load", 400),
        ("POST", "/v2/repository/models/xray/unload", 400),
        ("POST", "/v2/systemsharedmemory/region/a/register", 400),
        ("POST", "/v2/models/xray/trace/setting", 400),
        ("GET", "/v2/models/nothing", 404),
        ("POST", "/endpoints/nothing/v2/models/xray/infer", 404),
        ("POST", "/v2/models/xray/../../infer", 404),
        ("POST", "/v2/models/%2e%2e/infer", 404),
        ("GET", "/", 404),
        ("GET", "/v3", 404),
        ("GET", "/endpoints/xray", 404),
    ],
)
def test_paths(tmp_path: Path, method: str, path: str, status: int) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3) as (router, _):
            assert (await router.send("GET" if method == "HEAD" else method, path)).status == status

    run(case())


def test_statistics_of_replicas_add_up(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3, 5, weights={3: 95, 5: 5}) as (router, replicas):
            for number, replica in enumerate(replicas, start=1):
                replica.answer = lambda request, number=number: json_response(  # type: ignore[misc]
                    {
                        "model_stats": [
                            {
                                "name": "chest-xray",
                                "version": "1",
                                "last_inference": number,
                                "inference_count": number,
                                "inference_stats": {"success": {"count": number, "ns": 10}},
                                "batch_stats": [{"batch_size": number, "compute_infer": {"count": 1, "ns": 5}}],
                            }
                        ]
                    }
                )
            [three, five] = body(await router.get("/v2/models/xray/stats"))["model_stats"]
            assert (three["name"], three["version"], five["version"]) == ("xray", "3", "5")
            assert three["inference_count"] == 3 and three["last_inference"] == 2
            assert three["inference_stats"] == {"success": {"count": 3, "ns": 20}}
            assert [one["batch_size"] for one in three["batch_stats"]] == [1, 2]
            assert body(await router.get("/v2/models/stats"))["model_stats"] == [three, five]

    run(case())


def test_a_broken_configuration_leaves_the_last_good_one(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3) as (router, _):
            (tmp_path / "config.json").write_text('{"schema":')
            router.router.look_at_files()
            assert (await router.infer()).status == 200
            assert "not JSON" in (router.router.reporter.config_error or "")

    run(case())


def test_stats_and_metrics_tell_the_same(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3) as (router, [replica]):
            await router.statuses(5)
            replica.answer = lambda request: json_response({"error": "no"}, 500)
            await router.infer()
            router.router.report()
            document = json.loads((tmp_path / "state/stats.json").read_text())
            [version] = document["endpoints"][0]["versions"]
            assert (version["requests"], version["errors"], version["answers"]) == (6, {"500": 1}, {"200": 5, "500": 1})
            assert sum(version["latency"]) == 6 and len(version["latency"]) == len(document["bounds_s"]) + 1
            metrics = Routed(router.router, tmp_path)
            metrics.client.address = router.router.addresses["metrics"]
            text = b"".join((await metrics.get("/metrics")).body).decode()
            labels = 'endpoint="xray",model="chest-xray",version="3"'
            assert f'mill_router_requests_total{{{labels},status="200"}} 5' in text
            assert f"mill_router_request_seconds_count{{{labels}}} 6" in text
            assert f'mill_router_request_seconds_bucket{{{labels},le="+Inf"}} 6' in text

    run(case())


def test_the_request_log_keeps_what_the_endpoint_says(tmp_path: Path) -> None:
    request = {
        "id": "mine",
        "parameters": {"patient": "Ada", "mode": 1},
        "inputs": [
            {"name": "patient", "datatype": "BYTES", "shape": [1], "data": ["Ada"]},
            {"name": "x", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}},
            {"name": "y", "datatype": "FP32", "shape": [1], "data": [1.5]},
        ],
    }

    async def case() -> list[dict[str, Any]]:
        log = {"level": "full", "sample": 1.0, "redact": ["patient"]}
        async with routed(tmp_path, 3, log=log) as (router, [replica]):
            replica.answer = lambda request: json_response({"outputs": [{"name": "z", "shape": [1], "data": [2]}]})
            head = json.dumps(request).encode()
            await router.infer(body=head + bytes(8), inference_header_content_length=str(len(head)))
            await router.infer(body=gzip.compress(b'{"inputs":[]}'), content_encoding="gzip")
            await router.infer(body=b"not json")
            router.configure(an_endpoint(replicas=[replica.entry()], log={"level": "meta"}))
            answer = await router.infer()
            router.configure(an_endpoint(replicas=[replica.entry()], log={"level": "none"}))
            await router.infer()
        [path] = (tmp_path / "state/log").glob("*.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert rows[3]["id"] == header(answer, "mill-request-id")
        return rows

    rows: list[dict[str, Any]] = uvloop.run(case())
    assert len(rows) == 4 and "Ada" not in json.dumps(rows)
    assert rows[0]["request"] == {
        "id": "mine",
        "parameters": {"patient": "redacted", "mode": 1},
        "inputs": [
            {"name": "patient", "datatype": "BYTES", "shape": [1], "redacted": True},
            {"name": "x", "datatype": "FP32", "shape": [2], "base64": "AAAAAAAAAAA="},
            {"name": "y", "datatype": "FP32", "shape": [1], "data": [1.5]},
        ],
    }
    assert rows[0]["response"] == {"outputs": [{"name": "z", "shape": [1], "data": [2]}]}
    assert rows[1]["request"] == {"inputs": []}
    assert rows[2]["request"] == {"unreadable": True, "bytes": 8}
    assert "request" not in rows[3] and rows[3]["status"] == 200 and rows[3]["version"] == 3


def _versions(router: Routed) -> list[Any]:
    return list(router.router.dispatcher.config.endpoints[0].weights)


def _slowly(seconds: float) -> Any:
    async def answer(request: Request) -> Response:
        await asyncio.sleep(seconds)
        return Response(200, b"{}")

    return answer


def _never() -> Any:
    async def answer(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    return answer


def _cut_off_on_error(replica: FakeReplica) -> None:
    """Make an error of the answer close the connection without a word, as a dying process does."""
    assert replica.server is not None
    answer = replica.answer

    async def dying(request: Request) -> Response:
        try:
            answer(request)  # type: ignore[unused-coroutine]
        except ConnectionAbortedError:
            assert replica.server is not None
            for connection in list(replica.server._connections):
                connection.abort()
        return Response(200)

    replica.answer = dying


async def _say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, spoken: bytes) -> None:
    """A replica that is ready and answers every other request with these bytes."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" if b"health" in head else spoken)
    writer.close()
