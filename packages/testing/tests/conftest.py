import re
import textwrap
from pathlib import Path

import pytest
from dsh_mnemon_testing import SourceContract
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
def project(pytester, readme):
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


PRELUDE = """
import time
from pathlib import Path

import anyio
import attrs
import pytest
from dsh_mnemon_core.sdk import *
from dsh_mnemon_core.errors import *
from dsh_mnemon_core.view import *
from dsh_mnemon_testing import *
from my_notes.source import *
from notes_contract import TestNotes as Notes


class Broken(Notes):
    manifest = MANIFEST

    def make_source(self, tmp_path):
        def create(context):
            return Source(context, tmp_path)

        return SourceDefinition(manifest=self.manifest, create=create)


class TestBroken(Broken):
    pass


"""


@pytest.fixture
def run_contract(project, monkeypatch):
    """Return a function that runs the contract over a Source and tells which tests failed."""
    monkeypatch.setattr("os.fsync", lambda _: None)  # thousands of them, and no power to fail
    suite = (project.path / "tests" / "test_source.py").read_text(encoding="utf-8")
    (project.path / "src" / "notes_contract.py").write_text(suite, encoding="utf-8")

    def run(code: str) -> set[str]:
        file = project.path / "tests" / "test_broken.py"
        file.write_text(PRELUDE + textwrap.dedent(code), encoding="utf-8")
        recorder = project.inline_run("-p", "no:cacheprovider", "-q", str(file))
        assert sum(recorder.countoutcomes()) >= len(SourceContract.contract_tests)
        return {
            report.location[2].partition(".")[2].partition("[")[0]
            for report in recorder.getfailures()
        }

    return run
