"""What opens Hosts over temporary folders, and a Source that does what a test tells it."""

import json
import sys
from types import ModuleType

import anyio
import attrs
import pytest
from dsh_mnemon_core.profile import Profile, Row
from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    ActionManifest,
    Contribution,
    Contributions,
    Evidence,
    EvidenceItem,
    Fragment,
    Guidance,
    ManagementResult,
    Plugin,
    ProjectionSpec,
    ReadGrant,
    Receipt,
    RouteManifest,
    SourceDefinition,
    SourceFacts,
    SourceManifest,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    ViewSpec,
    create_receipt,
    install_memory,
)
from dsh_mnemon_core.view import Reminders
from dsh_mnemon_host import MemoryHost
from dsh_mnemon_source_memory_spaces.testing import (
    ReferenceService,
    reference_manifest,
    reference_provider,
)
from pydantic import BaseModel, ConfigDict


@pytest.fixture
def anyio_backend():
    return "asyncio"


HOST = Row(id="mnemon", module="dsh_mnemon_host")
RUNTIME = Row(id="mnemon-source-runtime", module="dsh_mnemon_source_runtime")
LAYERED = Row(
    id="mnemon-strategy-default-three-tier", module="dsh_mnemon_strategy_default_three_tier"
)
GENERAL = Row(id="mnemon-strategy-general", module="dsh_mnemon_strategy_general")
DOCUMENTS = Row(id="mnemon-source-documents", module="dsh_mnemon_source_documents")
SPACES = Row(id="mnemon-source-memory-spaces", module="dsh_mnemon_source_memory_spaces")


class AnyConfig(BaseModel):
    """Options of a plugin that takes whatever it is given."""

    model_config = ConfigDict(extra="allow", frozen=True)


@attrs.frozen
class Home:
    """Where a test's Hosts live, and how they are opened."""

    workspace: object
    data: object
    settings: object
    monkeypatch: pytest.MonkeyPatch

    def open(self, *rows, settings=None, **options):
        """Open a Host; without rows over the Runtime Source and the Layered Strategy."""
        if settings is not None:
            self.settings.write_text(settings, encoding="utf-8")
        given = {
            "profile": Profile(rows=(HOST, *(rows or (RUNTIME, LAYERED)))),
            "workspace": self.workspace,
            "settings": self.settings,
            "env": {"MNEMON_DATA_DIR": str(self.data)},
            "home": self.data.parent,
        }
        return MemoryHost.open(**{**given, **options})

    def row(self, name, contributions=None, *, plugin=None, config=None):
        """Make a module that exposes a plugin, and return a row that names it."""

        def apply(ctx, _config):
            install_memory(ctx, contributions)

        module = ModuleType(name)
        module.plugin = plugin or Plugin(
            name=name, apply=apply, config_model=AnyConfig, requires=(MEMORY_SERVICE,)
        )
        self.monkeypatch.setitem(sys.modules, name, module)
        return Row(id=name, module=name, config=config or {})

    def stored(self, root=None):
        """Return the entries on disk."""
        file = (root or self.data) / "runtime" / "memories.json"
        return json.loads(file.read_text(encoding="utf-8"))["entries"] if file.exists() else []


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with a workspace; the data folder does not exist yet."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Home(workspace, tmp_path / "data", tmp_path / "settings.yaml", monkeypatch)


@attrs.define
class Told:
    """What the told Source answers, and where it waits."""

    key: str | None = None
    text: str = "TOLD"
    revision: str = "r1"
    availability: str = "ready"
    hints: object = None
    answer: object = attrs.field(factory=lambda: {"success": True})
    failures: dict = attrs.field(factory=dict)
    holds: dict = attrs.field(factory=dict)
    entered: dict = attrs.field(factory=dict)
    calls: list = attrs.field(factory=list)
    disposal: Exception | None = None
    disposed: int = 0

    def hold(self, phase):
        """Let calls of one phase wait; the answer lets them go on."""
        self.entered[phase] = anyio.Event()
        self.holds[phase] = anyio.Event()
        return self.holds[phase].set

    async def reached(self, phase):
        """Wait until a call of the phase is waiting."""
        with anyio.fail_after(5):
            await self.entered[phase].wait()

    async def pass_through(self, phase, what=None):
        self.calls.append((phase, what))
        if phase in self.holds:
            self.entered[phase].set()
            await self.holds[phase].wait()
        if phase in self.failures:
            raise self.failures[phase]


class ToldSource:
    """The Source runtime over a `Told`."""

    def __init__(self, told, manifest, key, granted):
        if "create" in told.failures:
            raise told.failures["create"]
        self.granted = granted
        self.told = told
        self.manifest = manifest
        self.key = told.key = key

    async def facts(self, request):
        await self.told.pass_through("facts", request.scope)
        return SourceFacts(
            source_instance_key=self.key,
            source_type_id=self.manifest.type_id,
            role=self.manifest.role,
            availability=self.told.availability,
            revision=self.told.revision,
            capabilities=self.manifest.capabilities,
            route_ids=tuple(route.id for route in self.manifest.routes),
            action_ids=tuple(action.id for action in self.manifest.actions),
            hints=self.told.hints,
        )

    async def project(self, request):
        await self.told.pass_through("project")
        fragment = Fragment(
            id="told",
            source_instance_key=self.key,
            mode=request.mode or "eager",
            text=self.told.text,
            revision=request.expected_revision,
            provenance={"sourceTypeId": self.manifest.type_id},
        )
        grant = ReadGrant(
            id=f"{self.key}/grant",
            source_instance_key=self.key,
            schema=f"dsh-mnemon.{self.manifest.type_id}/v1",
            value=self.granted,
            revision=request.expected_revision,
            consistency=self.manifest.consistency,
        )
        fragments = (fragment,) if request.include_projection else ()
        return Contribution(fragments=fragments, read_grant=grant)

    async def query(self, request):
        await self.told.pass_through("query", request.input)
        return Evidence(
            id="evidence",
            view_id=request.view.id,
            route_id=request.route.id,
            source_instance_key=self.key,
            items=(EvidenceItem(id="one", text=self.told.text),),
            truncated=False,
        )

    async def mutate(self, request) -> Receipt:
        await self.told.pass_through("mutate", request.input)
        return create_receipt(
            request, completion="committed", revision="r2", details=self.told.answer
        )

    async def manage(self, request):
        await self.told.pass_through(f"manage {request.operation}", request.input)
        value = self.told.answer.get(request.operation, self.told.answer)
        return ManagementResult(revision=self.told.revision, value=value)

    async def dispose(self):
        self.told.disposed += 1
        if self.told.disposal is not None:
            raise self.told.disposal


_FREE = {"type": "object"}


def told_source(
    told, *, type_id="runtime", management=True, authority=None, action="mutate", grant=()
):
    """Define the told Source: one route ``look``, one action, ``mutate`` unless it is named."""
    manifest = SourceManifest(
        type_id=type_id,
        package_name=f"told-{type_id}",
        role="working-context",
        capabilities=("status", "project", "search", "write"),
        consistency="exact-snapshot",
        routes=(
            RouteManifest(
                id="look",
                description="Look.",
                capability="search",
                input_schema={
                    "type": "object",
                    "required": ["query"],
                    "additionalProperties": False,
                    "properties": {
                        "query": {"type": "string"},
                        "limit": {"type": "integer"},
                        "tags": {"type": "array"},
                    },
                },
                max_calls=3,
            ),
        ),
        actions=(
            ActionManifest(
                id=action,
                description="Change.",
                capability="write",
                input_schema=_FREE,
                authority=authority,
            ),
        ),
        management={"label": "Told", "description": "Told."} if management else None,
    )
    return SourceDefinition(
        manifest=manifest,
        create=lambda context: ToldSource(
            told, manifest, context.source_instance_key, {"memoryBodyIds": list(grant)}
        ),
    )


GUIDANCE = Guidance(
    protocol="The protocol.",
    system="The strategy.",
    routing="The routing.",
    reminders=Reminders(read="Read.", write="Write.", both="Both."),
)


def plain_strategy(*, type_id="plain", guidance=GUIDANCE, mode="eager", workflow=None, policy=None):
    """Define a Strategy that takes every Source whole and asks for no or one workflow."""

    def compose(_request, sources, _contributions):
        return ViewSpec(
            strategy_type_id=type_id,
            sources=tuple(
                SourceSelection(
                    source_instance_key=source.source_instance_key,
                    required=False,
                    projection=ProjectionSpec(mode=mode, max_characters=9000),
                    route_ids=source.route_ids,
                    action_ids=source.action_ids,
                )
                for source in sources
                if source.availability != "unavailable"
            ),
            explanation="All.",
            guidance=guidance,
        )

    manifest = StrategyManifest(
        type_id=type_id,
        package_name=f"strategy-{type_id}",
        deterministic=True,
        supported_source_roles=("*",),
        max_sources=8,
        max_routes=8,
        max_actions=8,
        extension_slots=(),
    )
    rule = (lambda _type, _action: workflow) if workflow else None
    return StrategyDefinition(
        manifest=manifest, compose=compose, action_workflow=rule, create_turn=policy
    )


@attrs.frozen
class Full:
    """All three Sources, with Memory Spaces over services in memory that do as a test tells them.

    Attributes:
        native: Behind the Provider that stands for the native engine.
        other: Behind ``other``, a third-party Provider.
    """

    home: Home
    native: ReferenceService
    other: ReferenceService

    def rows(self, *more, strategy=LAYERED, documents=None, spaces=None):
        """Return the rows; ``documents`` and ``spaces`` are configurations."""
        config = {"providers": ["native_in_memory", "other_in_memory"], **(spaces or {})}
        return (
            RUNTIME,
            attrs.evolve(DOCUMENTS, config=documents or {}),
            attrs.evolve(SPACES, config=config),
            strategy,
            *more,
        )

    def open(self, *more, general=False, documents=None, spaces=None, settings=None):
        """Open a Host under Layered, or under General."""
        strategy = GENERAL if general else LAYERED
        rows = self.rows(*more, strategy=strategy, documents=documents, spaces=spaces)
        return self.home.open(*rows, settings=settings)

    async def space(self, host, name, **more):
        """Create an active Space and return its id."""
        request = {"name": name, "description": name, "active": True, **more}
        created = await host.people.change(
            "memory-spaces", "body-create", {"request": request}, capability="write"
        )
        return created.value["body"]["id"]

    async def connect(self, host, provider="other"):
        """Switch a third-party Provider on; the namespaces of its service become Spaces."""
        request = {"providerId": provider, "settings": {}}
        await host.people.change(
            "memory-spaces", "provider-service-update", request, capability="maintain"
        )

    def kept(self, space, service=None):
        """Return what a Space holds, in the order in which it came."""
        return [item.content for item in (service or self.native).namespaces[space]]


@pytest.fixture
def provider_module(monkeypatch):
    """Make a module that exposes a Provider in memory."""

    def make(type_id, service, **said):
        module = ModuleType(f"{type_id.replace('-', '_')}_in_memory")
        manifest = reference_manifest(type_id, **said)
        module.provider = reference_provider(service, manifest=manifest)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module.__name__

    return make


@pytest.fixture
def full(home, provider_module):
    """All three Sources over services in memory."""
    native, other = ReferenceService(), ReferenceService()
    provider_module("native", native, origin="native", fields=[], secrets=[])
    provider_module("other", other)
    return Full(home, native, other)


@pytest.fixture
def told():
    """What the told Source answers."""
    return Told()


@pytest.fixture
def make_told():
    """Make another script of a told Source."""
    return Told


@pytest.fixture
def told_rows(home, told):
    """Return rows of the told Source and the plain Strategy; options go to the two makers."""

    def rows(*, source=None, strategy=None):
        return (
            home.row("told", Contributions(sources=(told_source(told, **(source or {})),))),
            home.row("plain", Contributions(strategies=(plain_strategy(**(strategy or {})),))),
        )

    return rows


@pytest.fixture
def strategy_row(home):
    """Make a row of one more Strategy."""

    def make(name, **options):
        return home.row(name, Contributions(strategies=(plain_strategy(**options),)))

    return make


@pytest.fixture
def source_row(home):
    """Make a row of one more told Source."""

    def make(name, told, **options):
        return home.row(name, Contributions(sources=(told_source(told, **options),)))

    return make
