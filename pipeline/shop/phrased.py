"""What the shopper says, put into a model's words: act and facts are decided before, and the words are held against them."""

import json
import re
from functools import partial

from pydantic import BaseModel, ConfigDict

from pipeline.models.base import Prompt, Reply
from pipeline.models.play import Conversation
from pipeline.models.written import Unwritten, Wrong, as_json, schema_of, written
from pipeline.prompts import messages
from pipeline.shop.shopper import Heard, Shopper
from pipeline.words import content_words, words

LONGEST = 400
"""Characters."""
MARKUP = re.compile(r"[<>{}\[\]`*#|_\\\n]|https?:|www\.")
NAME = re.compile(r"(?<=[\w,;:)] )[A-Z]\w*(?:-\w+)*")
"""A capital letter inside a sentence."""
NUMBERS = frozenset(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred thousand dozen half"
    " double couple".split()
)
DENIES = frozenset("not no never none nothing without except don't doesn't isn't won't can't cannot nor".split())
AGREES = frozenset("yes yeah yep yup sure perfect exactly correct great agreed deal fine good lovely right".split())
COLORS = frozenset(
    "black white red blue green gray grey silver gold pink purple brown beige navy orange yellow cream teal".split()
)
OWN = frozenset(["i", "i'm", "i'd", "i've", "i'll", "ok"])


class Words(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    words: str


def phrased(shopper: Shopper, heard: Heard, message: str = "", *, number: int = 0) -> Conversation[str]:
    """What was heard, in a model's words; as it was where no words of the model's will do.

    For the opening give `Heard(opening, "open", 0, (what is stated, ...))`. message: what the agent said; number: of the turn.
    """
    if not heard.text:
        return ""
    facts = {"act": heard.act, "says": list(heard.says), "plain": heard.text, "message": message[:1_000]}
    prompt = Prompt(
        "shopper",
        tuple(messages("shopper", **facts)),
        json.dumps({"words": heard.text}),
        schema_of(Words),
        seed=number,
    )
    found = yield from written(prompt, partial(read, shopper, heard))
    return heard.text if isinstance(found, Unwritten) else found


def read(shopper: Shopper, heard: Heard, reply: Reply) -> str:
    """Raises Wrong where the words are not what is to be said."""
    said = " ".join(as_json(reply, Words).words.split())
    if wrong := why_not(said, heard, untold(shopper)):
        raise Wrong(wrong)
    return said


def untold(shopper: Shopper) -> list[str]:
    """What the agent has not heard yet."""
    return [wish.said for place, wish in enumerate(shopper.wishes) if place not in shopper.told]


def why_not(said: str, heard: Heard, hidden: list[str]) -> str | None:
    """What is wrong with words that are to say what was heard, in words that their writer can act on; nothing hidden may be in them."""
    low, plain = said.lower(), heard.text.lower()
    if not said or len(said) > LONGEST:
        return f"say something, in at most {LONGEST} characters."
    if said == heard.text:
        return None
    if left := [fact for fact in heard.says if fact.lower() not in low]:
        return f"it must say {left[0]!r} word for word."
    if heard.act == "open" and (left := [each for each in tokens(heard.text) if each.lower() not in low]):
        return f"it must say {left[0]!r} as the plain words do."
    rest, plain_rest = low, plain
    for fact in heard.says:
        rest, plain_rest = rest.replace(fact.lower(), " "), plain_rest.replace(fact.lower(), " ")
    if MARKUP.search(said) and not MARKUP.search(heard.text):
        return "no markup."
    if strange := sorted(foreign(said, heard)):
        return f"{strange[0]!r} is not in the plain words: say nothing that they do not say."
    for kind, why in ((DENIES, "denies"), (AGREES, "agrees to")):
        if (more := spoken(rest) & kind) and not spoken(plain_rest) & kind:
            return f"{min(more)!r} {why} something: say only what the plain words say."
    secret = {word for each in hidden for word in content_words(each)} - set(words(heard.text))
    if secret & set(words(said)):
        return "it says something that the plain words do not say: leave it out."
    return None


def foreign(said: str, heard: Heard) -> set[str]:
    """Numbers, colors and names in the words that were not to be said."""
    known = spoken(heard.text.lower())
    named = {each for each in NAME.findall(said) if each.lower() not in OWN and not known & {each.lower()}}
    found = spoken(said.lower())
    return named | {each for each in found - known if each in NUMBERS or each in COLORS or any(map(str.isdigit, each))}


def tokens(text: str) -> list[str]:
    """What a text names and counts: numbers, names inside a sentence."""
    return [*re.findall(r"[\w$.,-]*\d[\w-]*", text), *NAME.findall(text)]


def spoken(text: str) -> set[str]:
    """Its words with all that stands in them, in lower case."""
    return set(re.findall(r"[\w$][\w.'’$%-]*(?<![.'])", text.replace("’", "'")))
