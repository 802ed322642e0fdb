import anyio
import pytest
from dsh_mnemon_core._engine.manage import (
    execute_management,
    management_catalog,
    management_revision,
)
from dsh_mnemon_core.errors import ConflictError, ContractError, MnemonError, SourceFault
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ManagementRequest, ManagementResult

SCOPE = OperationScope(storage="custom")
ALPHA = "source:alpha"


def request(**fields):
    plain = {
        "source_instance_key": ALPHA,
        "scope": SCOPE,
        "mode": "mutate",
        "operation": "clean",
        "input": {},
        "expected_revision": "r1",
        "confirmed": True,
    }
    return ManagementRequest(**{**plain, **fields})


async def refusal(generation, **fields):
    with pytest.raises(MnemonError) as caught:
        await execute_management(generation, request(**fields))
    return caught.value.code


async def away(source, _request):
    return source.known(availability="unavailable", hints={"reason": "damaged"})


class TestCatalog:
    async def test_it_lists_the_manageable_sources_without_host_ceilings(self, bench):
        async def facts(source, request):
            assert request.scenario == "management.catalog"
            return source.known(hints={"entries": [3]})

        generation = bench.generation(
            bench.source(facts=facts),
            bench.source("silent", manifest={"management": None}),
            source_capabilities=lambda _record: (),
        )
        assert await management_catalog(generation, SCOPE) == {
            "generationId": generation.id,
            "sources": [
                {
                    "sourceInstanceKey": ALPHA,
                    "sourceTypeId": "alpha",
                    "packageName": "bench-alpha",
                    "role": "working-context",
                    "availability": "ready",
                    "revision": "r1",
                    "capabilities": ["project", "search", "write"],
                    "management": {"label": "Bench"},
                    "hints": {"entries": [3]},
                }
            ],
            "diagnostics": [],
        }

    async def test_a_source_that_fails_is_listed_with_its_diagnostic(self, bench):
        async def fail(_source, _request):
            raise OSError("secret")

        both = bench.source("beta", facts=fail), bench.source("alpha", facts=fail)
        catalog = await management_catalog(bench.generation(*both), SCOPE)
        assert [row["availability"] for row in catalog["sources"]] == ["unavailable"] * 2
        assert [d["contributionInstanceKey"] for d in catalog["diagnostics"]] == [
            ALPHA,
            "source:beta",
        ]
        assert "hints" not in catalog["sources"][0]


class TestRevision:
    async def test_it_is_the_facts_revision(self, bench):
        assert await management_revision(bench.generation(bench.source()), ALPHA, SCOPE) == "r1"

    async def test_of_an_unknown_source(self, bench):
        with pytest.raises(MnemonError) as caught:
            await management_revision(bench.generation(bench.source()), "source:gone", SCOPE)
        assert caught.value.code == "management-unsupported"


class TestOperation:
    async def test_the_source_gets_the_request_frozen(self, bench):
        seen = []

        async def manage(_source, sent):
            seen.append(sent)
            return ManagementResult(revision=" r2 ", value={"a": [1]})

        generation = bench.generation(bench.source(manage=manage))
        result = await execute_management(
            generation, request(operation=" clean ", input={"ids": ["a"]})
        )
        assert (result.revision, result.value) == ("r2", {"a": (1,)})
        (sent,) = seen
        assert (sent.operation, sent.input, sent.expected_revision) == (
            "clean",
            {"ids": ("a",)},
            "r1",
        )

    @pytest.mark.requirement("core:management:fence")
    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"source_instance_key": "alpha"}, "instance-key-format"),
            ({"operation": "Clean"}, "id-format"),
            ({"mode": "delete"}, "management-mode-unsupported"),
            ({"confirmed": 1}, "management-unconfirmed"),
            ({"expected_revision": None}, "management-unconfirmed"),
            ({"expected_revision": " "}, "management-unconfirmed"),
            ({"source_instance_key": "source:gone"}, "management-unsupported"),
            ({"expected_revision": "r0"}, "management-revision-conflict"),
            ({"input": {1}}, "json-non-json-value"),
        ],
    )
    async def test_refusals_reach_no_source(self, bench, fields, code):
        seen = []

        async def manage(_source, sent):
            seen.append(sent)

        assert await refusal(bench.generation(bench.source(manage=manage)), **fields) == code
        assert seen == []

    async def test_checks_stand_in_order(self, bench):
        bare = bench.generation(bench.source(absent=("manage",)))
        assert await refusal(bare, operation="?", mode="?") == "id-format"
        assert await refusal(bare, mode="?", confirmed=False) == "management-mode-unsupported"
        assert await refusal(bare, confirmed=False) == "management-unconfirmed"
        assert await refusal(bare, expected_revision="r0") == "management-unsupported"

    async def test_descriptor_and_callback_are_both_needed(self, bench):
        bare = bench.generation(bench.source(absent=("manage",)))
        assert await refusal(bare, mode="read") == "management-unsupported"
        hidden = bench.generation(bench.source(manifest={"management": None}))
        assert await refusal(hidden, mode="read") == "management-unsupported"

    @pytest.mark.requirement("core:management:damaged")
    async def test_an_unavailable_source_can_be_read_and_not_changed(self, bench):
        generation = bench.generation(bench.source(facts=away))
        assert await refusal(generation) == "management-source-unavailable"
        read = request(mode="read", confirmed=False, expected_revision=None)
        assert (await execute_management(generation, read)).value == {"did": "clean"}

    async def test_host_ceilings_do_not_apply(self, bench):
        generation = bench.generation(bench.source(), source_capabilities=lambda _record: ())
        assert (await execute_management(generation, request())).revision == "r2"

    async def test_errors_of_the_source(self, bench):
        async def foreign(_source, _request):
            raise KeyError("secret")

        async def ours(_source, _request):
            raise ConflictError("own-code", "told")

        with pytest.raises(SourceFault) as caught:
            await execute_management(bench.generation(bench.source(manage=foreign)), request())
        assert caught.value.code == "source-manage-raised"
        with pytest.raises(ConflictError):
            await execute_management(bench.generation(bench.source(manage=ours)), request())

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            ({"revision": "r2"}, "not-an-object"),
            (ManagementResult(revision="", value=1), "text-required"),
            (ManagementResult(revision="r2", value={1}), "json-non-json-value"),
        ],
    )
    async def test_malformed_answers(self, bench, answer, code):
        async def manage(_source, _request):
            return answer

        with pytest.raises(ContractError) as caught:
            await execute_management(bench.generation(bench.source(manage=manage)), request())
        assert caught.value.code == code

    async def test_a_hanging_source_cannot_be_changed(self, bench):
        async def hang(_source, _request):
            await anyio.sleep_forever()

        generation = bench.generation(bench.source(facts=hang), source_timeout_ms=1)
        assert await refusal(generation) == "management-source-unavailable"
