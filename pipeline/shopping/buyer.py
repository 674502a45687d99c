"""The shopper of a shopping task: vague at first, tells what it is asked for, and does not let anybody buy while it has not told all.

Scripted, in English and Chinese; what a need is said in is the task's own words (ShopSimulator, arXiv 2601.18225, section 2.2).
"""

import re
from collections.abc import Sequence
from functools import cached_property
from random import Random
from typing import Literal, NamedTuple

from pipeline.prompts import phrases
from pipeline.shop.topics import PLAIN, Keys, asked, keys_of, questions, stem
from pipeline.shopping.wording import leaves, name_of, one_of
from pipeline.words import content_words
from schemas.shopping import Need, Scenario, ShoppingTask

BUY = {
    "en": re.compile(r"\b(?:buy|(?<!in )order|purchase|go ahead|check ?out)\b", re.IGNORECASE),
    "zh": re.compile(r"下单|购买|买下|买这|就买|付款"),
}
"""What somebody says who asks whether to buy."""
OPEN = {
    "en": re.compile(r"\b(?:what|which|how|who|where|when)\b", re.IGNORECASE),
    "zh": re.compile(r"什么|哪|几|多少|怎"),
}
"""What stands in a question that asks for more than yes or no: `What color do you want to buy?` proposes nothing."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
LONG = 3
"""Words of a name such as `how much is in it`."""
GENERAL = {"zh": ("其他", "别的", "还有", "要求", "补充", "什么样", "哪些", "偏好")}
ANY = {"zh": "什么哪几多少吗？?呢"}


class Heard(NamedTuple):
    """What the shopper says, the facts that it tells, which of them were asked for by name, and what it says to a purchase."""

    text: str
    tells: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    verdict: Literal["", "agreed", "refused"] = ""


class Buyer:
    """Answers questions about one task."""

    def __init__(self, task: ShoppingTask, scenario: Scenario) -> None:
        self.task, self.language, self.personal = task, task.language, "personal" in scenario
        self.stated = [need for need in task.needs if need.known == "stated"]
        self.opening = task.simple_instruction if scenario.startswith("multi") else task.instruction
        self.told: set[str] = set() if scenario.startswith("multi") else {need.fact for need in self.stated}
        """Facts that the agent has heard."""
        self.random = Random(f"{task.id}/{scenario}/buyer")

    @property
    def untold(self) -> list[Need]:
        return [need for need in self.stated if need.fact not in self.told]

    def answer(self, question: str) -> Heard:
        """To several questions at once all of them; a purchase is refused while something is missing."""
        if self.wants_to_buy(question):
            return self.consents()
        meant, general, beyond = self.meant(question)
        named = tuple(need.fact for need in meant)
        if not meant and general:
            meant = self.untold[:1]
            if not meant:
                return self.say("usual" if self.personal else "nothing_more")
        if meant:
            new = [need for need in meant if need.fact not in self.told]
            self.told |= {need.fact for need in meant}
            heard = self.say("tells" if new else "tells_again", self.joined([need.said for need in meant]))
            return Heard(heard.text, tuple(need.fact for need in meant), named)
        if beyond:
            return self.say("usual" if self.personal else "does_not_mind")
        return self.say("does_not_understand")

    def wants_to_buy(self, question: str) -> bool:
        """Whether a sentence of it asks yes or no to a purchase."""
        asks = [each for each in SENTENCE.split(question) if re.search("[?？吗]", each)]
        return any(BUY[self.language].search(each) and not OPEN[self.language].search(each) for each in asks)

    def consents(self) -> Heard:
        missing = self.untold
        if not missing:
            return self.say("consents")._replace(verdict="agreed")
        kinds = [name_of(self.task.category, need.fact, self.language) for need in missing]
        return self.say("refuses", self.joined(kinds))._replace(verdict="refused")

    def meant(self, question: str) -> tuple[list[Need], bool, bool]:
        """The needs that are asked for; whether it asks for anything else; whether it asks for what is no need."""
        if self.language == "zh":
            return self.meant_in_chinese(question)
        named, rest = self.named(questions(question) or question)
        found = asked(rest, self.keys)
        return (
            [*named, *(self.stated[place] for place in found.wishes if self.stated[place] not in named)],
            bool(found.more),
            bool(found.others or found.unknown or found.confirms),
        )

    def named(self, question: str) -> tuple[list[Need], str]:
        """The needs whose long names stand there word by word, which say little by their words alone, and the question without them."""
        found, rest = [], " ".join(question.split())
        names = [(name_of(self.task.category, need.fact, "en"), need) for need in self.stated]
        for name, need in sorted(names, key=lambda each: -len(each[0])):
            if len(name.split()) >= LONG and name.lower() in rest.lower():
                found.append(need)
                rest = re.sub(re.escape(name), " ", rest, flags=re.IGNORECASE)
        return found, rest

    @cached_property
    def keys(self) -> list[Keys]:
        return [keys_of(need.fact, need.said, self.topics(need)) for need in self.stated]

    def topics(self, need: Need) -> tuple[str, ...]:
        """The words by which its name tells it from others: of "how much is in the bag" the bag."""
        name = content_words(name_of(self.task.category, need.fact, "en"))
        return tuple(word for word in name if stem(word) not in PLAIN["filler"])

    def meant_in_chinese(self, question: str) -> tuple[list[Need], bool, bool]:
        names = {need.fact: name_of(self.task.category, need.fact, "zh") for need in self.stated}
        found = [need for need in self.stated if names[need.fact] in question or need.fact in question]
        known = leaves().get(self.task.category, {}).get("names", {})
        other = any(str(each.get("zh", "")) in question for each in known.values() if each.get("zh"))
        general = any(word in question for word in GENERAL["zh"])
        return found, general, other or any(sign in question for sign in ANY["zh"])

    def joined(self, parts: Sequence[str]) -> str:
        return ("；" if self.language == "zh" else "; ").join(parts)

    def say(self, how: str, *facts: str) -> Heard:
        return Heard(one_of(phrases("shopping_episodes", how, *facts, self.language), self.random))
