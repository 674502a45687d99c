"""Asking until the reply is right: a reply that fails is sent back with what failed, a few times."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from shopwright.pipeline.models.base import LONGEST, OWN, UNANSWERED, Prompt, Reply, UnansweredRequest
from shopwright.pipeline.models.play import Working
from shopwright.schemas.record import Rejected

T = TypeVar("T")
Shape = TypeVar("Shape", bound=BaseModel)
TRIES = 3


@dataclass(frozen=True)
class NoValidReply:
    """No reply was right: what was wrong with each, and the replies as they came."""

    reasons: tuple[str, ...]
    replies: tuple[str, ...]
    keys: tuple[str, ...] = field(default=(), compare=False)
    """Where the replies are kept, so that they can be asked for again."""
    answered: bool = True
    """False: the last request got no answer at all."""


class InvalidReply(ValueError):
    """Why a reply will not do, in words that its writer can act on."""


def ask_until_valid(
    prompt: Prompt, read: Callable[[Reply], T], *, tries: int = TRIES
) -> Generator[Prompt, Reply, "T | NoValidReply"]:
    """What `read` makes of the first reply that it does not find Wrong."""
    reasons: list[str] = []
    replies: list[Reply] = []
    asked = prompt
    for count in range(1, tries + 1):
        try:
            reply = yield asked
        except UnansweredRequest as lost:
            return collect_failed_tries([*reasons, lost.why], [*replies, Reply("")], answered=False)
        replies.append(reply)
        try:
            if reply.fault:
                raise InvalidReply(reply.fault)
            return read(reply)
        except InvalidReply as wrong:
            reasons.append(str(wrong))
        # Asked again it would refuse again.
        if reply.finish == "refused":
            break
        fault = f"That will not do: {reasons[-1]} Answer again, in the same form."
        asked = prompt.again(reply.text, fault, sent_back=count)
    return collect_failed_tries(reasons, replies)


def collect_failed_tries(reasons: list[str], replies: list[Reply], *, answered: bool = True) -> NoValidReply:
    texts, keys = tuple(reply.text for reply in replies), tuple(reply.key for reply in replies)
    return NoValidReply(tuple(reasons), texts, keys, answered)


def reject_if_unanswered(id: str, facts: Mapping[str, Any], conversation: Working[T]) -> Working["T | Rejected"]:
    """The conversation; or its row in quarantine, with these facts, where a request was not answered."""
    try:
        return (yield from conversation)
    except UnansweredRequest as lost:
        return Rejected(
            id=id, reasons=[lost.reason], record=json.dumps(facts, default=value_to_jsonable, ensure_ascii=False)
        )


def catch_unanswered(conversation: Working[T]) -> Working["T | UnansweredRequest"]:
    """The conversation, or that a request of it was not answered: for those who count both."""
    try:
        return (yield from conversation)
    except UnansweredRequest as lost:
        return lost


def make_rejected_row(id: str, what: str, facts: Mapping[str, Any], found: NoValidReply) -> Rejected:
    """The row in quarantine of what no reply was right for: its facts, every try and what was wrong with it.

    Its reason is what was wrong last, without the row's own words and numbers: rows that failed alike are counted together.
    """
    tries = [
        {"reply": reply, "wrong": wrong, "key": key}
        for reply, wrong, key in zip(found.replies, found.reasons, found.keys or [""] * len(found.replies), strict=True)
    ]
    record = json.dumps({**facts, "tries": tries}, default=value_to_jsonable, ensure_ascii=False)
    reason = OWN.sub("…", " ".join(found.reasons[-1].split()))[:LONGEST]
    lost = "" if found.answered else UNANSWERED
    return Rejected(id=id, reasons=[f"{lost}{what}: {reason}"], record=record)


def value_to_jsonable(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def parse_reply_json(reply: Reply, shape: type[Shape]) -> Shape:
    """The reply as a record. Raises InvalidReply where it is none; nothing is guessed or mended."""
    try:
        # Line breaks within texts are let pass, as many models write them; "3" for 3 is not.
        return shape.model_validate_json(json.dumps(json.loads(reply.text, strict=False)), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidReply(f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}.") from None
    except (ValueError, RecursionError):
        raise InvalidReply("the reply is not JSON.") from None


@cache
def schema_of(shape: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema that servers constrain a reply with."""
    return {**shape.model_json_schema(), "additionalProperties": False}
