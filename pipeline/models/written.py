"""Asking until the reply is right: a reply that fails is sent back with what failed, a few times."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.models.base import Prompt, Reply

T = TypeVar("T")
Shape = TypeVar("Shape", bound=BaseModel)
TRIES = 3


@dataclass(frozen=True)
class Unwritten:
    """No reply was right: what was wrong with each, and the replies as they came."""

    reasons: tuple[str, ...]
    replies: tuple[str, ...]


class Wrong(ValueError):
    """Why a reply will not do, in words that its writer can act on."""


def written(
    prompt: Prompt, read: Callable[[Reply], T], *, tries: int = TRIES
) -> Generator[Prompt, Reply, "T | Unwritten"]:
    """What `read` makes of the first reply that it does not find Wrong."""
    reasons: list[str] = []
    replies: list[str] = []
    asked = prompt
    for count in range(1, tries + 1):
        reply = yield asked
        replies.append(reply.text)
        try:
            if reply.fault:
                raise Wrong(reply.fault)
            return read(reply)
        except Wrong as wrong:
            reasons.append(str(wrong))
        if reply.finish in ("refused", "unanswered"):
            break
        again = prompt.again(reply.text, f"That will not do: {reasons[-1]} Answer again, in the same form.")
        asked = replace(
            again, seed=prompt.seed + count
        )  # else who errs twice the same is asked the same, and errs so again
    return Unwritten(tuple(reasons), tuple(replies))


def as_json(reply: Reply, shape: type[Shape]) -> Shape:
    """The reply as a record. Raises Wrong where it is none; nothing is guessed or mended."""
    try:
        return shape.model_validate_json(json.dumps(json.loads(reply.text, strict=False)), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise Wrong(f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}.") from None
    except ValueError:
        raise Wrong("the reply is not JSON.") from None


def schema_of(shape: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema that servers constrain a reply with."""
    return {**shape.model_json_schema(), "additionalProperties": False}
