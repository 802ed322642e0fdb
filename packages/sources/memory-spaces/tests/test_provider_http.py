"""The HTTP client of Providers: deadline, repetitions, limits, errors, secrets."""

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import httpx  # noqa: TID251 - its failures are made here
import pytest
from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderBusy,
    ProviderConflict,
    ProviderError,
    ProviderForbidden,
    ProviderNotConfigured,
    ProviderNotFound,
    ProviderProtocol,
    ProviderQuota,
    ProviderRejected,
    ProviderServerError,
    ProviderTimeout,
    ProviderUnauthenticated,
    ProviderUnavailable,
    WriteOutcomeUnknown,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.http import (
    MAX_ANSWER,
    HttpClient,
    MockTransport,
    Request,
    Response,
    Service,
    bearer,
    first_array,
    segment,
)

pytestmark = pytest.mark.requirement("memory-spaces:provider-http")

HOME = Service(endpoint="http://memory.test/api/")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Handler = Callable[[Request], Any]


class Net:
    """A service that answers from a list, and the waits between the questions."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.waits: list[float] = []

    async def answer(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return await answer(request) if callable(answer) else answer

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def client(self, chance: float = 0.5, timeout_ms: int = 15_000) -> HttpClient:
        return HttpClient(
            "Mem",
            timeout_ms=timeout_ms,
            transport=MockTransport(self.answer),
            sleep=self.sleep,
            chance=lambda: chance,
            now=lambda: NOW,
        )


async def never(_: Request) -> Response:
    await anyio.sleep_forever()
    raise AssertionError


def busy(status: int = 503, after: str | None = None) -> Response:
    return Response(status, headers={} if after is None else {"Retry-After": after})


async def test_a_read_is_a_get_and_its_answer_is_parsed() -> None:
    net = Net(Response(200, json={"items": [1]}))
    reply = await net.client().read(HOME, "/v1/items", query={"limit": 5, "on": True, "off": None})
    assert (reply.status, reply.payload) == (200, {"items": [1]})
    [request] = net.requests
    assert (request.method, str(request.url)) == (
        "GET",
        "http://memory.test/api/v1/items?limit=5&on=true",
    )
    assert "content-type" not in request.headers
    assert request.headers["user-agent"] == "dsh-mnemon"


async def test_a_body_makes_a_read_a_post() -> None:
    net = Net(Response(200, json=[]))
    await net.client().read(HOME, "/search", body={"query": "二号"})
    [request] = net.requests
    assert request.method == "POST"
    assert request.headers["content-type"] == "application/json"
    assert request.content == '{"query": "二号"}'.encode()


@pytest.mark.parametrize(
    ("content", "payload"),
    [
        (b"", {}),
        (b"  \n", {}),
        (b"<html>", "<html>"),
        (b"null", None),
        ("\ufeff[1]".encode(), [1]),
        (b'{"score": NaN}', '{"score": NaN}'),
        (b"\xff", "\ufffd"),
    ],
)
async def test_any_body_of_a_success_is_read(content: bytes, payload: Any) -> None:
    reply = await Net(Response(200, content=content)).client().read(HOME, "/x")
    assert reply.payload == payload


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a": "\\ud800"}', b"[" * 60 + b"]" * 60])
async def test_json_that_cannot_be_used_is_no_success(content: bytes) -> None:
    with pytest.raises(ProviderProtocol):
        await Net(Response(200, content=content)).client().read(HOME, "/x")
    with pytest.raises(WriteOutcomeUnknown):
        await Net(Response(200, content=content)).client().write(HOME, "/x")


@pytest.mark.parametrize(
    ("status", "read", "write"),
    [
        (400, ProviderRejected, ProviderRejected),
        (401, ProviderUnauthenticated, ProviderUnauthenticated),
        (402, ProviderQuota, ProviderQuota),
        (403, ProviderForbidden, ProviderForbidden),
        (404, ProviderNotFound, ProviderNotFound),
        (408, ProviderTimeout, WriteOutcomeUnknown),
        (409, ProviderConflict, ProviderConflict),
        (412, ProviderBusy, ProviderBusy),
        (418, ProviderRejected, ProviderRejected),
        (422, ProviderRejected, ProviderRejected),
        (429, ProviderBusy, ProviderBusy),
        (500, ProviderServerError, WriteOutcomeUnknown),
        (502, ProviderServerError, WriteOutcomeUnknown),
        (503, ProviderBusy, WriteOutcomeUnknown),
        (504, ProviderServerError, WriteOutcomeUnknown),
    ],
)
async def test_every_status_has_its_error(
    status: int, read: type[ProviderError], write: type[ProviderError]
) -> None:
    answers = [Response(status, json={"message": "no"}) for _ in range(4)]
    net = Net(*answers)
    with pytest.raises(ProviderError) as caught:
        await net.client().read(HOME, "/x")
    assert type(caught.value) is read
    assert caught.value.message == f"Mem HTTP {status}: no"
    assert caught.value.details["status"] == status
    repeated = status in (429, 502, 503, 504)
    assert len(net.requests) == (3 if repeated else 1)
    net = Net(*answers)
    with pytest.raises(ProviderError) as caught:
        await net.client().write(HOME, "/x", reference={"document": "d1"})
    assert type(caught.value) is write
    assert len(net.requests) == 1, "a write that was sent is not repeated"
    assert (caught.value.details.get("document") == "d1") is (write is WriteOutcomeUnknown)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"message": "m", "error": "e"}, ": m"),
        ({"error": "e", "detail": "d"}, ": e"),
        ({"detail": "d"}, ": d"),
        ({"message": " ", "error": {"message": "inner"}}, ": inner"),
        ({"error": {"detail": "deep"}}, ": deep"),
        (
            {"detail": [{"loc": ["body", "limit"], "msg": "too big"}, {"msg": "odd"}, "x", 3]},
            ": body.limit: too big; odd; x",
        ),
        ({"detail": [{"loc": ["body"], "msg": 7}]}, ": body"),
        ({"detail": [{"msg": "y" * 400}]}, ": " + "y" * 299 + "…"),
        ({"detail": []}, ""),
        ({"error": {"code": 7}}, ""),
        ([1, 2], ""),
        ("", ""),
    ],
)
async def test_the_detail_of_an_error_is_found(body: Any, detail: str) -> None:
    content = b"" if body == "" else json.dumps(body).encode()
    with pytest.raises(ProviderRejected) as caught:
        await Net(Response(400, content=content)).client().read(HOME, "/x")
    assert caught.value.message == f"Mem HTTP 400{detail}"


async def test_plain_text_is_a_detail_too() -> None:
    with pytest.raises(ProviderRejected) as caught:
        await Net(Response(400, text=" bad\n  gateway ")).client().read(HOME, "/x")
    assert caught.value.message == "Mem HTTP 400: bad gateway"


async def test_an_unusable_error_body_is_left_out() -> None:
    with pytest.raises(ProviderRejected) as caught:
        await Net(Response(400, content=b'{"message": "\\ud800"}')).client().read(HOME, "/x")
    assert caught.value.message == "Mem HTTP 400"


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
async def test_a_read_is_repeated_twice_with_spread(chance: float) -> None:
    net = Net(busy(429), httpx.ConnectError("refused"), Response(200, json={"ok": 1}))
    assert (await net.client(chance).read(HOME, "/x")).payload == {"ok": 1}
    spread = 0.8 + 0.4 * chance
    assert net.waits == pytest.approx([0.2 * spread, 0.6 * spread])


@pytest.mark.parametrize(
    ("after", "wait"),
    [
        ("2", 2.0),
        ("0", 0.2),
        ("5", 5.0),
        ("6", None),
        ("Fri, 02 Jan 2026 03:04:08 GMT", 3.0),
        ("Fri, 02 Jan 2026 03:04:08 -0000", 3.0),
        ("Fri, 02 Jan 2026 03:04:00 GMT", 0.2),
        ("soon", 0.2),
    ],
)
async def test_retry_after_is_honoured_up_to_five_seconds(after: str, wait: float | None) -> None:
    net = Net(busy(503, after), Response(200, json={}))
    client = net.client()
    if wait is None:
        with pytest.raises(ProviderBusy) as caught:
            await client.read(HOME, "/x")
        assert caught.value.details["retryAfterSeconds"] == 6
        assert net.waits == []
    else:
        await client.read(HOME, "/x")
        assert net.waits == pytest.approx([wait])


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    net = Net(busy(503, "3"), Response(200, json={}))
    with pytest.raises(ProviderBusy):
        await net.client(timeout_ms=2_000).read(HOME, "/x")
    assert net.waits == []


async def test_a_write_is_repeated_when_nothing_was_sent() -> None:
    net = Net(httpx.ConnectError("refused"), Response(201, json={"id": 1}))
    reply = await net.client().write(HOME, "/x", method="PUT")
    assert (reply.status, [request.method for request in net.requests]) == (201, ["PUT"] * 2)


async def test_a_write_with_an_idempotency_key_is_repeated() -> None:
    net = Net(busy(503), busy(429), Response(200, json={}))
    await net.client().write(HOME, "/x", repeatable=True)
    assert len(net.requests) == 3


async def test_a_write_nobody_received_did_not_happen() -> None:
    net = Net(*[httpx.ConnectError("refused") for _ in range(3)])
    with pytest.raises(ProviderUnavailable):
        await net.client().write(HOME, "/x")


@pytest.mark.parametrize(
    "error",
    [
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("closed"),
        httpx.DecodingError("no gzip"),
        httpx.WriteError("reset"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_lost_connection_leaves_a_write_open(error: Exception) -> None:
    with pytest.raises(ProviderTimeout):
        await Net(error).client().read(HOME, "/x")
    with pytest.raises(WriteOutcomeUnknown) as caught:
        await Net(error).client().write(HOME, "/x", reference={"id": "a"})
    assert caught.value.details["id"] == "a"


async def test_a_request_the_library_refuses_did_not_happen() -> None:
    for error in (httpx.LocalProtocolError("bad header"), httpx.UnsupportedProtocol("what")):
        with pytest.raises(ProviderRejected):
            await Net(error).client().write(HOME, "/x")


async def test_one_deadline_covers_everything() -> None:
    net = Net(busy(503), never)
    with pytest.raises(ProviderTimeout) as caught:
        await net.client().read(HOME, "/x", timeout_ms=400)
    assert caught.value.message == "Mem request timed out after 400ms"
    assert len(net.requests) == 2
    with pytest.raises(WriteOutcomeUnknown) as unknown:
        await Net(never).client(timeout_ms=50).write(HOME, "/x")
    assert unknown.value.message == "Mem request timed out after 50ms"


async def test_a_slow_body_is_cut_off_too() -> None:
    async def trickle() -> Any:
        yield b"["
        await anyio.sleep_forever()

    with pytest.raises(ProviderTimeout):
        await Net(Response(200, content=trickle())).client(timeout_ms=50).read(HOME, "/x")


async def test_cancellation_passes_and_sends_nothing_when_it_was_first() -> None:
    net = Net(never)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await net.client().read(HOME, "/x")
    assert scope.cancelled_caught
    assert net.requests == []
    with anyio.move_on_after(0.05) as scope:
        await net.client().write(HOME, "/x")
    assert scope.cancelled_caught


async def test_an_answer_is_read_up_to_its_limit() -> None:
    read = 0

    async def flood() -> Any:
        nonlocal read
        for _ in range(1_000):
            read += 1
            yield b"x" * 1_048_576

    with pytest.raises(ProviderProtocol):
        await Net(Response(200, content=flood())).client().read(HOME, "/x")
    assert read == 9  # chunks of 1 MiB
    with pytest.raises(WriteOutcomeUnknown):
        await Net(Response(200, content=flood())).client().write(HOME, "/x")
    whole = b'"' + b"x" * (MAX_ANSWER - 2) + b'"'
    reply = await Net(Response(200, content=whole)).client().read(HOME, "/x")
    assert len(reply.payload) == MAX_ANSWER - 2


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("location", "named"),
    [("https://login.test/in?key=k", "login.test"), ("/there", "another path"), ("http://[", "an")],
)
async def test_no_redirect_is_followed(write: bool, location: str, named: str) -> None:
    net = Net(Response(307, headers={"Location": location}))
    client = net.client()
    with pytest.raises(ProviderRejected) as caught:
        await (client.write(HOME, "/x") if write else client.read(HOME, "/x"))
    assert named in caught.value.message
    assert "key" not in caught.value.message
    assert len(net.requests) == 1


async def test_cookies_are_not_kept() -> None:
    net = Net(Response(200, headers={"Set-Cookie": "tenant=a"}), Response(200))
    client = net.client()
    await client.read(HOME, "/x")
    await client.read(HOME, "/x")
    assert "cookie" not in net.requests[1].headers


async def test_no_message_holds_a_key() -> None:
    key = "Bearer s3cret-of-mine"
    service = Service(
        endpoint="http://memory.test",
        headers={"X-API-Key": "header-key-1", **bearer(key)},
        secrets=("body secret/1",),
    )
    text = "got s3cret-of-mine, header-key-1 and body%20secret%2F1"
    with pytest.raises(ProviderRejected) as caught:
        await Net(Response(400, json={"message": text})).client().read(service, "/x")
    assert caught.value.message == "Mem HTTP 400: got [redacted], [redacted] and [redacted]"
    assert "s3cret" not in repr(service)
    assert "header-key" not in repr(service)
    with pytest.raises(ProviderUnavailable) as unreachable:
        await (
            Net(*[httpx.ConnectError("header-key-1") for _ in range(3)])
            .client()
            .read(service, "/x")
        )
    assert "header-key-1" not in unreachable.value.message


async def test_what_cannot_be_asked_is_not_sent() -> None:
    net = Net()
    client = net.client()
    with pytest.raises(ProviderNotConfigured):
        await client.read(Service(endpoint=" / "), "/x")
    for endpoint in ("ftp://memory.test", "memory.test", "http://a:b@memory.test", "http://[x"):
        with pytest.raises(ProviderRejected):
            await client.read(Service(endpoint=endpoint), "/x")
    with pytest.raises(ProviderRejected):
        await client.read(HOME, "x")
    for key in ("“quoted”", "two\nlines"):
        headers = {"X-API-Key": key}
        with pytest.raises(ProviderRejected) as caught:
            await client.read(Service(endpoint="http://memory.test", headers=headers), "/x")
        assert key not in caught.value.message
    for body in (math.nan, {"text": "\ud800"}, {1, 2}):
        with pytest.raises(ProviderRejected):
            await client.read(HOME, "/x", body=body)
    assert net.requests == []


async def test_a_closed_client_is_not_opened_again() -> None:
    client = Net(Response(200)).client()
    await client.read(HOME, "/x")
    await client.aclose()
    await client.aclose()
    with pytest.raises(LifecycleError):
        await client.read(HOME, "/x")


async def test_an_unused_client_closes() -> None:
    await Net().client().aclose()


async def test_it_ignores_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.listeners[0].extra(anyio.abc.SocketAttribute.local_port)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    client = HttpClient("Mem", timeout_ms=10_000)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        service = Service(endpoint=f"http://127.0.0.1:{port}")
        assert (await client.read(service, "/health")).payload is True
        tasks.cancel_scope.cancel()
    await client.aclose()


async def test_a_port_nobody_listens_on_is_unavailable() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.listeners[0].extra(anyio.abc.SocketAttribute.local_port)
    net = Net()
    client = HttpClient("Mem", sleep=net.sleep)
    with pytest.raises(ProviderUnavailable):
        await client.write(Service(endpoint=f"http://127.0.0.1:{port}"), "/x")
    assert len(net.waits) == 2
    await client.aclose()


def test_the_first_array_is_found() -> None:
    assert first_array([1], "items", label="Mem") == [1]
    assert first_array({"items": 3, "results": [2]}, "items", "results", label="Mem") == [2]
    assert first_array({"data": {"items": [3]}}, "items", label="Mem") == [3]
    assert first_array({"data": [4]}, "data", label="Mem") == [4]
    assert first_array({"data": [4]}, "items", label="Mem") == []
    for page in ("<html>", None, 3):
        with pytest.raises(ProviderProtocol):
            first_array(page, "items", label="Mem")


def test_a_key_is_stripped_of_its_scheme() -> None:
    assert bearer("  bearer   abc ") == {"Authorization": "Bearer abc"}
    assert bearer("Token abc") == {"Authorization": "Bearer abc"}
    assert bearer("abc") == {"Authorization": "Bearer abc"}
    assert bearer(" ") == {}


def test_a_segment_is_escaped_whole() -> None:
    assert segment("a/b c?#%二") == "a%2Fb%20c%3F%23%25%E4%BA%8C"
