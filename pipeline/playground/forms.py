"""The tools of the shop as forms: what each field is, and what was typed as the arguments of a call."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from shopwright.pipeline.envs.base import REFUSALS
from shopwright.pipeline.envs.baselines import STATUSES
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.tools import KINDS, TOOLS
from shopwright.pipeline.trainers.env import ShopEnv, list_tool_schemas, read_tool_signature

SUBMIT = "submit"
ASK = "ask_user"
# Fields that take what a tool has shown before, and under which name it was shown.
IDS = {
    "product_id": "product_id",
    "product_ids": "product_id",
    "recommended_product_ids": "product_id",
    "variant_id": "variant_id",
    "order_id": "order_id",
    "selected_order_id": "order_id",
    "line_id": "line_id",
    "selected_line_id": "line_id",
    "category": "category",
    "brand": "brand",
}
# Fields that take several ids, with commas between them.
SEVERAL = ("product_ids", "recommended_product_ids")
CHOICES = {"refusal": ("", *REFUSALS), "order_status": ("", *STATUSES)}
WORDS = {kind: name for name, kind in (("words", "string"), ("a whole number", "integer"), ("a number", "number"))}


@dataclass(frozen=True)
class ToolField:
    """One argument of a tool."""

    name: str
    kind: str
    """string, integer, number or boolean."""
    about: str
    required: bool
    default: Any
    """None where it must be given."""

    @property
    def label(self) -> str:
        """
        >>> ToolField("max_price", "number", "", False, 0.0).label, ToolField("query", "string", "", True, None).label
        ('max price', 'query (needed)')
        """
        return self.name.replace("_", " ") + (" (needed)" if self.required else "")

    @property
    def ids(self) -> str:
        """Of which kind the ids are that it takes; empty where it takes none."""
        return IDS.get(self.name, "")

    @property
    def choices(self) -> tuple[str, ...]:
        return CHOICES.get(self.name, ())


@dataclass(frozen=True)
class ToolForm:
    """A tool: its manual and its fields."""

    name: str
    about: str
    fields: tuple[ToolField, ...]


@cache
def list_tool_forms() -> dict[str, ToolForm]:
    """A form for each tool by its name, made from signatures and docstrings; `submit`, which hands in the answer, last.

    >>> [field.label for field in list_tool_forms()["cart_add"].fields]
    ['product id (needed)', 'variant id (needed)', 'quantity']
    """
    schemas = {each["function"]["name"]: each["function"] for each in list_tool_schemas(ShopEnv)}
    return {name: make_tool_form(schemas[name]) for name in (*TOOLS, SUBMIT)}


def make_tool_form(schema: Mapping[str, Any]) -> ToolForm:
    method = getattr(ShopEnv, schema["name"])
    defaults = inspect.signature(method).parameters
    about = schema["parameters"]["properties"]
    fields = [
        ToolField(
            name,
            KINDS[kind],
            about[name]["description"],
            needed,
            None if needed else defaults[name].default,
        )
        for name, (kind, needed) in read_tool_signature(method).items()
    ]
    return ToolForm(schema["name"], schema["description"], tuple(fields))


def parse_form_arguments(form: ToolForm, typed: Sequence[Any]) -> dict[str, Any]:
    """What was typed into the fields, as the tool takes it; what was left empty is left out.

    Raises Problem for a field that must be given or is of another kind: nothing is called then, and no turn is lost.

    >>> parse_form_arguments(list_tool_forms()["cart_add"], [" B01 ", "B01-2", 2])
    {'product_id': 'B01', 'variant_id': 'B01-2', 'quantity': 2}
    """
    given = {field.name: parse_field(field, value) for field, value in zip(form.fields, typed, strict=True)}
    missing = [field for field in form.fields if field.required and given[field.name] in (None, "")]
    # A search takes no words where a filter is given.
    filters = given.keys() - {"query", "page"}
    is_filtered = form.name == "catalog_search" and any(given[name] for name in filters)
    if missing and not is_filtered:
        names = " and ".join(field.name.replace("_", " ") for field in missing)
        raise Problem(f"{form.name} needs {names}. Nothing was called.")
    needed = {field.name for field in form.fields if field.required}
    return {
        name: value if value is not None else ""
        for name, value in given.items()
        if name in needed or value not in (None, "", False)
    }


def parse_field(field: ToolField, value: Any) -> Any:
    """None where nothing was typed."""
    if isinstance(value, list | tuple):
        return ",".join(filter(None, (str(each).strip() for each in value)))
    if field.kind == "boolean":
        return bool(value)
    text = "" if value is None else str(value).strip()
    if not text or field.kind == "string":
        return text or None
    try:
        number = float(text)
        whole = int(number)
    except (ValueError, OverflowError):
        raise Problem(describe_wrong_type(field, text)) from None
    if field.kind == "integer" and whole != number:
        raise Problem(describe_wrong_type(field, text))
    return whole if field.kind == "integer" else number


def describe_wrong_type(field: ToolField, text: str) -> str:
    return f"{field.name.replace('_', ' ')} is {WORDS[field.kind]}, and {text[:40]!r} is none. Nothing was called."
