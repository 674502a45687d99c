"""One shop's policies: rules drawn by a seed from the families, found by a search, gone through for an answer.

    policies = load_policies("train-000007")
    policies.search("how long can I return it")     # rules, as an agent reads them
    policies.topics["return window"].outcome(facts)  # the answer, and the rules that lead to it

An episode has one such set of policies: its texts, its tools and what is scored all go by it.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from heapq import nsmallest
from itertools import chain
from math import log
from random import Random
from typing import Any

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.policy_families import (
    Clause,
    Family,
    Side,
    count_facts,
    draw_rules,
    load_families,
    phrase_topic,
)
from shopwright.pipeline.shop.policy_rules import Rule, Topic
from shopwright.pipeline.shop.store import Customer, Item
from shopwright.pipeline.words import split_words
from shopwright.schemas.shop import Line, Order

# Of which an episode has one.
COUNT = 1_000_000
# Share of shops that say nothing about a topic which shops may leave out.
LEFT_OUT = 0.15
NAME = re.compile(r"(train|test)-(\d{6})")
# Of an episode that says nothing about its policies.
USUAL = "train-000000"


@dataclass(frozen=True)
class ShopPolicies:
    """All that one shop says about returns, delivery, payment and the rest; its topics are drawn when they are first needed."""

    id: str
    side: Side

    @cached_property
    def rules_so_far(self) -> dict[str, tuple[list[Clause], Random]]:
        """The rules of topics that have no words yet, and the dice for these."""
        return {}

    @cached_property
    def topics_so_far(self) -> dict[str, Topic]:
        """Topics that were put into words so far."""
        return {}

    def topic(self, name: str) -> Topic:
        """A topic as this shop has it, or would have it."""
        if name not in self.topics_so_far:
            self.topics_so_far[name] = phrase_topic(load_families()[name], *self.draw_rules(name))
            del self.rules_so_far[name]
        return self.topics_so_far[name]

    def draw_rules(self, name: str) -> tuple[list[Clause], Random]:
        if name not in self.rules_so_far:
            random = Random(f"{self.id}/{name}")
            self.rules_so_far[name] = draw_rules(load_families()[name], self.side, random), random
        return self.rules_so_far[name]

    def count_facts(self, name: str) -> int:
        """On how many facts an answer to this topic depends; for this it needs no words."""
        found = self.topics_so_far.get(name)
        return len(found.facts) if found else count_facts(load_families()[name], self.draw_rules(name)[0])

    def covers(self, name: str) -> bool:
        """Whether the shop says anything about a topic."""
        return load_families()[name].always or Random(f"{self.id}/{name}/left out").random() >= LEFT_OUT

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """Every topic that the shop says something about, in the order of the files."""
        return {name: self.topic(name) for name in load_families() if self.covers(name)}

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, topic by topic."""
        return tuple(chain.from_iterable(topic.rules for topic in self.topics.values()))

    @cached_property
    def index(self) -> dict[str, list[tuple[int, float]]]:
        """For each stem the rules that have it and what it counts there: more where few topics have it."""
        having: dict[str, list[tuple[int, float]]] = {}
        for place, rule in enumerate(self.rules):
            for stem, counts in weigh_rule_stems(rule).items():
                having.setdefault(stem, []).append((place, counts))
        found = {}
        for stem, places in having.items():
            rare = log(1 + len(self.topics) / len({self.rules[place].topic for place, _ in places}))
            found[stem] = [(place, rare * counts) for place, counts in places]
        return found

    def search(self, query: str, k: int = 5) -> list[Rule]:
        """The rules that fit a question, the best first."""
        scores: dict[int, float] = {}
        for stem in dict.fromkeys(stem_policy_text(query)):
            for place, score in self.index.get(stem, ()):
                scores[place] = scores.get(place, 0.0) + score
        best = nsmallest(k, scores, key=lambda place: (-scores[place], place))
        return [self.rules[place] for place in best]

    def return_verdict(
        self, order: Order, line: Line, item: Item | None, customer: Customer, now: datetime
    ) -> dict[str, Any]:
        """Whether a line can be returned at this time, by the rules on the return window; its box counts as sealed.

        Returns `eligible`, `reason`, `policy_id` of the last rule that counted, and `until`, the last day (empty: there is none).
        """
        outcome = self.topic("return window").outcome(
            {
                "group": item.group if item else "",
                "price": line.price,
                "member": "yes" if customer.member else "no",
                "holiday": "yes" if order.placed.month in (11, 12) else "no",
                "opened": "no",
                "clearance": "no",
            }
        )
        days = int(Fraction(outcome.value))
        facts = {"policy_id": outcome.chain[-1].id, "until": ""}
        if order.cancelled is not None and order.cancelled <= now:
            return {"eligible": False, "reason": "the order was cancelled", **facts}
        if order.delivered is None or order.delivered > now:
            return {"eligible": False, "reason": "it has not been delivered", **facts}
        if not days:
            return {"eligible": False, "reason": outcome.chain[-1].text.rstrip("."), **facts}
        last = order.delivered.date() + timedelta(days=days)
        facts["until"] = last.isoformat()
        ended = last < now.date()
        return {
            "eligible": not ended,
            "reason": f"the return window of {days} days {'ended' if ended else 'ends'} on {last}",
            **facts,
        }


@lru_cache(128)
def load_policies(id: str) -> ShopPolicies:
    """The policies of this name, the same in any process. Raises Problem where none can have it.

    >>> load_policies("train-000007").topics.keys() <= load_families().keys()
    True
    """
    found = NAME.fullmatch(id)
    if found is None:
        raise Problem(f"There are no policies {id!r}. They are called train-000000 to test-{COUNT - 1:06d}.")
    return ShopPolicies(id, "test" if found[1] == "test" else "train")


def name_policies(side: Side, number: int) -> str:
    """
    >>> name_policies("test", 7)
    'test-000007'
    """
    return f"{side}-{number % COUNT:06d}"


# Search


STOP = frozenset(
    "a an and any are as at be been but by can come could do does first for from get goes had has have how i if in is it item its"
    " least like live long many me more most much my no not of on one or our out so take than that the their then there they"
    " this to up was we what when which who will with would you your".split()
)
# Letters by which words are told apart: `delivered` and `delivery` are one, `member` and `membership` are not.
STEM = 7
# How much more a word counts in the name of a topic than in the text of a rule.
TOPIC_BOOST = 4
# How much more the first rule of a topic counts, since it holds for everybody.
GENERAL_RULE_BOOST = 1.4
# What the words about the case in a rule's title count together, at least as much as in its text.
ABOUT_BOOST = 1.5


@lru_cache(20_000)
def stem_policy_text(text: str) -> list[str]:
    """What a text says, for the search.

    >>> stem_policy_text("How many days is the return window for members?")
    ['day', 'return', 'window', 'member']
    """
    return [word[:STEM] for word in split_words(text) if word not in STOP and not word.isdigit()]


def weigh_rule_stems(rule: Rule) -> dict[str, float]:
    first = rule.number == 1
    named = set(stem_policy_text(rule.topic))
    said = {
        *stem_policy_text(f"{rule.title} {rule.text}"),
        *(stem_policy_text(load_families()[rule.topic].words) if first else ()),
    }
    # Of "large amounts, members" the rule for members is meant, not that for small amounts, with which it shares a word.
    about = stem_policy_text(rule.title.partition(": ")[2])
    counts = {stem: ABOUT_BOOST / len(about) for stem in about}
    boost = GENERAL_RULE_BOOST if first else 1
    return {stem: boost * (TOPIC_BOOST if stem in named else max(1, counts.get(stem, 1))) for stem in sorted(said)}


# Answers


def format_policy_answer(value: Fraction | str) -> str:
    """An answer as it is handed in.

    >>> format_policy_answer(Fraction(25, 2)), format_policy_answer(Fraction(30)), format_policy_answer("yes")
    ('12.50', '30', 'yes')
    """
    if isinstance(value, str) or value.denominator == 1:
        return str(value)
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.2f}"


NUMBER = re.compile(r"\$? ?(\d{1,3}(?:,\d{3}){1,2}|\d{1,9})(\.\d{1,4})?(?: ?([a-z]+|%))?")


def parse_policy_answer(answer: str, topic: Topic | Family) -> Fraction | str | None:
    """What an answer means, None where it means nothing to this topic: `14 days`, `$12.50`, `Yes.`, `the courier`."""
    text = " ".join(answer.lower().split()).rstrip(".")
    if topic.kind == "number":
        return parse_policy_number(text, topic.unit)
    text = text.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    return text if text in (topic.choices or ("yes", "no")) else None


def parse_policy_number(text: str, unit: str) -> Fraction | None:
    """
    >>> parse_policy_number("$1,200.50", "dollars"), parse_policy_number("14 days", "days"), parse_policy_number("2 weeks", "days"), parse_policy_number("$3", "days")
    (Fraction(2401, 2), Fraction(14, 1), None, None)
    """
    found = NUMBER.fullmatch(text)
    if (
        found is None
        or (found[3] and found[3] not in (unit, unit.removesuffix("s")))
        or ("$" in text and unit != "dollars")
    ):
        return None
    return Fraction(found[1].replace(",", "") + (found[2] or ""))


def list_accepted_answers(value: Fraction | str, unit: str) -> list[str]:
    """How one may write it, the plainest first."""
    said = format_policy_answer(value)
    if isinstance(value, str):
        return [said]
    longer = [f"{float(value):.2f}"] if unit == "dollars" else []
    plain = list(dict.fromkeys([said, *longer]))
    marked = [f"${each}" for each in plain] if unit == "dollars" else []
    return [*plain, *marked, *(f"{each} {unit.removesuffix('s') if value == 1 else unit}" for each in plain)]
