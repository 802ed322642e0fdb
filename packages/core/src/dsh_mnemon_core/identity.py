"""Instance keys, provenance and what all manifests share (spec/core.md §4.3, §4.4)."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

import attrs

from dsh_mnemon_core.checks import defaulted, identifier, one_of, optional_text, text
from dsh_mnemon_core.errors import DefinitionError, RegistrationError
from dsh_mnemon_core.scope import CAPABILITIES, Capability

__all__ = (
    "API_VERSION",
    "Kind",
    "Provenance",
    "callback",
    "constant",
    "is_default_instance",
    "read_capability",
    "read_instance_key",
    "read_package_name",
    "read_type_id",
)

API_VERSION: Final = "dsh-mnemon/v1"
"""Version of Source, Strategy and extension manifests."""

Kind: TypeAlias = Literal["source", "strategy", "strategy-extension"]
"""What a contribution is."""

_KEY = re.compile(r"(source|strategy|strategy-extension):[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,299}")
_PACKAGE = re.compile(r"(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*")


def constant(expected: object, code: str, label: str, *, required: bool = False) -> Any:
    """Return an attrs field that has one possible value, which nobody must give unless required.

    A converter checks it, because validators run after all converters: of two wrong fields the
    first is named.

    Raises:
        DefinitionError: ``code``.
    """

    def check(value: object) -> Any:
        if type(value) is not type(expected) or value != expected:
            raise DefinitionError(code, f"{label} must be {expected!r}, got {value!r}")
        return value

    return attrs.field(default=attrs.NOTHING if required else expected, converter=check)


def callback(_instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Validate an attrs field that holds a function.

    Raises:
        DefinitionError: ``callback-missing``.
    """
    if not callable(value):
        raise DefinitionError("callback-missing", f"{attribute.name} must be callable")


def read_package_name(value: object) -> str:
    """Read a distribution name.

    Raises:
        DefinitionError: ``package-name-invalid`` or a Text(214) code.
    """
    return identifier(
        value,
        "packageName",
        maximum=214,
        pattern=_PACKAGE,
        code="package-name-invalid",
        kind=DefinitionError,
    )


def read_instance_key(value: object, kind: Kind | None = None) -> str:
    """Read an instance key ``<kind>:<entryId>``, at most 300 characters.

    Raises:
        RegistrationError: ``instance-key-format``.
    """
    good = isinstance(value, str) and len(value) <= 300 and _KEY.fullmatch(value)
    if not good or (kind is not None and good[1] != kind):
        raise RegistrationError("instance-key-format", f"{value!r} is not a {kind or 'valid'} key")
    return str(value)


def is_default_instance(key: str, type_id: str) -> bool:
    """Tell whether a Source instance is the default one of its type (§4.4)."""
    return key.startswith("source:") and key.endswith(f":mnemon-source-{type_id}")


def read_capability(value: object) -> Capability:
    """Read one capability of the closed set.

    Raises:
        DefinitionError: ``capability-unsupported``.
    """
    return one_of(value, CAPABILITIES, "capability", "capability-unsupported", kind=DefinitionError)


def read_type_id(value: object) -> str:
    """Read a type id or role: an Id."""
    return identifier(value, "type id or role", kind=DefinitionError)


def _entry(value: object) -> str:
    return text(value, "entryId", 300, kind=RegistrationError)


@attrs.frozen(kw_only=True)
class Provenance:
    """Where a contribution came from.

    Attributes:
        package_name: Distribution name; equals the manifest's.
        entry_id: Row id of the profile, Text(300).
        artifact_digest: Digest of the installed artefact, when the loader knows it.
    """

    package_name: str = attrs.field(converter=read_package_name)
    entry_id: str = attrs.field(converter=_entry)
    artifact_digest: str | None = defaulted(
        optional_text, "artifactDigest", 500, kind=RegistrationError
    )
