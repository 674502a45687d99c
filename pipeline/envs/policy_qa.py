"""A question about the shop's policies that has exactly one right answer, or to which they say nothing."""

from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

from pipeline.envs.base import (
    INFEASIBLE,
    Drawn,
    Env,
    Goal,
    Score,
    Solution,
    Undrawable,
    World,
    ledger,
    needless_refusal,
    right_refusal,
)
from pipeline.envs.difficulty import Axes
from pipeline.shop import policies
from pipeline.shop.policies import Topic, Value
from pipeline.shop.store import moment
from pipeline.shop.tools import Shop
from schemas.tasks import Action, Answer, Call

YES_OR_NO, CATEGORY = 0.09, 0.19
"""Shares of the questions that have such answers; the others ask for a number."""
VISITOR = "visitor"
"""Who asks where no customer of the shop is as the question says."""
OPENS = datetime(2025, 1, 15, 10)
"""The time in a shop without customers."""
LOOKED_AT = 12
"""Customers of whom one may be as the question says."""
EXPONENT = 4
"""Of how near a number is (EcomRLVE-GYM, reward of policy QA)."""


class Question(Goal):
    """What is asked, about which case, and the answer."""

    topic: str
    """Empty where the policies say nothing about it."""
    facts: dict[str, str | int]
    answer: str
    chain: list[str]
    """The rules that lead to the answer, in order."""
    query: str
    """A search that somebody who has understood the question would make."""


class PolicyQA(Env):
    """The agent looks up rules, asks for what they depend on, and works them through in their order."""

    name = "policy_qa"
    Goal = Question
    takes_asides = False

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        if random.random() < INFEASIBLE:
            return open_question(world, axes, random)
        store = world.store
        topic = topic_of(axes.clauses, random)
        elsewhere = store.groups[random.randrange(len(store.groups))] if store.groups else ""
        depth = min(axes.clauses, max(topic.by_depth))
        facts = policies.drawn(topic, depth, random, elsewhere)
        if facts is None:
            raise Undrawable(f"the {topic.name} came to no whole cents or pieces")
        outcome = topic.outcome(facts)
        answer = policies.number_said(outcome.value)
        question = random.choice(topic.questions)
        goal = Question(
            **case(world, axes, random, question, topic.facts, facts),
            topic=topic.name,
            answer=answer,
            chain=[rule.id for rule in outcome.chain],
            query=query_of(topic, facts),
        )
        return Drawn(goal, {}, acceptable=[{"policy_answer": answer}], nearest_miss=nearest_miss(topic, facts))

    def solve(self, goal: Question, shop: Shop, axes: Axes) -> Solution:
        missing = [wish.name for wish in goal.wishes if wish.known == "asked"]
        calls = [Call(name="policy_search", args={"query": goal.query})]
        if missing:
            asked = " And what about the ".join(f"{name}?" for name in missing)
            calls.insert(0, Call(name="ask_user", args={"question": f"What about the {asked}"}))
        for first in range(0, len(calls), axes.tool_calls):
            yield Action(tool_calls=calls[first : first + axes.tool_calls])
        answer = Answer(env=self.name, policy_answer=goal.answer, refusal=goal.refusal)
        yield Action(assistant_message=goal.answer, answer=answer)

    def score(self, goal: Question, shop: Shop, answer: Answer | None) -> Score:
        if not goal.feasible:
            right = right_refusal(goal, answer)
            return Score(Fraction(1 if right else -1), right, "" if right else "the policies say nothing about it")
        if answer is None or needless_refusal(goal, answer):
            return Score(Fraction(-1), False, "no answer where the policies give one")
        topic = policies.topics()[goal.topic]
        said, right_one = (policies.understood(text, topic) for text in (answer.policy_answer, goal.answer))
        task = nearness(said, right_one)
        return Score(task, said == right_one, "" if said == right_one else "the policies say otherwise")


def nearness(said: Fraction | str | None, right: Fraction | str | None) -> Fraction:
    """From -1 to 1: exact for a category; of numbers by the fourth power of the smaller over the larger.

    >>> nearness(Fraction(15), Fraction(30)), nearness(Fraction(0), Fraction(30)), nearness("yes", "yes")
    (Fraction(-7, 8), Fraction(-1, 1), Fraction(1, 1))
    """
    if said == right:
        return Fraction(1)
    if not isinstance(said, Fraction) or not isinstance(right, Fraction):
        return Fraction(-1)
    return 2 * (min(said, right) / max(said, right)) ** EXPONENT - 1


@cache
def deep_enough(clauses: int) -> dict[str, tuple[Topic, ...]]:
    """For each kind of answer the topics with a chain of so many rules; the deepest there are where none has."""
    found: dict[str, tuple[Topic, ...]] = {}
    for kind in ("number", "category", "yes or no"):
        of_kind = [topic for topic in policies.topics().values() if topic.kind == kind]
        depth = min(clauses, max(max(topic.by_depth) for topic in of_kind))
        found[kind] = tuple(topic for topic in of_kind if depth in topic.by_depth)
    return found


def topic_of(clauses: int, random: Random) -> Topic:
    dice = random.random()
    kind = "yes or no" if dice < YES_OR_NO else "category" if dice < YES_OR_NO + CATEGORY else "number"
    return random.choice(deep_enough(clauses)[kind])


def case(
    world: World, axes: Axes, random: Random, question: str, names: tuple[str, ...], facts: dict[str, Value]
) -> dict[str, Any]:
    """Who asks, when, and what can be learnt of the case: all the facts that an answer can depend on."""
    known = policies.facts_known()
    told = [("question", question), *((known[name].words[0], known[name].say(facts[name])) for name in names)]
    words = [[], *(known[name].words[1:] for name in names)]
    wishes = ledger(told, axes, random, always=["question"])
    persona, now = asker(world, facts, random)
    return {
        "persona_id": persona,
        "now": now,
        "wishes": [wish.model_copy(update={"topics": topics}) for wish, topics in zip(wishes, words, strict=True)],
        "facts": facts,
    }


def asker(world: World, facts: dict[str, Value], random: Random) -> tuple[str, datetime]:
    """A customer who is a member if the question says so, a day after the last visit."""
    customers = world.store.customers
    for _ in range(LOOKED_AT if customers else 0):
        customer = customers[random.randrange(len(customers))]
        if facts.get("member", "yes" if customer.member else "no") == ("yes" if customer.member else "no"):
            seen = customer.visited_at
            after = moment(float(seen[-1])) + timedelta(days=1) if len(seen) else OPENS
            return customer.id, customer.now or after
    return VISITOR, OPENS


def query_of(topic: Topic, facts: dict[str, Value]) -> str:
    """The topic, and what of the case counts."""
    counts = [name for rule in topic.outcome(facts).chain for name in rule.when]
    known = policies.facts_known()
    return " ".join([topic.name, *(known[name].say(facts[name]) for name in dict.fromkeys(counts))])


def nearest_miss(topic: Topic, facts: dict[str, Value]) -> dict[str, str]:
    """The nearest wrong answer that somebody gives who takes one fact of the case for another."""
    right = topic.outcome(facts).value
    best: tuple[Fraction, dict[str, str]] | None = None
    for name in topic.facts:
        for other in policies.others(topic, name, facts[name]):
            value = topic.outcome({**facts, name: other}).value
            near = nearness(value, right)
            if value != right and (best is None or near > best[0]):
                wish = policies.facts_known()[name].words[0]
                best = near, {"policy_answer": policies.number_said(value), "breaks": wish}
    if best is None:
        raise Undrawable(f"nothing in the case decides about the {topic.name}")
    return best[1]


def open_question(world: World, axes: Axes, random: Random) -> Drawn:
    """A question about something that no rule names; its certificate is that none does."""
    subject = random.choice(policies.not_covered())
    facts = {name: policies.any_value(name, random) for name in subject.facts}
    question = random.choice(subject.asked)
    naming = policies.naming(subject.words)
    if naming:
        raise Undrawable(f"{naming[0].id} says something about {subject.words[0]}")
    near = policies.search(question, 1)
    goal = Question(
        **case(world, axes, random, question, tuple(subject.facts), facts),
        refusal="not_covered",
        topic="",
        answer="",
        chain=[],
        query=subject.words[0],
    )
    return Drawn(
        goal,
        {},
        acceptable={"refusal": "not_covered", "words": subject.words, "rules_with_them": [rule.id for rule in naming]},
        nearest_miss={"policy_answer": policies.number_said(near[0].value) if near else "0", "breaks": "refusal"},
    )
