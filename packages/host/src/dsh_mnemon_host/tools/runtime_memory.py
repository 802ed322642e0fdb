"""``mnemon_runtime_memory``: hot memory, one entry at a time (host.md §8.5)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from dsh_mnemon_core.errors import InputError
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from dsh_mnemon_host.bindings import RUNTIME_MUTATE
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools.operation import act, receipt_result
from dsh_mnemon_host.work.actions import Actions

__all__ = ("DESCRIPTION", "RuntimeMemoryInput", "write_runtime_memory")

DESCRIPTION: Final = (
    "Keep, correct or drop one short lasting entry of hot memory. Use it only for new facts that "
    "the user states and that later sessions need, or when the user asks to remember, correct or "
    "forget something. Never store what you just read from memory, documents or tools; looking "
    "things up stays looking. target=user: who the user is and how they like to work (USER.md). "
    "target=memory: facts and rules of this project and its environment (MEMORY.md). Leave out "
    "questions, guesses, your own claims, progress, task lists, logs, secrets and what is easily "
    "found again. Compare with the snapshot first: add a fact that stands by itself; replace with "
    "a short unique old_text to correct one; remove only when it was withdrawn or is plainly "
    "wrong. branches (memory only) limits an entry to git branches: omit it to keep what is set, "
    "give an empty list to clear it. The answer is the receipt; do not repeat the files."
)


Words: TypeAlias = Annotated[str, Field(min_length=1)]
"""Text that says something; an empty one counts as absent (D59)."""


class RuntimeMemoryInput(BaseModel):
    """Arguments of ``mnemon_runtime_memory``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    action: Annotated[
        Literal["add", "replace", "remove"], Field(description="What to do with the entry.")
    ]
    target: Annotated[
        Literal["memory", "user"], Field(description="MEMORY.md (project) or USER.md (person).")
    ]
    content: Annotated[
        Words | None,
        Field(description="The entry's text, for add and replace; at most 8192 bytes."),
    ] = None
    old_text: Annotated[
        Words | None,
        Field(
            validation_alias=AliasChoices("old_text", "oldText"),
            description="For replace and remove: the entry's full text, or a unique part of it.",
        ),
    ] = None
    importance: Annotated[
        Literal["critical", "normal", "low"] | None,
        Field(description="critical: an explicit must, always or never; low: short-lived."),
    ] = None
    branches: Annotated[
        tuple[str, ...] | None,
        Field(description="Git branches that see the entry; target=memory only."),
    ] = None

    def mutation(self) -> dict[str, Any]:
        """Return the input of the Source's ``mutate`` action; unset fields are absent."""
        fields = {
            "action": self.action,
            "target": self.target,
            "content": self.content,
            "oldText": self.old_text,
            "importance": self.importance,
            "branches": self._branches(),
        }
        return {key: value for key, value in fields.items() if value is not None}

    def _branches(self) -> list[str] | None:
        """Return the branches; an empty list says something only where it clears (D59)."""
        clears = self.action == "replace" and self.target == "memory"
        says_something = self.branches or (self.branches is not None and clears)
        return list(self.branches or ()) if says_something else None


async def write_runtime_memory(
    actions: Actions, execution: Execution, arguments: RuntimeMemoryInput
) -> dict[str, Any]:
    """Execute the mutation through the View's ``mutate`` offer of the default Runtime Source.

    Returns:
        ``{success, message, target, entryCount, usage, added? | replaced? | removed?, maintenance?,
        revision?, memoryReceipt}`` (host.md §8.5).

    Raises:
        InputError: ``content`` or ``old_text`` is missing for the action.
        AuthorityError: ``writes-disabled``; ``action-unavailable``: this View offers no Runtime
            memory.
    """
    actions.check_writable(execution)
    _check_present(arguments)
    receipt = await act(actions, execution, RUNTIME_MUTATE, arguments.mutation())
    return receipt_result(receipt)


def _check_present(arguments: RuntimeMemoryInput) -> None:
    needed = {
        "add": ("content",),
        "replace": ("content", "old_text"),
        "remove": ("old_text",),
    }[arguments.action]
    for field in needed:
        if getattr(arguments, field) is None:
            raise InputError(
                "input-invalid",
                f"mnemon_runtime_memory: {field} is required for action={arguments.action}",
                details={"field": field},
            )
