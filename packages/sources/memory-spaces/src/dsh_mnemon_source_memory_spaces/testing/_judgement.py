"""What any answer of a Provider must look like."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import attrs
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.values import json_clone

from dsh_mnemon_source_memory_spaces.provider_sdk import Graph, Insight, ProviderManifest, Result

_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")


def check_insights(items: Iterable[Insight], manifest: ProviderManifest, where: str) -> None:
    """Check the items of one answer: their ids, contents, types and scores."""
    seen: set[str] = set()
    for item in items:
        assert isinstance(item, Insight), f"{where}: {type(item).__name__} is no Insight"
        assert isinstance(item.id, str), f"{where}: an id is {item.id!r}"
        assert item.id, f"{where}: an id is empty"
        assert item.id not in seen, f"{where}: the id {item.id} occurs twice"
        assert isinstance(item.content, str), f"{where}: the content of {item.id} is no text"
        assert item.content.strip(), f"{where}: the content of {item.id} is blank"
        _check_score(item, manifest, where)
        json_clone(plain(item), f"{where}: {item.id}")
        seen.add(item.id)


def _check_score(item: Insight, manifest: ProviderManifest, where: str) -> None:
    if manifest.score_semantics == "none":
        assert item.score is None, f"{where}: {item.id} has a score, the manifest says none"
    if item.score is None:
        return
    assert math.isfinite(item.score), f"{where}: the score of {item.id} is {item.score}"
    if manifest.score_semantics == "normalized-relevance":
        assert 0 <= item.score <= 1, f"{where}: the score of {item.id} is {item.score}"


def check_graph(graph: Graph) -> None:
    """Check one page of a graph: nodes once, colours, and edges between nodes it shows."""
    ids = [node.id for node in graph.nodes]
    assert len(ids) == len(set(ids)), "a node occurs twice"
    for color in [node.color for node in graph.nodes] + [edge.color for edge in graph.edges]:
        assert _COLOR.fullmatch(color), f"{color!r} is no colour"
    if graph.next_cursor is None:
        for edge in graph.edges:
            assert {edge.source_id, edge.target_id} <= {*ids}, f"{edge} joins what is not shown"
    json_clone(plain(graph), "graph")


def check_result(result: Result, where: str) -> Mapping[str, Any]:
    """Check the answer to a write: a JSON object that says what was done."""
    assert isinstance(cast("object", result), Mapping), f"{where}: {result!r} is no object"
    json_clone(result, where)
    words = [result.get(key) for key in ("action", "status", "state")]
    assert any(isinstance(word, str) and word for word in words), f"{where}: no action or status"
    return result


def plain(value: object) -> Any:
    """Return an answer as plain JSON values, ``None`` left out."""
    if attrs.has(value.__class__):
        fields = attrs.asdict(cast("Any", value), recurse=False)
        return {key: plain(item) for key, item in fields.items() if item is not None}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("list[object]", value)]
    return value


def texts(value: object) -> str:
    """Return everything an answer or an error says, for a search of secrets."""
    if isinstance(value, MnemonError):
        return repr((value.to_wire(), str(value), value))
    if isinstance(value, BaseException):
        return repr((value, str(value)))
    return repr(plain(value)) + repr(value)
