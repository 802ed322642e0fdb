"""Settings of the Auto capture enhancement, and what it asks of the model by default."""

from __future__ import annotations

from typing import Annotated, Any, Final

from dsh_mnemon_core.checks import text
from dsh_mnemon_core.configuration import reading
from dsh_mnemon_core.slots import MAX_INSTRUCTION, read_action_ids, read_source_keys
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ("DEFAULT_INSTRUCTION", "AutoCaptureConfig")

DEFAULT_INSTRUCTION: Final = """\
You may keep at most one thing from this turn: something the user supplied - a preference, a \
correction, or a fact about the project that is settled - and that will help with later tasks. \
Compare it with the memory you can see, and look it up first where a route allows that. Leave out \
what is already there, secrets, passing progress, guesses, your own claims, and anything that you \
only recalled. When the user wishes something not to be remembered, respect it. Write one short \
fact to one durable Source. If nothing qualifies, write nothing and do not mention it."""
"""The instruction unless a profile sets another."""


def _instruction(value: Any) -> str:
    return text(value, "instruction", MAX_INSTRUCTION)


class AutoCaptureConfig(BaseModel):
    """What a profile may set, keys in camelCase; an unknown key is refused.

    Attributes:
        instruction: What the model is invited to keep, 1..4 000 characters once trimmed.
        action_ids: 1 to 32 distinct ids of actions through which it may be kept.
        source_keys: At most 32 distinct instance keys of the Sources that may receive it; absent
            means every Source of role ``durable-evidence``.

    Source: spec/core.md §17.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    instruction: Annotated[
        str, BeforeValidator(reading(_instruction)), Field(max_length=MAX_INSTRUCTION)
    ] = DEFAULT_INSTRUCTION
    action_ids: Annotated[
        tuple[str, ...],
        BeforeValidator(reading(read_action_ids)),
        Field(min_length=1, max_length=32),
    ] = ("remember",)
    source_keys: Annotated[
        Annotated[tuple[str, ...], Field(max_length=32)] | None,
        BeforeValidator(reading(read_source_keys)),
    ] = None
