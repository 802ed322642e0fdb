"""The names a text speaks of (spec/mnemon-native.md §5.3). Pure but for the set of known ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from dsh_mnemon_provider_mnemon_native._write.limits import EntityMode

__all__ = ("Known", "extract", "resolve")

Known = Callable[[Collection[str]], frozenset[str]]
"""Tells which of some words are an entity of an active insight."""

_PATTERNS: Final = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"\b([A-Z][a-z]+(?:[A-Z][a-z]+)+)\b",
        r"\b([A-Z]{2,6})\b",
        r"(?:^|[\s\"'`(])([.\w/-]+\.\w{1,10})(?:[\s\"'`),.]|\Z)",
        r"(https?://[^\s\"'<>)]+)",
        r"@([A-Za-z_]\w+)",
        # What no mark closes is read once, up to the end, and not from each mark that opens it.
        r"[《「](?:([^》」]+)[》」]|[^》」]*\Z)",
    )
)
_RUN: Final = re.compile(r"[A-Za-z0-9]+")
_CAPITALISED: Final = re.compile(r"[A-Z][a-zA-Z0-9]+")

_NOT_ACRONYM_TEXT: Final = (
    "IN ON AT TO BY OR AN IF IS IT OF AS DO NO SO UP WE HE MY BE GO THE AND FOR ARE BUT NOT YOU "
    "ALL CAN HER WAS ONE OUR OUT HAS HAD HOW MAN NEW NOW OLD SEE WAY MAY SAY SHE TWO USE BOY DID "
    "GET HIM HIS LET PUT TOP TOO ANY"
)
_NOT_ACRONYMS: Final = frozenset(_NOT_ACRONYM_TEXT.split())

_DICTIONARY_TEXT: Final = (
    "Go Rust Python Java Kotlin Swift Ruby Elixir Zig Lua Dart Scala Perl Haskell OCaml Julia "
    "Clojure JavaScript TypeScript React Vue Angular Svelte Next Nuxt Node Deno Bun Vite Webpack "
    "SQLite PostgreSQL Postgres MySQL Redis MongoDB DynamoDB Cassandra Qdrant Milvus Chroma "
    "Pinecone Neo4j Weaviate Elasticsearch Docker Kubernetes Terraform Ansible Nginx Caddy Kafka "
    "RabbitMQ AWS GCP Azure Vercel Netlify Cloudflare Supabase Firebase Ollama OpenAI Claude "
    "Anthropic PyTorch TensorFlow LangChain LlamaIndex FAISS Hugging Git GitHub GitLab Cobra "
    "FastAPI Flask Django Rails Spring Express Gin Echo Fiber Pytest Jest Vitest gRPC GraphQL "
    "WebSocket OAuth JWT YAML TOML Protobuf MAGMA MCP RLM"
)
_DICTIONARY: Final = frozenset(_DICTIONARY_TEXT.split())


def _candidates(text: str, known: Known) -> Iterator[str]:
    for pattern in _PATTERNS:
        found: Iterable[str] = filter(None, pattern.findall(text))
        yield from (word for word in found if word not in _NOT_ACRONYMS)
    runs = _RUN.findall(text)
    yield from (word for word in runs if word in _DICTIONARY)
    capitalised = _CAPITALISED.findall(text)
    named = known(frozenset(capitalised) | frozenset(runs))
    yield from (word for word in capitalised + runs if word in named - _NOT_ACRONYMS)


def extract(text: str, known: Known) -> tuple[str, ...]:
    """Return the entities of a text, each once, in the order of the rules that find them."""
    return tuple(dict.fromkeys(_candidates(text, known)))


def resolve(
    text: str, provided: tuple[str, ...], mode: EntityMode, known: Known
) -> tuple[str, ...]:
    """Return the entities an insight gets: the provided ones first, each once, no empty one."""
    found = () if mode == "provided" else extract(text, known)
    given = () if mode == "auto" else provided
    return tuple(filter(None, dict.fromkeys(given + found)))
