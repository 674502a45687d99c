"""Whether each reply of a shopping task's shopper is right: read back from the words alone, by the readers of instructions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from shopwright.pipeline.shopping.expert import READERS, Vocabulary
from shopwright.schemas.shopping import Need, Scenario, ShoppingTask, Step

# That it may be bought, that it may not yet be, that something does not matter, and that nothing more is wanted.
AGREES = re.compile(r"^(?:if it is all|yes\b|go ahead|(?:sure, please|ok,) buy)|就买|就下单吧|买吧")
REFUSES = re.compile(r"^(?:not (?:yet|so fast)|(?:please )?wait\b|hold on)|先别买|别急着下单|还没问")
UNMINDED = re.compile(
    r"do not mind|either is fine|any of them|not matter to me|no preference|up to you|不在意|都可以|随便|都行"
)
ALL_SAID = re.compile(r"that is (?:all|it|everything)|nothing else|know everything|没有别的|就这些|没什么了|都说了")
BUYS = re.compile(r"\b(?:buy|purchase|order)\b[^.!?]*\?|下单吗|买吗")


@dataclass
class ReplyReader:
    """Reads one shopper's replies, one after the other."""

    task: ShoppingTask
    scenario: Scenario
    shop: Vocabulary
    told: set[str] = field(default_factory=set)
    """Facts that the agent knows by now."""

    def __post_init__(self) -> None:
        stated = [need for need in self.task.needs if need.known == "stated"]
        # The longest first: "white oak" is not "white".
        self.stated = sorted(stated, key=lambda need: -len(need.said))
        multi = self.scenario.startswith("multi")
        self.told |= {need.fact for need in stated if not multi or need.fact in self.task.opening_facts}
        # What things are called comes with a reading: a reply names no thing.
        self.thing = next(name for name, leaf in self.shop.names if leaf == self.task.category)

    def list_errors(self, steps: Iterable[Step]) -> Iterator[str]:
        for number, step in enumerate(steps, 1):
            asks = step.action.startswith("ask[")
            if asks and (wrong := self.find_error(step.action[4:-1].lower(), step.observation)):
                yield f"step {number}: {wrong}: {step.observation!r}"

    def find_error(self, question: str, heard: str) -> str | None:
        low = " ".join(heard.lower().split())
        untold = [need for need in self.stated if need.fact not in self.told]
        rest, told = low, list[Need]()
        for need in self.stated:
            said = " ".join(need.said.lower().split()).rstrip(".。")
            if said and said in rest:
                rest = rest.replace(said, " , ", 1)
                told.append(need)
        self.told |= {need.fact for need in told}
        return (
            self.find_invented(rest)
            or self.find_denied(low, rest, question, untold)
            or self.find_silence(question, {need.fact for need in told})
        )

    def list_asked(self, question: str) -> list[Need]:
        return [need for need in self.stated if names_fact(question, need.fact)]

    def find_invented(self, rest: str) -> str | None:
        """What the words beside those of its needs say."""
        if REFUSES.search(rest):
            return None  # it names facts, and no values
        _, read, _ = READERS[self.task.language](f"{self.thing}, {rest}", self.shop.names, self.shop.facts_of).read()
        found = [f"{'/'.join(sorted(one.facts))} {one.op} {one.value}" for one in read]
        return f"{found[0]} was read and is not wanted" if found else None

    def find_denied(self, low: str, rest: str, question: str, untold: Sequence[Need]) -> str | None:
        """What is agreed to too early, refused too late, or not minded and is; rest: beside its needs, which may say "anything but"."""
        if AGREES.search(low) and untold:
            return f"it agrees before it told the {untold[0].fact}"
        if REFUSES.search(low) and not untold:
            return "it refuses, and has told everything"
        if ALL_SAID.search(low) and untold:
            return f"it has not told the {untold[0].fact}"
        asked = self.list_asked(question)
        return f"it minds the {asked[0].fact}" if asked and UNMINDED.search(rest) else None

    def find_silence(self, question: str, told: set[str]) -> str | None:
        """What a question names and the reply does not tell; a question whether to buy gets an answer of its own."""
        missing = [need.fact for need in self.list_asked(question) if need.fact not in told]
        return (
            f"it was asked for the {missing[0]}, and does not tell" if missing and not BUYS.search(question) else None
        )


def names_fact(question: str, fact: str) -> bool:
    """
    >>> names_fact("which pack size do you need?", "size"), names_fact("which size?", "size")
    (True, True)
    """
    return re.search(rf"(?<![a-z]){re.escape(fact.lower())}(?![a-z])", question) is not None
