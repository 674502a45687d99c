"""Asking until the reply is right: a reply that fails is sent back with what failed, a few times."""

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.models.base import Prompt, Reply
from schemas.record import Rejected

T = TypeVar("T")
Shape = TypeVar("Shape", bound=BaseModel)
TRIES = 3
OWN = re.compile(r"'[^']*'(?!\w)|\"[^\"]*\"|\d{4,}|\d+\.\d+")
LONGEST = 200
"""Characters of a reason."""


@dataclass(frozen=True)
class Unwritten:
    """No reply was right: what was wrong with each, and the replies as they came."""

    reasons: tuple[str, ...]
    replies: tuple[str, ...]
    keys: tuple[str, ...] = field(default=(), compare=False)
    """Where the replies are kept, so that they can be asked for again."""


class Wrong(ValueError):
    """Why a reply will not do, in words that its writer can act on."""


def written(
    prompt: Prompt, read: Callable[[Reply], T], *, tries: int = TRIES
) -> Generator[Prompt, Reply, "T | Unwritten"]:
    """What `read` makes of the first reply that it does not find Wrong."""
    reasons: list[str] = []
    replies: list[Reply] = []
    asked = prompt
    for count in range(1, tries + 1):
        reply = yield asked
        replies.append(reply)
        try:
            if reply.fault:
                raise Wrong(reply.fault)
            return read(reply)
        except Wrong as wrong:
            reasons.append(str(wrong))
        if reply.finish in ("refused", "unanswered"):
            break
        fault = f"That will not do: {reasons[-1]} Answer again, in the same form."
        asked = prompt.again(reply.text, fault, sent_back=count)
    return Unwritten(tuple(reasons), tuple(reply.text for reply in replies), tuple(reply.key for reply in replies))


def refused(id: str, what: str, facts: Mapping[str, Any], found: Unwritten) -> Rejected:
    """The row in quarantine of what no reply was right for: its facts, every try and what was wrong with it.

    Its reason is what was wrong last, without the row's own words and numbers: rows that failed alike are counted together.
    """
    tries = [
        {"reply": reply, "wrong": wrong, "key": key}
        for reply, wrong, key in zip(found.replies, found.reasons, found.keys or [""] * len(found.replies), strict=True)
    ]
    record = json.dumps({**facts, "tries": tries}, default=plain, ensure_ascii=False)
    reason = OWN.sub("…", " ".join(found.reasons[-1].split()))[:LONGEST]
    return Rejected(id=id, reasons=[f"{what}: {reason}"], record=record)


def plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def as_json(reply: Reply, shape: type[Shape]) -> Shape:
    """The reply as a record. Raises Wrong where it is none; nothing is guessed or mended."""
    try:
        return shape.model_validate_json(json.dumps(json.loads(reply.text, strict=False)), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise Wrong(f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}.") from None
    except (ValueError, RecursionError):
        raise Wrong("the reply is not JSON.") from None


@cache
def schema_of(shape: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema that servers constrain a reply with."""
    return {**shape.model_json_schema(), "additionalProperties": False}
