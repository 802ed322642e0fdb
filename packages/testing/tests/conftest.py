import re
from pathlib import Path

import pytest
from hypothesis import Phase, settings

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^`(?P<path>[^`\n]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def readme() -> dict[str, str]:
    """Return every file that the README shows, by its path."""
    found = BLOCK.finditer(README.read_text(encoding="utf-8"))
    return {match["path"]: match["text"] for match in found}


@pytest.fixture
def project(pytester, readme, monkeypatch):
    """Return a pytester with the README's project in it, importable."""
    for path, text in readme.items():
        file = pytester.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return pytester


@pytest.fixture
def unshrunk():
    """Let hypothesis draw the same in every run, and report the first example that fails."""
    settings.register_profile("unshrunk", phases=(Phase.generate,), derandomize=True)
    settings.load_profile("unshrunk")
    yield
    settings.load_profile("default")
