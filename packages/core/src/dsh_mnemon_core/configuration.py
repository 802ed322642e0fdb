"""Configuration read through pydantic models, refused with where, what and what was meant (D33)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from dsh_mnemon_core.errors import ConfigurationError, MnemonError
from dsh_mnemon_core.wire import nearest

__all__ = ("read_configuration", "reading")

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")


def read_configuration(model: type[Model], value: object, label: str) -> Model:
    """Validate a configuration value; ``None`` counts as an empty mapping.

    Args:
        model: The pydantic model; an instance of it is accepted as it is.
        value: A mapping spelled as the model's aliases, usually camelCase.
        label: Whose configuration it is, for the message.

    Raises:
        ConfigurationError: ``config-invalid``; ``details["problems"]`` lists
            ``{key, code, problem}`` in the model's order. A field read through `reading` has its
            reader's code, and an unknown key names the nearest known one. The values themselves
            are never shown, since any of them may be a secret.
    """
    try:
        return model.model_validate({} if value is None else value)
    except ValidationError as error:
        problems = [
            {
                "key": ".".join(str(part) for part in item["loc"]),
                "code": item["type"].replace("_", "-"),
                "problem": _problem(model, item["loc"], item),
            }
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    listed = "; ".join(f"{item['key'] or 'value'}: {item['problem']}" for item in problems)
    raise ConfigurationError("config-invalid", f"{label}: {listed}", details={"problems": problems})


def reading(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Make a reader of the core a validator of a model; its refusals keep their codes.

    ``limit: Annotated[int, BeforeValidator(reading(read_limit))]``

    Args:
        read: Returns the normalized value or raises a `MnemonError`.
    """

    def checked(value: Any) -> T:
        try:
            return read(value)
        except MnemonError as error:
            code = cast("Any", error.code)  # pydantic would have it written out
            raise PydanticCustomError(code, "{said}", {"said": error.message}) from error

    return checked


def _problem(model: type[BaseModel], location: Sequence[int | str], item: Any) -> str:
    if item["type"] == "model_type":
        return "it is no mapping"
    if item["type"] != "extra_forbidden":
        return str(item["msg"])
    *parents, key = location
    return f"unknown key{nearest(str(key), _known(model, parents))}"


def _known(model: type[BaseModel] | None, parents: Sequence[int | str]) -> list[str]:
    """Return the keys of the model found by walking ``parents`` down from ``model``.

    Steps that are no field are indexes, mapping keys or union members: they stay where they are.
    """
    for part in parents:
        annotation = _fields(model).get(str(part))
        model = _nested(annotation) if annotation is not None else model
    return list(_fields(model))


def _fields(model: type[BaseModel] | None) -> dict[str, Any]:
    fields = model.model_fields.items() if model else ()
    return {field.alias or name: field.annotation for name, field in fields}


def _nested(annotation: object) -> type[BaseModel] | None:
    """Return the first model inside an annotation such as ``tuple[Model, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_nested(item) for item in cast("tuple[object, ...]", get_args(annotation)))
    return next((item for item in found if item is not None), None)
