"""What a Provider says of itself before anything runs (spec/sources.md §4.4)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dsh_mnemon_source_memory_spaces.provider_sdk.ids import FieldKey, ProviderId

__all__ = (
    "PROVIDER_API_VERSION",
    "CapabilityName",
    "FieldOption",
    "Icon",
    "ProviderCapabilities",
    "ProviderField",
    "ProviderManifest",
)

PROVIDER_API_VERSION: Final = "dsh-mnemon.memory-space-provider/v1"
"""The only protocol version there is."""

CapabilityName: TypeAlias = Literal[
    "search", "browse", "graph", "entities", "related", "remember", "link", "forget"
]
"""The flags a Provider may declare."""

_Label = Annotated[str, Field(min_length=1, max_length=100)]
_Prose = Annotated[str, Field(max_length=2_000)]


class _Frozen(BaseModel):
    """Frozen data, written in snake_case and read in either spelling."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        alias_generator=lambda name: (
            name.split("_")[0] + "".join(word.capitalize() for word in name.split("_")[1:])
        ),
    )


class Icon(_Frozen):
    """How a Provider is pictured: a brand name, a glyph (≤ 16) or an image as data URL."""

    kind: Literal["brand", "glyph", "data-url"]
    value: Annotated[str, Field(min_length=1, max_length=200_000)]

    @model_validator(mode="after")
    def _fits_kind(self) -> Icon:
        images = ("png", "jpeg", "webp", "svg+xml")
        starts = tuple(f"data:image/{image};base64," for image in images)
        if self.kind == "data-url" and not self.value.startswith(starts):
            raise ValueError("a data-url icon is a base64 png, jpeg, webp or svg")
        if self.kind == "glyph" and len(self.value) > 16:
            raise ValueError("a glyph icon has at most 16 characters")
        return self


class ProviderCapabilities(_Frozen):
    """What a Provider can do.

    Attributes:
        write_mode: ``exact`` stores the text it was given; ``async-extracting`` derives from it.
        deletion_mode: What `forget` does to the item.
    """

    search: bool = False
    browse: bool = False
    graph: bool = False
    entities: bool = False
    related: bool = False
    remember: bool = False
    link: bool = False
    forget: bool = False
    write_mode: Literal["exact", "async-extracting"] = "exact"
    deletion_mode: Literal["soft", "hard", "unsupported"] = "unsupported"


class FieldOption(_Frozen):
    """One choice of a select field."""

    value: Annotated[str, Field(min_length=1, max_length=2_000)]
    label: _Label
    i18n_key: str | None = None


class ProviderField(_Frozen):
    """One setting: of the service, entered once, or of each Memory Space.

    Attributes:
        normalize: Applied to the stripped text before it is checked.
        discovery_default_from: A service field whose empty default is taken from this memory
            field of the first discovered namespace.
    """

    key: FieldKey
    label: _Label
    i18n_key: str | None = None
    scope: Literal["service", "memory"]
    role: Literal["global-location"] | None = None
    input: Literal["text", "url", "secret", "number", "boolean", "select", "path"]
    required: bool = False
    default_value: str | int | float | bool | None = None
    placeholder: _Prose | None = None
    help: _Prose | None = None
    min: float | None = None
    max: float | None = None
    max_length: Annotated[int, Field(ge=1, le=8_000)] | None = None
    pattern: Annotated[str, Field(max_length=1_000)] | None = None
    validation_message: Annotated[str, Field(max_length=500)] | None = None
    normalize: Literal["trim-trailing-slash"] | None = None
    discovery_default_from: FieldKey | None = None
    options: tuple[FieldOption, ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> ProviderField:
        if self.input == "select":
            values = [option.value for option in self.options or ()]
            if not values or len(set(values)) != len(values):
                raise ValueError("a select field has options, each value once")
        elif self.options is not None:
            raise ValueError("only a select field has options")
        if self.role is not None and (self.scope, self.input) != ("service", "path"):
            raise ValueError("only a service path can be the global location")
        if (self.min is not None or self.max is not None) and self.input != "number":
            raise ValueError("only a number has a range")
        return self


class ProviderManifest(_Frozen):
    """Frozen description of a Provider type; `type_id` is the module's id.

    Attributes:
        secrets: Exactly the keys of the secret fields.
        score_semantics: ``normalized-relevance`` promises finite scores from 0 to 1, larger is
            better; ``provider-native`` any scale; ``none`` no scores.
    """

    api_version: Literal["dsh-mnemon.memory-space-provider/v1"] = PROVIDER_API_VERSION
    kind: Literal["provider"] = "provider"
    type_id: ProviderId
    package_name: Annotated[str, Field(min_length=1, max_length=214)]
    version: Annotated[str, Field(min_length=1, max_length=100)]
    label: _Label
    icon: Icon | None = None
    summary: Annotated[str, Field(min_length=1, max_length=1_000)]
    summary_i18n_key: str | None = None
    origin: Literal["native", "third-party"]
    locality: Literal["local", "remote"]
    workspace_binding: Literal["automatic", "optional-override", "provider-global"]
    capabilities: ProviderCapabilities
    fields: tuple[ProviderField, ...] = ()
    secrets: tuple[str, ...] = ()
    score_semantics: Literal["normalized-relevance", "provider-native", "none"]

    @model_validator(mode="after")
    def _fields_agree(self) -> ProviderManifest:
        keys = [field.key for field in self.fields]
        if len(set(keys)) != len(keys):
            raise ValueError("a field key is used twice")
        secret = {field.key for field in self.fields if field.input == "secret"}
        if secret != set(self.secrets) or len(self.secrets) != len(secret):
            raise ValueError("secrets names exactly the secret fields")
        memory = {f.key for f in self.fields if f.scope == "memory" and f.input != "secret"}
        for field in self.fields:
            source = field.discovery_default_from
            if source is not None and (field.scope != "service" or source not in memory):
                raise ValueError("discovery_default_from: service field, non-secret memory field")
        return self

    def semantic(self) -> dict[str, Any]:
        """Return the part that makes a generation: without labels, icon, summary and help."""
        shown = {"label", "icon", "summary", "summary_i18n_key"}
        copy = {"label", "i18n_key", "placeholder", "help", "validation_message"}
        data = self.model_dump(mode="json", exclude_none=True, exclude=shown)
        for field in data["fields"]:
            for key in copy:
                field.pop(key, None)
            for option in field.get("options", ()):
                option.pop("label", None)
                option.pop("i18n_key", None)
        return data
