"""A question about the shop's policies that has exactly one right answer, or to which they say nothing."""

from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from itertools import chain
from random import Random
from typing import Any

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    Env,
    Goal,
    GoalScore,
    Solution,
    World,
    draw_disclosure,
    is_needless_refusal,
    is_right_refusal,
)
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.shop import policies
from shopwright.pipeline.shop.policies import Topic, Value
from shopwright.pipeline.shop.store import seconds_to_shop_time
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import AnyOf, End, Infeasible, Miss, NoRule
from shopwright.schemas.tasks import Action, Answer, Call

# Shares of the questions that have such answers; the others ask for a number.
YES_OR_NO, CATEGORY = 0.09, 0.19
# Who asks where no customer of the shop is as the question says.
VISITOR = "visitor"
# The time in a shop without customers.
OPENS = datetime(2025, 1, 15, 10)
# Customers of whom one may be as the question says.
LOOKED_AT = 12
# Of how near a number is (EcomRLVE-GYM, reward of policy QA).
EXPONENT = 4


class PolicyQuestion(Goal):
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
    Goal = PolicyQuestion
    refusals = ("not_covered",)
    takes_asides = False

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        if random.random() < INFEASIBLE:
            return draw_open_question(world, axes, random)
        store = world.store
        topic = draw_policy_topic(axes.clauses, random)
        elsewhere = store.groups[random.randrange(len(store.groups))] if store.groups else ""
        depth = min(axes.clauses, max(topic.by_depth))
        facts = policies.draw_case(topic, depth, random, elsewhere)
        if facts is None:
            raise CannotDraw(f"the {topic.name} came to no whole cents or pieces")
        outcome = topic.outcome(facts)
        answer = policies.format_policy_answer(outcome.value)
        question = random.choice(topic.questions)
        goal = PolicyQuestion(
            **draw_policy_case(world, axes, random, question, topic.facts, facts),
            topic=topic.name,
            answer=answer,
            chain=[rule.id for rule in outcome.chain],
            query=make_policy_query(topic, facts),
        )
        right = End(answer=Answer(policy_answer=answer))
        return DrawnTask(goal, {}, AnyOf(ends=[right]), find_wrong_policy_answer(topic, facts))

    def solve(self, goal: PolicyQuestion, shop: Shop, axes: Axes) -> Solution:
        missing = [slot.name for slot in goal.slots if slot.known == "asked"]
        calls = [Call(name="policy_search", args={"query": goal.query})]
        if missing:
            asked = " And what about the ".join(f"{name}?" for name in missing)
            calls.insert(0, Call(name="ask_user", args={"question": f"What about the {asked}"}))
        for first in range(0, len(calls), axes.tool_calls):
            yield Action(tool_calls=calls[first : first + axes.tool_calls])
        answer = Answer(env=self.name, policy_answer=goal.answer, refusal=goal.refusal)
        yield Action(assistant_message=goal.answer, answer=answer)

    def score(self, goal: PolicyQuestion, shop: Shop, answer: Answer | None) -> GoalScore:
        if not goal.feasible:
            right = is_right_refusal(goal, answer)
            return GoalScore(Fraction(1 if right else -1), right, "" if right else "the policies say nothing about it")
        if answer is None or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no answer where the policies give one")
        topic = policies.load_topics()[goal.topic]
        said, right_one = (policies.parse_policy_answer(text, topic) for text in (answer.policy_answer, goal.answer))
        task = score_nearness(said, right_one)
        return GoalScore(task, said == right_one, "" if said == right_one else "the policies say otherwise")


def score_nearness(said: Fraction | str | None, right: Fraction | str | None) -> Fraction:
    """From -1 to 1: exact for a category; of numbers by the fourth power of the smaller over the larger.

    >>> score_nearness(Fraction(15), Fraction(30)), score_nearness(Fraction(0), Fraction(30)), score_nearness("yes", "yes")
    (Fraction(-7, 8), Fraction(-1, 1), Fraction(1, 1))
    """
    if said == right:
        return Fraction(1)
    if not isinstance(said, Fraction) or not isinstance(right, Fraction):
        return Fraction(-1)
    return 2 * (min(said, right) / max(said, right)) ** EXPONENT - 1


@cache
def find_deep_topics(clauses: int) -> dict[str, tuple[Topic, ...]]:
    """For each kind of answer the topics with a chain of so many rules; the deepest there are where none has."""
    found: dict[str, tuple[Topic, ...]] = {}
    for kind in ("number", "category", "yes or no"):
        of_kind = [topic for topic in policies.load_topics().values() if topic.kind == kind]
        depth = min(clauses, max(max(topic.by_depth) for topic in of_kind))
        found[kind] = tuple(topic for topic in of_kind if depth in topic.by_depth)
    return found


def draw_policy_topic(clauses: int, random: Random) -> Topic:
    dice = random.random()
    kind = "yes or no" if dice < YES_OR_NO else "category" if dice < YES_OR_NO + CATEGORY else "number"
    return random.choice(find_deep_topics(clauses)[kind])


def draw_policy_case(
    world: World, axes: Axes, random: Random, question: str, names: tuple[str, ...], facts: dict[str, Value]
) -> dict[str, Any]:
    """Who asks, when, and what can be learnt of the case: all the facts that an answer can depend on."""
    known = policies.load_policy_facts()
    told = [("question", question), *((known[name].words[0], known[name].say(facts[name])) for name in names)]
    words = [[], *(known[name].words[1:] for name in names)]
    slots = draw_disclosure(told, axes, random, always=["question"])
    persona, now = draw_asker(world, facts, random)
    return {
        "persona_id": persona,
        "now": now,
        "slots": [slot.model_copy(update={"topics": topics}) for slot, topics in zip(slots, words, strict=True)],
        "facts": facts,
    }


def draw_asker(world: World, facts: dict[str, Value], random: Random) -> tuple[str, datetime]:
    """A customer who is a member if the question says so, a day after the last visit."""
    customers = world.store.customers
    for _ in range(LOOKED_AT if customers else 0):
        customer = customers[random.randrange(len(customers))]
        if facts.get("member", "yes" if customer.member else "no") == ("yes" if customer.member else "no"):
            seen = customer.visited_at
            after = seconds_to_shop_time(float(seen[-1])) + timedelta(days=1) if len(seen) else OPENS
            return customer.id, customer.now or after
    return VISITOR, OPENS


def make_policy_query(topic: Topic, facts: dict[str, Value]) -> str:
    """The topic, and what of the case counts."""
    counts = dict.fromkeys(chain.from_iterable(rule.when for rule in topic.outcome(facts).chain))
    known = policies.load_policy_facts()
    return " ".join([topic.name, *(known[name].say(facts[name]) for name in counts)])


def find_wrong_policy_answer(topic: Topic, facts: dict[str, Value]) -> Miss:
    """The nearest wrong answer that somebody gives who takes one fact of the case for another."""
    right = topic.outcome(facts).value
    best: tuple[Fraction, Miss] | None = None
    for name in topic.facts:
        for other in policies.list_other_settings(topic, name, facts[name]):
            value = topic.outcome({**facts, name: other}).value
            near = score_nearness(value, right)
            if value != right and (best is None or near > best[0]):
                slot = policies.load_policy_facts()[name].words[0]
                best = near, make_policy_miss(policies.format_policy_answer(value), slot)
    if best is None:
        raise CannotDraw(f"nothing in the case decides about the {topic.name}")
    return best[1]


def make_policy_miss(answer: str, breaks: str) -> Miss:
    return Miss(breaks=[breaks], end=End(answer=Answer(policy_answer=answer)))


def draw_open_question(world: World, axes: Axes, random: Random) -> DrawnTask:
    """A question about something that no rule names; its certificate is that none does."""
    subject = random.choice(policies.load_uncovered_subjects())
    facts = {name: policies.draw_any_value(name, random) for name in subject.facts}
    question = random.choice(subject.asked)
    naming = policies.find_rules_naming(subject.words)
    if naming:
        raise CannotDraw(f"{naming[0].id} says something about {subject.words[0]}")
    near = policies.search_policies(question, 1)
    goal = PolicyQuestion(
        **draw_policy_case(world, axes, random, question, tuple(subject.facts), facts),
        refusal="not_covered",
        topic="",
        answer="",
        chain=[],
        query=subject.words[0],
    )
    proof = NoRule(words=list(subject.words), rules=len(policies.list_rules()))
    miss = make_policy_miss(policies.format_policy_answer(near[0].value) if near else "0", "refusal")
    return DrawnTask(goal, {}, Infeasible(refusal=goal.refusal, proof=proof), miss)
