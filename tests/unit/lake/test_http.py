"""The data plane against a real HTTP server that misbehaves on demand."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from millpond.errors import BadRequest, DiskFull, Forbidden, MillError, NotFound, StoreUnavailable
from millpond.lake import fetch_orders, store_retry
from millpond.lake.digests import digest_of
from millpond.lake.http import DataPlane
from millpond.lake.range_reader import RangeReader, Timeouts
from millpond.lake.range_writes import order_of, part_of, write_range
from millpond.lake.target import Target
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Kind
from millpond.retry import RetryPolicy

# Does something odd with one request, and says whether it has answered it.
Fault = Callable[[BaseHTTPRequestHandler], bool]


class Store(ThreadingHTTPServer):
    """Objects by path. Takes the next of `faults` before each request; remembers what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        """Whoever asked has gone away in the middle: some tests do that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Store

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve(None)

    def do_PUT(self) -> None:
        self._serve(self.rfile.read(int(self.headers["Content-Length"])))

    def _serve(self, body: bytes | None) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        if self.server.faults and self.server.faults.pop(0)(self):
            return
        path = self.path.partition("?")[0]
        if body is not None:
            self.server.objects[path] = body
            self.answer(200, b"")
        elif path not in self.server.objects:
            self.answer(404, b"")
        elif wanted := self.headers.get("Range"):
            low, high = wanted.removeprefix("bytes=").split("-")
            whole = self.server.objects[path]
            part = whole[int(low) : int(high) + 1]
            self.answer(206, part, Content_Range=f"bytes {low}-{int(low) + len(part) - 1}/{len(whole)}")
        else:
            self.answer(200, self.server.objects[path])

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)


def answers(status: int, **headers: str) -> Fault:
    def fault(request: BaseHTTPRequestHandler) -> bool:
        request.answer(status, b"no", **headers)  # type: ignore[attr-defined]
        return True

    return fault


def resets(request: BaseHTTPRequestHandler) -> bool:
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True
    return True


def truncates(request: BaseHTTPRequestHandler) -> bool:
    request.send_response(200)
    request.send_header("Content-Length", "100")
    request.end_headers()
    request.wfile.write(b"only this")
    request.close_connection = True
    return True


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def plane(store: Store, waits: list[float]) -> Iterator[DataPlane]:
    plane = DataPlane(store.url, policy=RetryPolicy(attempts=4), sleep=waits.append)
    yield plane
    plane.close()


def test_moves_bytes(store: Store, plane: DataPlane) -> None:
    plane.put("/lake/a?signature=x", bytearray(b"0123456789"))
    plane.put(f"{store.url}/b", memoryview(b"whole"))
    assert plane.get_range("/lake/a?signature=x", 2, 5) == b"234"
    assert plane.get("/b") == b"whole"


@pytest.mark.parametrize("fault", [answers(500), answers(503), answers(429), resets])
def test_passing_faults_are_tried_again(store: Store, plane: DataPlane, waits: list[float], fault: Fault) -> None:
    store.faults = [fault, fault]
    plane.put("/a", b"x")
    store.faults = [fault, fault]
    assert plane.get("/a") == b"x"
    assert len(waits) == 4


def test_an_object_that_comes_encoded(store: Store, plane: DataPlane) -> None:
    def encoded(request: BaseHTTPRequestHandler) -> bool:
        request.answer(200, gzip.compress(b"content"), Content_Encoding="gzip")  # type: ignore[attr-defined]
        return True

    store.faults = [encoded, encoded]
    assert plane.get("/object") == b"content"


def test_connections_are_used_again(store: Store, plane: DataPlane) -> None:
    """A connection that the store has closed meanwhile is no fault."""
    store.objects["/object"] = b"content"

    def goodbye(request: BaseHTTPRequestHandler) -> bool:
        request.close_connection = True
        return False

    store.faults = [goodbye, lambda request: False]
    assert [plane.get("/object") for _ in range(3)] == [b"content"] * 3
    assert len(store.requests) == 3


def test_a_truncated_body_is_never_taken(store: Store, plane: DataPlane) -> None:
    store.objects["/a"] = b"x" * 100
    store.faults = [truncates, truncates]
    assert plane.get("/a") == b"x" * 100


def test_advice_to_wait_is_followed(store: Store, plane: DataPlane, waits: list[float]) -> None:
    store.faults = [answers(503, Retry_After="7"), answers(503, Retry_After="99999")]
    plane.put("/a", b"x")
    assert waits == [7.0, 30.0]


def test_patience_may_be_a_time_and_whoever_waits_is_told_why(
    store: Store, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_retry, "TOLD_AFTER_SECONDS", 0.0)
    store.faults = [answers(503)] * 7
    said: list[str] = []
    policy = RetryPolicy(attempts=2, seconds=60.0)
    plane = DataPlane(store.url, policy=policy, sleep=waits.append, waiting=said.append)
    plane.put("/a", b"x")
    assert len(waits) == len(said) == 7
    assert said[0].endswith("keeps failing: answered 503")
    plane.close()


def test_gives_up_and_says_why_without_the_signature(store: Store, plane: DataPlane) -> None:
    store.faults = [answers(503)] * 4
    with pytest.raises(StoreUnavailable, match="answered 503") as caught:
        plane.get("/a?signature=secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "expected"), [(403, Forbidden), (404, NotFound), (507, DiskFull), (400, BadRequest), (302, BadRequest)]
)
def test_lasting_errors_are_not_tried_again(
    store: Store, plane: DataPlane, status: int, expected: type[MillError]
) -> None:
    store.faults = [answers(status)]
    with pytest.raises(expected):
        plane.put("/a", b"x")
    assert len(store.requests) == 1


def test_a_store_that_ignores_ranges_is_not_believed(store: Store, plane: DataPlane) -> None:
    store.objects["/a"] = b"0123456789"
    store.faults = [answers(200)]
    with pytest.raises(BadRequest):
        plane.get_range("/a", 0, 2)


def test_a_short_answer_is_asked_for_again(store: Store, plane: DataPlane) -> None:
    store.objects["/a"] = b"0123456789"
    store.faults = [answers(206), answers(206, Content_Range="bytes 2-3/10")]
    assert plane.get_range("/a", 2, 8) == b"234567"
    store.faults = [lambda request: request.answer(400, b"<Code>IncompleteBody</Code>") or True]  # type: ignore[attr-defined]
    plane.put("/b", b"0123")
    assert store.objects["/b"] == b"0123"


def test_a_range_behind_the_end_is_an_error(store: Store, plane: DataPlane) -> None:
    store.objects["/a"] = b"0123"
    with pytest.raises(BadRequest):
        plane.get_range("/a", 2, 9)


@pytest.fixture
def memory() -> memoryview:
    return memoryview(bytearray(b"." * 16))


@pytest.fixture
def reader(waits: list[float]) -> Iterator[RangeReader]:
    reader = RangeReader(policy=RetryPolicy(attempts=4), sleep=waits.append)
    yield reader
    reader.close()


def truncates_a_range(request: BaseHTTPRequestHandler) -> bool:
    request.send_response(206)
    request.send_header("Content-Length", "4")
    request.end_headers()
    request.wfile.write(b"01")
    request.close_connection = True
    return True


def answers_in_chunks(*chunks: bytes) -> Fault:
    def fault(request: BaseHTTPRequestHandler) -> bool:
        request.send_response(206)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.wfile.write(b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b"")))
        return True

    return fault


def test_ranges_into_memory(store: Store, reader: RangeReader, memory: memoryview) -> None:
    store.objects["/a"] = b"0123456789"
    assert bytes(reader.read_range(store.url + "/a?signature=x", 2, 6, memory)) == b"2345"
    assert bytes(reader.read_range(store.url + "/a", 0, 10, memory)) == b"0123456789"
    assert bytes(memory) == b"0123456789......", "nothing behind it is touched"


@pytest.mark.parametrize(
    "fault", [answers(500), answers(503), resets, truncates_a_range, answers_in_chunks(b"0", b"1"), answers(206)]
)
def test_passing_faults_of_ranges_into_memory(
    store: Store, reader: RangeReader, memory: memoryview, waits: list[float], fault: Fault
) -> None:
    store.objects["/a"] = b"0123456789"
    store.faults = [fault, fault]
    assert bytes(reader.read_range(store.url + "/a", 0, 4, memory)) == b"0123"
    assert len(waits) == 2
    store.faults = [resets]
    assert bytes(reader.read_range(store.url + "/a", 4, 8, memory)) == b"4567"
    assert len(waits) == 2, "a connection that was open may be closed at any time: that is no fault"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (answers(403), Forbidden),
        (answers(404), NotFound),
        (answers(302), BadRequest),
        (answers(200), BadRequest),
        (answers(206, Content_Range="bytes 0-3/3"), BadRequest),
        (answers_in_chunks(b"0123", b"4"), BadRequest),
    ],
)
def test_lasting_errors_of_ranges_into_memory(
    store: Store, reader: RangeReader, memory: memoryview, fault: Fault, expected: type[MillError]
) -> None:
    store.objects["/a"] = b"0123456789"
    store.faults = [fault]
    with pytest.raises(expected):
        reader.read_range(store.url + "/a?signature=secret", 0, 4, memory)
    assert len(store.requests) == 1
    assert bytes(reader.read_range(store.url + "/a", 0, 4, memory)) == b"0123"


def test_advice_to_wait_for_a_range(store: Store, reader: RangeReader, memory: memoryview, waits: list[float]) -> None:
    store.objects["/a"] = b"0123456789"
    store.faults = [answers(503, Retry_After="7")]
    reader.read_range(store.url + "/a", 0, 4, memory)
    assert waits == [7.0]


def breaks_off_after(count: int) -> Fault:
    def fault(request: BaseHTTPRequestHandler) -> bool:
        request.send_response(206)
        request.send_header("Content-Length", "10")
        request.end_headers()
        request.wfile.write(b"0123456789"[:count])
        request.close_connection = True
        return True

    return fault


def notes(asked: list[str]) -> Fault:
    def fault(request: BaseHTTPRequestHandler) -> bool:
        asked.append(request.headers["Range"])
        return False

    return fault


def test_several_ranges_come_with_one_request(store: Store, reader: RangeReader, memory: memoryview) -> None:
    store.objects["/a"] = b"0123456789"
    wanted = [(1, 3), (3, 4), (6, 9)]
    for _ in range(2):
        assert [bytes(data) for data in reader.read_ranges(store.url + "/a", wanted, memory)] == [b"12", b"3", b"678"]
    assert len(store.requests) == 2


def test_ranges_may_overlap(store: Store, reader: RangeReader, memory: memoryview) -> None:
    store.objects["/a"] = b"0123456789"
    wanted = [(0, 5), (2, 4), (3, 5)]
    assert [bytes(data) for data in reader.read_ranges(store.url + "/a", wanted, memory)] == [b"01234", b"23", b"34"]


def test_of_ranges_that_break_off_the_rest_is_asked_for(
    store: Store, reader: RangeReader, memory: memoryview, waits: list[float]
) -> None:
    store.objects["/a"] = b"0123456789"
    asked: list[str] = []
    store.faults = [breaks_off_after(5), notes(asked)]
    came = [bytes(data) for data in reader.read_ranges(store.url + "/a", [(0, 2), (4, 6), (6, 10)], memory)]
    assert came == [b"01", b"45", b"6789"]
    assert asked == ["bytes=4-9"]
    assert len(waits) == 1


def test_ranges_that_nobody_wants_any_more(store: Store, reader: RangeReader, memory: memoryview) -> None:
    store.objects["/a"] = b"0123456789"
    came = reader.read_ranges(store.url + "/a", [(0, 2), (4, 6)], memory)
    assert bytes(next(came)) == b"01"
    came.close()
    assert bytes(reader.read_range(store.url + "/a", 4, 6, memory)) == b"45"


@pytest.mark.parametrize("then", [answers(403), None])
def test_an_order_whose_url_expires_on_the_way(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: Fault | None
) -> None:
    """What was written before stays, and is not written again."""
    monkeypatch.setattr(fetch_orders, "_PIECE", 4)
    store.objects["/a"] = b"0123456789"
    store.faults = [breaks_off_after(6), *([then] if then else [])]
    contents = [b"01", b"23", b"4567", b"89"]
    places = [
        BlobPlace(digest_of(content), "p", store.objects["/a"].index(content), len(content), len(content), 0)
        for content in contents
    ]
    order = order_of("p", places, [[(content, Kind.FILE, len(content), None)] for content in contents])
    with Target(tmp_path, read_only=False) as into:
        done = fetch_orders.Carrier(into).carry_out(store.url + "/a", order)
        assert done == (2 if then else 4)
        assert sorted(path.name.encode() for path in tmp_path.iterdir()) == contents[:done]
        rest = part_of(order, done, len(contents)) if then else None
        if rest is not None:
            write_range(rest, store.objects["/a"][rest.start : rest.end], lambda start, end: b"", into)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {c.decode(): c.decode() for c in contents}


def test_a_server_that_is_down(plane: DataPlane, store: Store) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(StoreUnavailable):
        plane.get(f"http://127.0.0.1:{port}/a")


def test_a_proxy_is_used_for_others_and_never_for_this_machine(
    store: Store, plane: DataPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.delenv("no_proxy", raising=False)
    plane.put("/a", b"x")
    monkeypatch.setenv("http_proxy", store.url)
    plane.put("http://s3.example.com/through-proxy", b"x")
    assert store.requests[-1] == "PUT http://s3.example.com/through-proxy"


def test_a_proxy_gets_the_password_it_wants(store: Store, plane: DataPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    def note(handler: BaseHTTPRequestHandler) -> bool:
        given.append(handler.headers.get("Proxy-Authorization"))
        return False

    store.faults.append(note)
    monkeypatch.setenv("http_proxy", store.url.replace("://", "://maria:p%40ss@"))
    monkeypatch.delenv("no_proxy", raising=False)
    plane.put("http://s3.example.com/a", b"x")
    assert given == [f"Basic {b64encode(b'maria:p@ss').decode()}"]


def test_a_slow_line_may_take_longer_than_the_timeout() -> None:
    body = bytes(16 << 20)
    with socket.socket() as listener:
        # Small, or the kernel takes nearly all of it at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        reader = threading.Thread(target=_read_slowly, args=(listener, len(body)))
        reader.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        plane = DataPlane(url, policy=RetryPolicy(attempts=1), timeouts=Timeouts(0.5, 10))
        plane.put("/a", body)
        reader.join()
        plane.close()


def test_a_buffer_can_grow_after_sending_it_broke_off() -> None:
    body = bytearray(16 << 20)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        hanging_up = threading.Thread(target=lambda: listener.accept()[0].close())
        hanging_up.start()
        plane = DataPlane(f"http://127.0.0.1:{listener.getsockname()[1]}", policy=RetryPolicy(attempts=1))
        with pytest.raises(StoreUnavailable) as caught:
            plane.put("/a", body)
        hanging_up.join()
        plane.close()
    body.extend(b"more")
    assert caught.value.__cause__ is not None, "what went wrong is still known, and holds nothing"


def _read_slowly(listener: socket.socket, size: int) -> None:
    connection, _ = listener.accept()
    with connection:
        while size > 0 and (got := len(connection.recv(1 << 18))):
            size -= got
            time.sleep(got / (12 << 20))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
