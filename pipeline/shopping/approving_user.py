"""The user simulator of a shopping task: one short answer to a question, and no purchase while something is untold.

In English and Chinese; what a need is said in is the task's own words (ShopSimulator, arXiv 2601.18225, section 2.2).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.shop.topics import PLAIN, build_slot_keys, extract_questions, parse_user_question, stem_word
from shopwright.pipeline.shop.user_simulator import SimulatorReply, UserSimulator
from shopwright.pipeline.shopping.short_wording import SEVERAL
from shopwright.pipeline.shopping.wording import phrase_fact_name
from shopwright.pipeline.words import content_words
from shopwright.schemas.shopping import Need, Scenario, ShoppingTask
from shopwright.schemas.tasks import Slot

# What somebody says who asks whether to buy.
BUY = {
    "en": re.compile(r"\b(?:buy|(?<!in )order|purchase|go ahead|check ?out)\b", re.IGNORECASE),
    "zh": re.compile(r"下单|购买|买下|买这|就买|买吗|付款"),
}
# What stands in a question that asks for more than yes or no: `What color do you want to buy?` proposes nothing.
OPEN = {
    "en": re.compile(r"\b(?:what|which|how|who|where|when)\b", re.IGNORECASE),
    "zh": re.compile(r"什么|哪|几|多少|怎"),
}
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
# Where a fact stands in a phrase; no keyboard has it.
MARK = "\ue000"
# A clause behind a thing, or the rest of one whose beginning another has: "that is red and has a lid".
VERBS = "|".join({**SEVERAL, **dict.fromkeys(SEVERAL.values())}).replace("'", "'?")
OF_SEVERAL = {verb.replace("'", "") for verb in SEVERAL.values()} - SEVERAL.keys()
CLAUSE = re.compile(rf"(?P<that>(?:that|which) )?(?P<verb>{VERBS}) |(?P<other>that|which) ")
# Words of a name such as `how much is in it`.
LONG = 3
GENERAL_WORDS = ("其他", "别的", "还有", "要求", "补充", "什么样", "哪些", "偏好")
QUESTION_SIGNS = "什么哪几多少吗？?呢"


def complete_clause(said: str) -> str:
    """What is said of a thing behind its name, as an answer of its own.

    >>> [complete_clause(said) for said in ("that has a lid", "come with a lid", "with a lid", "that I can fold")]
    ['one that has a lid', 'ones that come with a lid', 'with a lid', 'one that I can fold']
    """
    found = CLAUSE.match(said)
    if not found:
        return said
    thing = "ones" if (found["verb"] or "").replace("'", "") in OF_SEVERAL - {"wont"} else "one"
    return f"{thing} {said}" if found["that"] or found["other"] else f"{thing} that {said}"


@cache
def load_reply_frames(how: str, facts: int, language: str) -> tuple[str, ...]:
    """The ways to say something, with marks where the facts go."""
    return tuple(render_phrases("shopping_episodes", how, *[MARK] * facts, language))


@dataclass(frozen=True)
class AskedNeeds:
    """What a question is about."""

    places: list[int]
    """Of the slots that it names."""
    general: bool
    """It asks for anything else."""
    beyond: bool
    """It asks for what is no need."""


class ApprovingUser(UserSimulator):
    """Approves a purchase when it has told all; gives one short answer to a question."""

    part = "buyer"

    def __init__(self, task: ShoppingTask, scenario: Scenario) -> None:
        self.task, self.language, self.personal = task, task.language, "personal" in scenario
        multi = scenario.startswith("multi")
        self.opening = task.simple_instruction if multi else task.instruction
        self.names = {need.fact: phrase_fact_name(task.category, need.fact, task.language) for need in task.needs}
        # What the profile tells is known to be asked for, and told by nobody.
        self.carried = [self.make_slot(need, "inferable") for need in task.needs if need.known == "profile"]
        stated = [need for need in task.needs if need.known == "stated"]
        asked = {need.fact for need in stated if multi} - set(task.opening_facts)
        slots = [self.make_slot(need, "asked" if need.fact in asked else "stated") for need in stated]
        super().__init__(slots, seed=f"{task.id}/{scenario}")

    def make_slot(self, need: Need, known: Literal["stated", "asked", "inferable"]) -> Slot:
        return Slot(name=need.fact, said=need.said, known=known, topics=self.list_topics(need))

    def list_topics(self, need: Need) -> list[str]:
        """The words by which its name tells it from others: of "how much is in the bag" the bag."""
        name = content_words(phrase_fact_name(self.task.category, need.fact, "en"))
        return [word for word in name if stem_word(word) not in PLAIN["filler"]]

    def word(self, how: str, facts: Sequence[str], form: str) -> str:
        ways = load_reply_frames(how, len(facts), self.language)
        line = ways[int(self.dice.random() * len(ways))]
        for fact in facts:
            line = line.replace(MARK, fact, 1)
        return line

    def reply(self, question: str) -> SimulatorReply:
        """To several questions at once all of them; a purchase is refused while something is missing."""
        if self.wants_to_buy(question):
            return self.consent()
        about = self.parse(question, self.slots)
        if about.places:
            named = tuple(self.slots[place].name for place in about.places)
            return self.tell(about.places, general=False)._replace(asked=named)
        if about.general and self.untold:
            return self.tell([self.slots.index(self.untold[0])], general=True)
        if about.general or about.beyond:
            rest = "said_it_all" if about.general else "does_not_mind"
            usual = [self.carried[place].name for place in self.parse(question, self.carried).places]
            return self.say("clarify", "usual" if self.personal else rest)._replace(asked=tuple(usual))
        return self.say("clarify", "does_not_understand")

    def tell(self, places: list[int], *, general: bool) -> SimulatorReply:
        slots, new = [self.slots[place] for place in places], self.disclose(places)
        heard = self.say(
            "clarify", "tells" if new else "tells_again", self.join(complete_clause(slot.said) for slot in slots)
        )
        return heard._replace(tells=tuple(slot.name for slot in slots))

    def wants_to_buy(self, question: str) -> bool:
        """Whether a sentence of it asks yes or no to a purchase."""
        asks = [each for each in SENTENCE.split(question) if re.search("[?？吗]", each)]
        return any(BUY[self.language].search(each) and not OPEN[self.language].search(each) for each in asks)

    def consent(self) -> SimulatorReply:
        """Whether it may be bought; if not, what was not asked for."""
        missing = self.untold
        if not missing:
            return self.say("agreed", "confirms")
        return self.say("refused", "refuses", self.join(self.names[slot.name] for slot in missing))

    def join(self, parts: Iterable[str]) -> str:
        return ("；" if self.language == "zh" else "; ").join(parts)

    def parse(self, question: str, slots: Sequence[Slot]) -> AskedNeeds:
        """Which of these slots a question is about, and what else."""
        return (
            self.parse_in_chinese(question, slots) if self.language == "zh" else self.parse_in_english(question, slots)
        )

    def parse_in_english(self, question: str, slots: Sequence[Slot]) -> AskedNeeds:
        """Long names, which say little by their words alone, are looked for word by word, the longest first."""
        found, rest = list[int](), " ".join((extract_questions(question) or question).split())
        for place, slot in sorted(enumerate(slots), key=lambda each: -len(self.names[each[1].name])):
            name = self.names[slot.name]
            if len(name.split()) >= LONG and name.lower() in rest.lower():
                found.append(place)
                rest = re.sub(re.escape(name), " ", rest, flags=re.IGNORECASE)
        about = parse_user_question(rest, list(map(build_slot_keys, slots)))
        places = list(dict.fromkeys([*found, *about.slots]))
        return AskedNeeds(places, bool(about.more), bool(about.others or about.unknown or about.confirms))

    def parse_in_chinese(self, question: str, slots: Sequence[Slot]) -> AskedNeeds:
        places = [
            place for place, slot in enumerate(slots) if self.names[slot.name] in question or slot.name in question
        ]
        general = any(word in question for word in GENERAL_WORDS)
        return AskedNeeds(places, general, any(sign in question for sign in QUESTION_SIGNS))
