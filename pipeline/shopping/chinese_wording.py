"""A shopping instruction as people write it in a Chinese shop: why, what, how it must be, and about how much it may cost.

The words are `data/reference/chinese/instructions.toml` and `effects.toml`; why somebody wants a thing stands beside the thing's facts.
A phrasing belongs to training or to the test by its own letters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from random import Random
from typing import Any
from zlib import crc32

from shopwright.pipeline.catalog.chinese_shop import map_leaves
from shopwright.pipeline.languages import LANGUAGES
from shopwright.pipeline.shopping.effects import Effect, find_effect
from shopwright.pipeline.shopping.facts import MEASURE, VariantTable, parse_measurement
from shopwright.pipeline.shopping.short_wording import ShortText
from shopwright.schemas.phrases import Use
from shopwright.schemas.shopping import Need

# How often somebody says why and something more of it, closes with a word, says a bound by its effect, and a measure by about so much.
WHY, MORE, CLOSING, EFFECT, ABOUT = 0.95, 0.7, 0.6, 0.9, 0.6
# How often one trait stands before the thing, and its letters at most.
BEFORE, LONGEST_BEFORE = 0.55, 6
# Phrasings of a meaning that are shared out to training and the test.
FEWEST = 4
# Base units of what is not counted.
CONTINUOUS = ("m", "kg", "L", "W", "毫安时")
# How values begin that say what is not there, and what the buyer would have to do: nobody asks for "has to be turned by hand".
LACKS, TROUBLES = "无不免未", "需"
CODE = re.compile(r"[A-Za-z0-9.]+")


@cache
def load_instruction_words() -> dict[str, Any]:
    return LANGUAGES["zh"].load("instructions.toml")


@cache
def load_effect_words() -> dict[str, list[str]]:
    return {each["name"]: each["said"] for each in LANGUAGES["zh"].load("effects.toml")["effects"]}


def list_ways(ways: Sequence[str], use: Use) -> list[str]:
    """Those of a use: of six, four are for training, one for the test, one for the test of wording.

    >>> ways = [f"说法{number}" for number in range(60)]
    >>> sum(len(list_ways(ways, use)) for use in ("train", "test", "test_wording"))
    60
    """
    if len(ways) < FEWEST:
        return list(ways)
    uses: tuple[Use, ...] = ("train", "train", "train", "train", "test", "test_wording")
    return [way for way in ways if uses[crc32(way.encode()) % 6] == use] or list(ways)


@dataclass
class ChineseWriter:
    """Writes one instruction: everything that is drawn for it comes from its own dice."""

    counter: VariantTable
    title: str
    use: Use
    random: Random
    phrases: list[str] = field(default_factory=list)

    def draw(self, ways: Sequence[str]) -> str:
        """One that this text does not have yet, as long as there is one."""
        found = list_ways(ways, self.use)
        found = [way for way in found if way not in self.phrases] or found
        way = found[int(self.random.random() * len(found))]
        self.phrases.append(way)
        return way

    def say(self, meaning: str, **facts: str) -> str:
        return self.draw(load_instruction_words()[meaning]).format(**facts)

    def write(self, needs: Sequence[Need], *, usual: bool) -> ShortText | None:
        """usual: there is more, which the shop knows from the profile."""
        leaf = map_leaves().get(self.counter.leaf)
        if leaf is None or any(is_never_said(need) or self.is_lack(need) for need in needs):
            return None
        nouns = [noun for noun in leaf.nouns if not any(is_opposite(noun, need.value) for need in needs)] or leaf.nouns
        noun = nouns[int(self.random.random() * len(nouns))]
        said = {need.fact: self.phrase_trait(need) for need in needs}
        stated = [need for need in needs if need.known == "stated"]
        first = self.draw_first(stated, noun)
        if first:
            said[first.fact] = first.value
        rest = sorted(
            (need for need in stated if need is not first),
            key=lambda need: (need.kind == "price", self.random.random()),
        )
        want = self.say("want", thing=f"{first.value if first else ''}{noun}")
        clauses = [said[need.fact] for need in rest]
        why = self.draw_reason(leaf.why, stated)
        text = self.join(want, clauses, why)
        text += self.say("usual") if usual else self.say("closing") if self.random.random() < CLOSING else ""
        # The opening that goes with the reason; the first of a leaf goes with any.
        vague = max(leaf.vague, key=lambda each: len(list_pairs(each) & list_pairs(why)))
        worded = [need.model_copy(update={"said": said[need.fact]}) for need in needs]
        return ShortText(text, self.say("opening", vague=vague), "", worded, sorted(set(self.phrases)), [])

    def draw_reason(self, reasons: Sequence[str], stated: Sequence[Need]) -> str:
        """Why it is wanted; not a reason for what is not wanted: for somebody with high blood sugar no cooker "but with less sugar"."""
        denied = set("".join(need.value for need in stated if need.op == "is not"))
        able = [why for why in reasons if not denied & set(why)] or reasons
        return able[int(self.random.random() * len(able))]

    def draw_first(self, stated: Sequence[Need], noun: str) -> Need | None:
        """The one that stands before the thing: a short value as it is, unless the noun repeats it."""
        able = [
            need
            for need in stated
            if need.op == "is"
            and need.fact != "brand"
            and len(need.value) <= LONGEST_BEFORE
            and not MEASURE.match(need.value)
        ]
        able = [
            need
            for need in able
            if not CODE.fullmatch(need.value)
            and need.value[-1] not in noun
            and not list_pairs(need.value) & list_pairs(noun)
            and not is_for_somebody(need.fact)
        ]
        if not able or self.random.random() > BEFORE:
            return None
        return able[int(self.random.random() * len(able))]

    def join(self, want: str, clauses: Sequence[str], why: str) -> str:
        traits = "，".join(clauses)
        if self.random.random() < WHY:
            more = self.say("more") if self.random.random() < MORE else ""
            form = self.draw(load_instruction_words()["so_more" if more else "so"])
            story = form.format(want=want, why=why, more=more)
            if not story.endswith(want):
                return f"{story}。{traits}{'。' if traits else ''}"
            want = story
        return "，".join(each for each in (want, traits) if each) + "。"

    def phrase_trait(self, need: Need) -> str:
        if need.op in ("at most", "at least") and need.fact != "price":
            effect = find_bound_effect(need, need.op)
            if effect and self.random.random() < EFFECT:
                return self.draw(load_effect_words()[effect.name])
        traits = load_instruction_words()["traits"]
        facts = {"name": need.fact, "value": need.value, "yuan": need.value.removesuffix(".00")}
        meaning = find_meaning(need)
        if meaning == "measure" and self.random.random() < ABOUT and self.stands_apart(need):
            meaning = "measure about"
        ways = traits[meaning]
        if meaning == "value" and list_pairs(need.fact) & list_pairs(need.value):  # the value names it itself
            ways = [way for way in ways if "{name}" not in way]
        return self.draw(ways).format(**facts)

    def is_lack(self, need: Need) -> bool:
        """Whether it is without what its fact names or other things have: who needs no 减震 says nothing of it. 无糖 is a kind of its own."""
        what = need.value[1:]
        if need.op != "is" or need.value[0] not in LACKS or len(what) < 2:
            return False
        others = (value for value in self.counter.values.get(need.fact, ()) if value != need.value)
        return any(what in text for text in (need.fact, *others))

    def stands_apart(self, need: Need) -> bool:
        """Whether about so much is no other value of the category: none is within a fifth. Nobody says about of pieces and days."""
        own, others = parse_measurement(need.value), map(parse_measurement, self.counter.values[need.fact])
        return (
            own is not None
            and own[1] in CONTINUOUS
            and all(
                other is not None and other[1] == own[1] and (other == own or abs(other[0] - own[0]) > own[0] / 5)
                for other in others
            )
        )


def find_meaning(need: Need) -> str:
    """How a need is said, by what it is."""
    if need.fact == "price":
        return f"price {need.op}"
    if need.op == "is not":
        return "not brand" if need.fact == "brand" else "not"
    if need.op in ("at most", "at least"):
        return need.op
    if need.fact in ("color", "brand"):
        return need.fact
    if CODE.fullmatch(need.value):
        return "size" if "码" in need.fact else "code"
    if is_for_somebody(need.fact):
        return "for"
    return "measure" if MEASURE.match(need.value) and parse_measurement(need.value) else "value"


def find_bound_effect(need: Need, op: str) -> Effect | None:
    measure = parse_measurement(need.value)
    return find_effect("", "", need.fact, op, measure[1] if measure else "")


def is_never_said(need: Need) -> bool:
    """Not without something, no trouble, and at most so much of what people only want more of."""
    if need.op == "is" and need.value[0] in TROUBLES:
        return True
    if need.op == "is not":
        return need.value[0] in LACKS
    more = need.op == "at most" and need.fact != "price" and find_bound_effect(need, "at least")
    return bool(more and not find_bound_effect(need, "at most"))


def is_opposite(one: str, other: str) -> bool:
    """Whether one is without what the other is with.

    >>> is_opposite("无线鼠标", "有线款"), is_opposite("无线鼠标", "静音按键")
    (True, False)
    """
    pairs = {pair.translate(str.maketrans("有无", "无有")) for pair in list_pairs(one) if pair[0] in "有无"}
    return bool(pairs & list_pairs(other))


def is_for_somebody(fact: str) -> bool:
    return fact.startswith(("适合", "适用肌", "肤色", "读者"))


def list_pairs(text: str) -> set[str]:
    """
    >>> sorted(list_pairs("保温杯"))
    ['保温', '温杯']
    """
    return {text[place : place + 2] for place in range(len(text) - 1)}


def list_templates() -> list[str]:
    """All phrasings that there are."""
    words = load_instruction_words()
    flat = (ways for name, ways in words.items() if name != "traits")
    return [*chain.from_iterable(flat), *chain.from_iterable(words["traits"].values())]
