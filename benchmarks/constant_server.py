"""The floor of a model server: the same HTTP stack, always the same answer. Prints its port."""

from __future__ import annotations

import asyncio

import uvloop

from millpond.serve.http import Request, Response, serve_http

ANSWER = b'{"model_name":"small","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,4]}]}' + bytes(
    16
)
HEADERS = ((b"content-type", b"application/octet-stream"), (b"inference-header-content-length", b"99"))


def answer(_request: Request) -> Response:
    return Response(200, ANSWER, HEADERS)


async def main() -> None:
    server = await serve_http(answer, listen="tcp:127.0.0.1:0")
    print(server.address.rpartition(":")[2], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
