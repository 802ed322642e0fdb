"""The extension contract passes for good extensions, and each of its tests is able to fail."""

import textwrap

import pytest
from dsh_mnemon_testing import ExtensionContract

pytestmark = pytest.mark.requirement("testing:extension-contract")

PRELUDE = """
import itertools

from dsh_mnemon_core.sdk import *
from dsh_mnemon_core.slots import *
from dsh_mnemon_testing import *


class Base(ExtensionContract):
    examples = 30
    slot = "selection"
    target = "*"

    def make_extension(self):
        manifest = ExtensionManifest(
            type_id="mine",
            package_name="mine",
            strategy_type_id=self.target,
            slot=self.slot,
            deterministic=True,
        )
        return ExtensionDefinition(manifest=manifest, contribute=self.contribute)

    @staticmethod
    def contribute(request, sources):
        return {"sourceKeys": sorted(s.source_instance_key for s in sources)}


"""

CASES = {
    "good": ("class TestIt(Base): pass", set()),
    "good capture of a configured Source": (
        """
        class TestIt(Base):
            slot = "capture"
            follows_sources = False

            @staticmethod
            def contribute(request, sources):
                return {"instruction": "Keep.", "actionIds": ["add"], "sourceKeys": ["source:mine"]}
        """,
        set(),
    ),
    "good value of a slot of one Strategy": (
        """
        class TestIt(Base):
            slot = "colour"
            target = "painter"

            def check_value(self, value):
                assert value in ("red", "blue")

            def named_sources(self, value):
                return ()

            @staticmethod
            def contribute(request, sources):
                return "red" if sources else "blue"
        """,
        set(),
    ),
    "a slot nobody checks": (
        """
        class TestIt(Base):
            slot = "colour"
            target = "painter"

            @staticmethod
            def contribute(request, sources):
                return {}
        """,
        {"test_value_fits_its_slot", "test_silent_when_nothing_applies"},
    ),
    "counts its calls": (
        """
        calls = itertools.count(1)

        class TestIt(Base):
            slot = "projection"

            @staticmethod
            def contribute(request, sources):
                return {"maxProjectionCharacters": next(calls)}
        """,
        {"test_contribution_is_pure"},
    ),
    "sorts what it was given": (
        """
        class TestIt(Base):
            @staticmethod
            def contribute(request, sources):
                sources.sort(key=lambda s: s.source_instance_key)
                return {"sourceKeys": [s.source_instance_key for s in sources]}
        """,
        {"test_contribution_is_pure"},
    ),
    "describes instead of naming": (
        """
        class TestIt(Base):
            def check_value(self, value):
                pass

            @staticmethod
            def contribute(request, sources):
                return {"sources": [s.source_instance_key * 4000 for s in sources]}
        """,
        {"test_contribution_is_bounded"},
    ),
    "a value of the wrong shape": (
        """
        class TestIt(Base):
            @staticmethod
            def contribute(request, sources):
                return {"sourceKeys": [s.source_type_id for s in sources]}
        """,
        {"test_value_fits_its_slot", "test_silent_when_nothing_applies"},
    ),
    "raises when there is nothing": (
        """
        class TestIt(Base):
            @staticmethod
            def contribute(request, sources):
                return {"sourceKeys": [sources[0].source_instance_key]}

            def source_sets(self):
                return available_sources().filter(bool)
        """,
        {"test_silent_when_nothing_applies"},
    ),
    "names what nobody installed": (
        """
        class TestIt(Base):
            @staticmethod
            def contribute(request, sources):
                return {"sourceKeys": ["source:ghost"] if sources else []}
        """,
        {"test_silent_when_nothing_applies"},
    ),
    "took a test away": (
        """
        class TestIt(Base):
            test_contribution_is_bounded = None
        """,
        {"test_contract_is_complete"},
    ),
}


def test_every_test_of_the_contract_has_an_extension_that_fails_it():
    failing = set().union(*(failing for _, failing in CASES.values()))
    assert failing == set(ExtensionContract.contract_tests)


@pytest.mark.parametrize("name", CASES)
def test_contract_of_an_extension(pytester, unshrunk, name):
    code, failing = CASES[name]
    file = pytester.makepyfile(PRELUDE + textwrap.dedent(code))
    recorder = pytester.inline_run("-p", "no:cacheprovider", "-q", str(file))
    assert sum(recorder.countoutcomes()) >= 4
    failed = {report.location[2].partition(".")[2] for report in recorder.getfailures()}
    assert failed == failing


def test_factory_that_is_missing_is_named():
    with pytest.raises(NotImplementedError, match="make_extension"):
        ExtensionContract().make_extension()
