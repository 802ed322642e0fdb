"""Reading configuration: strict for profile rows, tolerant for the settings document (D33)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs
from dsh_mnemon_core.checks import truncate
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.values import thaw
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dsh_mnemon_host.config.shape import Path, accepted, choices, closest, dotted, nearest_key

__all__ = ("Problem", "Reading", "UnknownKey", "read_strict", "read_tolerant", "refusal")

M = TypeVar("M", bound=BaseModel)

_CODES: Final = {
    "missing": "setting-required",
    "extra_forbidden": "setting-unknown",
    "literal_error": "setting-choice",
    "string_pattern_mismatch": "setting-format",
    "greater_than_equal": "setting-range",
    "less_than_equal": "setting-range",
    "finite_number": "setting-range",
    "too_long": "setting-range",
    "string_too_long": "setting-range",
    "string_too_short": "setting-range",
}
_SAYS: Final = {
    "setting-required": "is required",
    "setting-unknown": "is not a known setting",
    "setting-format": "is not written as it must be",
}
_LIMITED: Final = frozenset({"required", "type", "range", "choice", "format"})
"""Problems for which it helps to say what the key accepts."""


@attrs.frozen
class UnknownKey:
    """A key of the document that no setting has.

    Attributes:
        key: Dotted path as written.
        nearest: Dotted path it was probably meant to be.
    """

    key: str
    nearest: str | None = None

    def named(self) -> str:
        """Name the key, and the one that was probably meant, for a person."""
        return self.key + (f" (did you mean {self.nearest}?)" if self.nearest else "")


@attrs.frozen(kw_only=True)
class Problem:
    """One thing that is wrong with a document; never holds the value itself.

    Attributes:
        code: ``setting-required``, ``-unknown``, ``-type``, ``-range``, ``-choice``, ``-format``,
            ``-duplicate``, ``-inconsistent`` or ``text-not-unicode``.
        key: Dotted path; empty for the document as a whole.
        says: What is wrong, continuing a sentence that starts with the key.
        accepted: What the key accepts, in words.
        nearest: Known key or value that was probably meant.
    """

    code: str
    key: str
    says: str
    accepted: str | None = None
    nearest: str | None = None

    def sentence(self) -> str:
        """Return the problem as one clause for a person."""
        takes = f"; it takes {self.accepted}" if self.accepted else ""
        hint = f" (did you mean {self.nearest}?)" if self.nearest else ""
        return f"{self.key or 'the configuration'} {self.says}{takes}{hint}"

    def to_details(self) -> dict[str, str]:
        """Return ``{code, key, accepted?, nearest?}``."""
        fields = {"accepted": self.accepted, "nearest": self.nearest}
        return {"code": self.code, "key": self.key} | {k: v for k, v in fields.items() if v}


@attrs.frozen
class Reading(Generic[M]):
    """A document that was read, and what in it means nothing.

    Attributes:
        value: The validated settings.
        unknown: Keys that were left out, in document order.
    """

    value: M
    unknown: tuple[UnknownKey, ...] = ()


def refusal(problems: Sequence[Problem], where: str = "") -> ConfigurationError:
    """Build the error of a document: the first problem gives the code, all of them are listed.

    Returns:
        An error with details ``{key, accepted?, nearest?, problems: [{code, key, …}]}``.
    """
    first = problems[0]
    text = "; ".join(problem.sentence() for problem in problems)
    details: dict[str, Any] = {k: v for k, v in first.to_details().items() if k != "code"}
    details["problems"] = [problem.to_details() for problem in problems]
    return ConfigurationError(first.code, f"{where}{text}.", details=details)


def _path(location: Sequence[int | str]) -> Path:
    return tuple(part for part in location if part != "[key]")


def _noun(value: object) -> str:
    """Name the JSON type of a value, for messages that must not show the value."""
    if value is None:
        return "null"
    names = ((bool, "a boolean"), ((int, float), "a number"), (str, "text"), (Mapping, "a mapping"))
    return next((noun for kinds, noun in names if isinstance(value, kinds)), "a list")


def _says(code: str, value: object) -> str:
    """Describe what is wrong; only numbers and words offered in place of a choice are shown."""
    if code == "setting-range" and isinstance(value, (int, float)):
        return f"is {value}, out of range"
    if code == "setting-range":
        return "is too long"
    if code == "setting-choice" and isinstance(value, str):
        return f"is {truncate(value, 40)!r}"
    return _SAYS.get(code) or f"is {_noun(value)}"


def _near(model: type[BaseModel], code: str, path: Path, value: object) -> str | None:
    if code == "setting-unknown":
        return nearest_key(model, path)
    if code == "setting-choice" and isinstance(value, str):
        return closest(value, choices(model, path))
    return None


def _problem(model: type[BaseModel], error: ErrorDetails) -> Problem:
    kind, context, value = error["type"], error.get("ctx", {}), error["input"]
    path = _path(error["loc"])
    own = kind.startswith(("setting-", "text-"))
    code = kind if own else _CODES.get(kind, "setting-type")
    if own and "key" in context:
        path = (*path, *(int(p) if p.isdigit() else p for p in str(context["key"]).split(".")))
    takes = accepted(model, path) if code.removeprefix("setting-") in _LIMITED else None
    return Problem(
        code=code,
        key=dotted(path),
        says=error["msg"] if own else _says(code, value),
        accepted=f"a key matching {context['pattern']}" if "[key]" in error["loc"] else takes,
        nearest=_near(model, code, path, value),
    )


def _validated(model: type[M], document: Mapping[str, Any]) -> M | Sequence[ErrorDetails]:
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        return error.errors(include_url=False)


def read_strict(model: type[M], document: Mapping[str, Any], *, where: str = "") -> M:
    """Read the configuration of a profile row: an unknown key is an error.

    Args:
        model: Model of the configuration, `HostConfig` for the Host's own row.
        document: Camel-case JSON.
        where: Put in front of the message, for instance a file name and ``": "``.

    Raises:
        ConfigurationError: With the code of the first problem; ``details`` hold ``key``,
            ``accepted``, ``nearest`` and the list of all ``problems``.

    Source: spec/host.md §2.2, spec/README.md D33.
    """
    outcome = _validated(model, document)
    if isinstance(outcome, BaseModel):
        return outcome
    raise refusal([_problem(model, error) for error in outcome], where)


def _pruned(document: Mapping[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    copy: dict[str, Any] = thaw(document)
    for *parents, last in paths:
        holder: Any = copy
        for part in parents:
            holder = holder[part]
        del holder[last]
    return copy


def read_tolerant(model: type[M], document: Mapping[str, Any], *, where: str = "") -> Reading[M]:
    """Read the settings document: unknown keys are left out and reported, all else is judged.

    Raises:
        ConfigurationError: As `read_strict`, but never ``setting-unknown``.

    Source: spec/README.md D33.
    """
    outcome = _validated(model, document)
    if isinstance(outcome, BaseModel):
        return Reading(outcome)
    extra = [_path(e["loc"]) for e in outcome if e["type"] == "extra_forbidden"]
    value = read_strict(model, _pruned(document, extra), where=where)
    unknown = (UnknownKey(dotted(path), nearest_key(model, path)) for path in extra)
    return Reading(value, tuple(unknown))
