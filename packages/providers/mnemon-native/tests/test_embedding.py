"""The embedding service and its failures (spec/mnemon-native.md §10)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_provider_mnemon_native._embedding import Embedder
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import EmbeddingSettings
from dsh_mnemon_source_memory_spaces.provider_sdk.http import MockTransport, Request, Response
from pydantic import SecretStr

pytestmark = pytest.mark.requirement("native:embedding")


class FakeService:
    """Answers as a service does; ``down`` makes it fail."""

    def __init__(self, *, openai: bool = False) -> None:
        self.openai, self.down, self.lists = openai, False, True
        self.requests: list[tuple[str, str, Any]] = []
        self.keys: list[str | None] = []
        self.answer: Any = None
        self.time = 100.0

    def __call__(self, request: Request) -> Response:
        body = json.loads(request.content) if request.content else None
        self.requests.append((request.method, request.url.path, body))
        self.keys.append(request.headers.get("authorization"))
        if self.down:
            return Response(500, json={"error": "down"})
        if request.method == "GET":
            return Response(200 if self.lists else 404, json={})
        if isinstance(self.answer, bytes):
            return Response(200, content=self.answer)
        if self.answer is not None:
            return Response(200, json=self.answer)
        vector = [float(len(body["input"])), 1.0]
        if self.openai:
            return Response(200, json={"data": [{"embedding": vector}]})
        return Response(200, json={"embeddings": [vector]})

    def embedder(self, **settings: Any) -> Embedder:
        url = "http://embed.test/v1" if self.openai else "http://embed.test"
        values = EmbeddingSettings(**{"enabled": True, "endpoint": url, **settings})
        return Embedder(values, transport=MockTransport(self), clock=lambda: self.time)


async def test_ollama_is_probed_once_and_then_asked() -> None:
    service = FakeService()
    embedder = service.embedder(model="tiny")
    assert await embedder.vector("abc") == (3.0, 1.0)
    assert await embedder.vector("abcd") == (4.0, 1.0)
    assert service.requests == [
        ("GET", "/api/tags", None),
        ("POST", "/api/embed", {"model": "tiny", "input": "abc"}),
        ("POST", "/api/embed", {"model": "tiny", "input": "abcd"}),
    ]
    await embedder.aclose()


async def test_openai_gets_the_key_and_may_have_no_list_of_models() -> None:
    service = FakeService(openai=True)
    service.lists = False
    embedder = service.embedder(api_key=SecretStr("key-123456789"))
    assert embedder.protocol == "openai"
    assert await embedder.vector("abc") == (3.0, 1.0)
    assert [path for _, path, _ in service.requests] == [
        "/v1/models",
        "/v1/embeddings",
        "/v1/embeddings",
    ]
    assert set(service.keys) == {"Bearer key-123456789"}
    await embedder.aclose()


@pytest.mark.parametrize(
    ("endpoint", "protocol", "expected"),
    [
        ("http://x/v1/", "auto", "openai"),
        ("http://x/v1/api", "auto", "ollama"),
        ("http://x/v1", "ollama", "ollama"),
        ("http://x", "openai", "openai"),
        ("http://x", "other", "ollama"),
    ],
)
def test_the_protocol_is_named_or_read_from_the_address(
    endpoint: str, protocol: str, expected: str
) -> None:
    settings = EmbeddingSettings(enabled=True, endpoint=endpoint, protocol=protocol)
    assert Embedder(settings).protocol == expected


def test_without_embeddings_the_http_library_is_not_imported(tmp_path: Path) -> None:
    script = f"""
import sys, anyio
from pathlib import Path
from dsh_mnemon_provider_mnemon_native import Config
from dsh_mnemon_provider_mnemon_native._adapter import MnemonNativeAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk import NativeSettings, RememberRequest, SpaceView

async def use() -> None:
    adapter = MnemonNativeAdapter(NativeSettings(data_dir=Path({str(tmp_path)!r})), Config())
    await adapter.create_store("one")
    await adapter.remember(SpaceView(id="one", name="One"), RememberRequest(content="a note"))
    await adapter.aclose()

anyio.run(use)
assert "httpx" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


async def test_first_requests_at_the_same_time_share_a_client() -> None:
    service = FakeService()
    embedder = service.embedder()
    vectors: list[tuple[float, ...] | None] = []

    async def ask(text: str) -> None:
        vectors.append(await embedder.vector(text))

    async with anyio.create_task_group() as tasks:
        for text in ("a", "bb", "ccc"):
            tasks.start_soon(ask, text)
    assert sorted(vector or () for vector in vectors) == [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]
    await embedder.aclose()


async def test_a_service_that_is_off_is_never_asked() -> None:
    service = FakeService()
    assert await service.embedder(enabled=False).vector("abc") is None
    assert service.requests == []


async def test_a_failed_service_is_left_alone_for_a_while() -> None:
    service = FakeService()
    embedder = service.embedder()
    service.down = True
    assert await embedder.vector("abc") is None
    asked = len(service.requests)
    assert await embedder.vector("abc") is None
    assert len(service.requests) == asked
    service.time += 20
    service.down = False
    assert await embedder.vector("abc") == (3.0, 1.0)
    service.down = True
    assert await embedder.vector("abc") is None
    probe = await embedder.probe()
    assert not probe.available
    assert "500" in (probe.error or "")
    await embedder.aclose()


async def test_a_service_that_refuses_costs_no_wait() -> None:
    settings = EmbeddingSettings(enabled=True, endpoint="http://127.0.0.1:1")
    embedder = Embedder(settings)
    assert await embedder.vector("abc") is None
    await embedder.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        {"embeddings": []},
        {"embeddings": [[]]},
        {"embeddings": [["x"]]},
        b'{"embeddings": [[1e999]]}',
        {"embeddings": {"0": [1.0]}},
        ["no object"],
    ],
)
async def test_an_answer_without_a_vector_gives_none(answer: Any) -> None:
    service = FakeService()
    service.answer = answer
    assert await service.embedder().vector("abc") is None


async def test_vectors_link_suggest_and_rank(make_store: Callable[..., MnemonStore]) -> None:
    vectors = {
        "the bright red car": [1.0, 0.0, 0.0],
        "a crimson vehicle": [0.97, 0.1, 0.0],
        "tea in the evening": [0.0, 1.0, 0.0],
        "automobile": [0.9, 0.2, 0.0],
    }

    class Fixed(Embedder):
        async def vector(self, text: str) -> tuple[float, ...] | None:
            found = vectors.get(text)
            return tuple(found) if found else None

    store = make_store(embedder=Fixed(EmbeddingSettings(enabled=True)))
    await store.remember(NewInsight(content="the bright red car"))
    done = await store.remember(NewInsight(content="a crimson vehicle"))
    assert done.outcome.suggestion == "DUPLICATE"
    assert (done.outcome.embedded, done.outcome.edges.semantic) == (True, 2)
    assert [(one.row.id, one.auto_linked) for one in done.semantic] == [("n1", True)]
    done = await store.remember(NewInsight(content="tea in the evening"))
    assert (done.outcome.suggestion, done.outcome.edges.semantic, done.semantic) == ("ADD", 0, [])
    done = await store.remember(NewInsight(content="no vector at all"))
    assert not done.outcome.embedded
    recalled = await store.recall(Query(text="automobile"))
    assert [row.id for row, _ in recalled.rows[:2]] in (["n1", "n2"], ["n2", "n1"])
