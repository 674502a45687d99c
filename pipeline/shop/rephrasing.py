"""What the shopper says, put into a model's words: act and facts are decided before, and the words are held against them."""

import json
import re
from functools import partial
from itertools import chain

from pydantic import BaseModel, ConfigDict

from shopwright.pipeline.models.base import Prompt, Reply, UnansweredRequest
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    NoValidReply,
    ask_until_valid,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.shop.user_simulator import SimulatorReply, UserSimulator
from shopwright.pipeline.words import content_words, split_words

# Characters.
LONGEST = 400
MARKUP = re.compile(r"[<>{}\[\]`*#|_\\\n]|https?:|www\.")
# A capital letter inside a sentence.
NAME = re.compile(r"(?<=[\w,;:)] )[A-Z]\w*(?:-\w+)*")
NUMBERS = frozenset(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred thousand dozen half"
    " double couple".split()
)
DENIES = frozenset("not no never none nothing without except don't doesn't isn't won't can't cannot nor".split())
AGREES = frozenset("yes yeah yep yup sure perfect exactly correct great agreed deal fine good lovely right".split())
COLORS = frozenset(
    "black white red blue green gray grey silver gold pink purple brown beige navy orange yellow cream teal".split()
)
PRONOUNS = frozenset(["i", "i'm", "i'd", "i've", "i'll", "ok"])


class Words(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    words: str


def rephrase_reply(
    shopper: UserSimulator, heard: SimulatorReply, message: str = "", *, number: int = 0
) -> Conversation[str]:
    """What was heard, in a model's words; as it was where no words of the model's will do.

    For the opening give `SimulatorReply(opening, "open", 0, (what is stated, ...))`. message: what the agent said; number: of the turn.
    """
    if not heard.text:
        return ""
    facts = {"act": heard.act, "says": list(heard.says), "plain": heard.text, "message": message[:1_000]}
    prompt = Prompt(
        "shopper",
        tuple(render_messages("shopper", **facts)),
        json.dumps({"words": heard.text}),
        schema_of(Words),
        seed=number,
    )
    found = yield from ask_until_valid(prompt, partial(parse_rephrasing, shopper, heard))
    if isinstance(found, NoValidReply):
        if not found.answered:
            raise UnansweredRequest(found.reasons[-1])
        return heard.text
    return found


def parse_rephrasing(shopper: UserSimulator, heard: SimulatorReply, reply: Reply) -> str:
    """Raises InvalidReply where the words are not what is to be said."""
    said = " ".join(parse_reply_json(reply, Words).words.split())
    untold = [slot.said for place, slot in enumerate(shopper.slots) if place not in shopper.told]
    if wrong := find_rephrasing_fault(said, heard, untold):
        raise InvalidReply(wrong)
    return said


def find_rephrasing_fault(said: str, heard: SimulatorReply, hidden: list[str]) -> str | None:
    """What is wrong with words that are to say what was heard, in words that their writer can act on; nothing hidden may be in them."""
    low, plain = said.lower(), heard.text.lower()
    # What has to be said word for word does not count.
    most = LONGEST + sum(map(len, heard.says))
    if not said or len(said) > most:
        return f"say something, in at most {most} characters."
    if said == heard.text:
        return None
    if left := [fact for fact in heard.says if fact.lower() not in low]:
        return f"it must say {left[0]!r} word for word."
    # What a text names and counts: numbers, names inside a sentence.
    named = [*re.findall(r"[\w$.,-]*\d[\w-]*", heard.text), *NAME.findall(heard.text)]
    if heard.act == "open" and (left := [each for each in named if each.lower() not in low]):
        return f"it must say {left[0]!r} as the plain words do."
    rest, plain_rest = low, plain
    for fact in heard.says:
        rest, plain_rest = rest.replace(fact.lower(), " "), plain_rest.replace(fact.lower(), " ")
    if MARKUP.search(said) and not MARKUP.search(heard.text):
        return "no markup."
    if strange := sorted(find_foreign_words(said, heard)):
        return f"{strange[0]!r} is not in the plain words: say nothing that they do not say."
    for kind, why in ((DENIES, "denies"), (AGREES, "agrees to")):
        if (more := split_spoken_words(rest) & kind) and not split_spoken_words(plain_rest) & kind:
            return f"{min(more)!r} {why} something: say only what the plain words say."
    secret = set(chain.from_iterable(map(content_words, hidden))) - set(split_words(heard.text))
    if secret & set(split_words(said)):
        return "it says something that the plain words do not say: leave it out."
    return None


def find_foreign_words(said: str, heard: SimulatorReply) -> set[str]:
    """Numbers, colors and names in the words that were not to be said."""
    known = split_spoken_words(heard.text.lower())
    named = {each for each in NAME.findall(said) if each.lower() not in PRONOUNS and not known & {each.lower()}}
    found = split_spoken_words(said.lower())
    return named | {each for each in found - known if each in NUMBERS or each in COLORS or any(map(str.isdigit, each))}


def split_spoken_words(text: str) -> set[str]:
    """Its words with all that stands in them, in lower case."""
    return set(re.findall(r"[\w$][\w.'’$%-]*(?<![.'])", text.replace("’", "'")))
