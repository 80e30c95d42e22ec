"""Batches and queues of replicas, asked and added up by the router."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from millpond.serve.http import Request, Response, json_response
from millpond.serve.router.report import metric_lines
from tests.unit.serve.router.routed import FakeReplica, routed


def counts(replica: FakeReplica, sizes: dict[int, int], *, broken: bool = False) -> None:
    """It has run so many batches of these sizes; each row waited a millisecond."""
    rows = sum(size * count for size, count in sizes.items())
    entry = {
        "inference_count": rows,
        "inference_stats": {"queue": {"count": rows, "ns": rows * 1_000_000}},
        "batch_stats": [{"batch_size": size, "compute_infer": {"count": count}} for size, count in sizes.items()],
    }

    def answer(request: Request) -> Response:
        is_stats = request.path.endswith("/stats")
        return json_response({"model_stats": [{} if broken else entry]} if is_stats else {"id": "x"})

    replica.answer = answer


def test_batches_and_waits_add_up_over_replicas_and_restarts(tmp_path: Path) -> None:
    async def case() -> None:
        async with routed(tmp_path, 3, 3) as (router, (one, two)):
            watch = router.router.batches

            async def look() -> dict[str, Any]:
                await router.infer()
                watch.look()
                assert watch._asking is not None
                await watch._asking
                found: dict[str, Any] = router.stats()["versions"][0]["batches"]
                return found

            counts(one, {1: 4, 8: 2})
            counts(two, {3: 1, 200: 1})
            found = await look()
            assert found["sizes"] == [4, 0, 1, 2, 0, 0, 0, 0, 1] and found["rows"] == 223
            assert found["queued"] == 223 and abs(found["queue_sum_s"] - 0.223) < 1e-6
            counts(one, {1: 5, 8: 2})
            counts(two, {2: 1})  # a new process
            found = await look()
            assert found["sizes"] == [5, 1, 1, 2, 0, 0, 0, 0, 1] and found["rows"] == 226
            counts(one, {1: 9}, broken=True)
            assert await look() == found, "what it says cannot be used"
            asked = len(two.seen)
            watch.look()
            assert watch._asking is not None
            await watch._asking
            assert len(two.seen) == asked, "nothing was answered since"
            lines = list(metric_lines(router.router.reporter.document()))
            labels = 'endpoint="xray",model="chest-xray",version="3"'
            assert f'mill_router_batch_rows_bucket{{{labels},le="1"}} 5' in lines
            assert f'mill_router_batch_rows_bucket{{{labels},le="+Inf"}} 10' in lines
            assert f"mill_router_batch_rows_sum{{{labels}}} 226" in lines
            assert f"mill_router_queue_seconds_count{{{labels}}} 226" in lines

    asyncio.run(case())
