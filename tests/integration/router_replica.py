"""A replica as a process: it answers every inference with its number. `python -m tests.integration.router_replica`."""

from __future__ import annotations

import asyncio
import os
import sys

import uvloop

from millpond.serve.http import Request, Response, json_response, serve_http


async def main(listen: str, seconds: float) -> None:
    # Long enough that a kill cuts some of them in the middle.
    answer = json_response({"pid": os.getpid(), "outputs": [{"name": "y", "data": [0.5] * 5000}]})

    async def infer() -> Response:
        await asyncio.sleep(seconds)
        return answer

    def handle(request: Request) -> Response | asyncio.Future[Response]:
        if request.path == "/v2/health/ready":
            return Response(200)
        return asyncio.ensure_future(infer()) if seconds else Response(200, b"{}")

    await serve_http(handle, listen=listen)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], float(sys.argv[2])))
