"""A question about the shop's policies that has exactly one right answer, or to which they say nothing.

A shop leaves some topics out. What is asked is drawn before it is known whether this shop says anything about it, so that the words of
a question tell nothing about whether it has an answer: the agent has to look.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from shopwright.pipeline.envs.base import (
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
from shopwright.pipeline.envs.customers import VISITOR
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.policies import (
    ShopPolicies,
    format_policy_answer,
    parse_policy_answer,
)
from shopwright.pipeline.shop.policy_families import load_families, load_policy_facts
from shopwright.pipeline.shop.policy_questions import (
    Told,
    draw_case,
    list_other_settings,
    mean_fact,
    mean_question,
)
from shopwright.pipeline.shop.policy_rules import Topic
from shopwright.pipeline.shop.store import Customer, seconds_to_shop_time
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import AnyOf, Certificate, End, Infeasible, Miss, NoRule
from shopwright.schemas.tasks import Action, Answer, Call, Slot

# Shares of the questions that have such answers; the others ask for a number.
YES_OR_NO, CATEGORY = 0.09, 0.19
# The time in a shop without customers.
OPENS = datetime(2025, 1, 15, 10)
# Customers of whom one may be as the question says.
LOOKED_AT = 12
# Topics that are looked at until one has a case that goes through so many rules.
TOPICS = 24
# Rules, at most, that a case goes through.
DEEPEST = 5
# Of how near a number is (EcomRLVE-GYM, reward of policy QA).
EXPONENT = 4


class PolicyQuestion(Goal):
    """What is asked, about which case, and the answer."""

    topic: str
    facts: dict[str, str | int]
    answer: str
    """Empty where the policies say nothing about the topic."""
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
        askers = draw_askers(world, random)
        policies = world.policies_for(askers[0].id if askers else VISITOR)
        store = world.store
        elsewhere = store.groups[random.randrange(len(store.groups))] if store.groups else ""
        topic, facts = draw_topic_and_case(policies, axes.clauses, random, elsewhere)
        persona, now = choose_asker(askers, world, policies, facts)
        outcome = topic.outcome(facts)
        answer, covered = format_policy_answer(outcome.value), policies.covers(topic.name)
        goal = PolicyQuestion(
            persona_id=persona,
            now=now,
            slots=list_policy_slots(topic, facts, axes, random),
            refusal="" if covered else "not_covered",
            policies=policies.id,
            topic=topic.name,
            facts=facts,
            answer=answer if covered else "",
            chain=[rule.id for rule in outcome.chain] if covered else [],
            query=make_policy_query(topic, facts),
        )
        miss = find_wrong_policy_answer(topic, facts)
        if not covered:  # what shops that have the rule say
            miss = make_policy_miss(answer, "refusal")
        return DrawnTask(goal, {}, certify_answer(policies, topic, answer), miss)

    def solve(self, goal: PolicyQuestion, shop: Shop, axes: Axes) -> Solution:
        yield Action(tool_calls=[Call(name="policy_search", args={"query": goal.query})])
        answer = Answer(env=self.name, policy_answer=goal.answer, refusal=goal.refusal)
        yield Action(assistant_message=goal.answer, answer=answer)

    def open(self, goal: PolicyQuestion, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        question = stated.pop("question").said
        case = list_said(stated.values(), speaker, random)
        return Opening(self.name, {"question": question, "case": case}, {"about": "the case" if case else ""})

    def score(self, goal: PolicyQuestion, shop: Shop, answer: Answer | None) -> GoalScore:
        if not goal.feasible:
            right = is_right_refusal(goal, answer)
            return GoalScore(Fraction(1 if right else -1), right, "" if right else "the policies say nothing about it")
        if answer is None or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no answer where the policies give one")
        family = load_families()[goal.topic]
        said, right_one = (parse_policy_answer(text, family) for text in (answer.policy_answer, goal.answer))
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


def draw_kind(random: Random) -> str:
    dice = random.random()
    return "yes or no" if dice < YES_OR_NO else "category" if dice < YES_OR_NO + CATEGORY else "number"


def draw_topic_and_case(
    policies: ShopPolicies, clauses: int, random: Random, elsewhere: str
) -> tuple[Topic, dict[str, Told]]:
    """What is asked about, whether this shop says anything about it or not, and a case that goes through so many rules."""
    kind, depth = draw_kind(random), min(clauses, DEEPEST)
    names = [family.name for family in load_families().values() if family.kind == kind]
    for name in random.sample(names, min(TOPICS, len(names))):
        topic = policies.topic(name)
        facts = draw_case(topic, depth, random, elsewhere)
        if facts is not None:
            return topic, facts
    raise CannotDraw(f"its policies have no case of {depth} rules whose answer is a {kind}")


def draw_askers(world: World, random: Random) -> list[Customer]:
    """Customers who may ask; the policies are those for the first of them."""
    customers = world.store.customers
    return [customers[random.randrange(len(customers))] for _ in range(LOOKED_AT if customers else 0)]


def choose_asker(
    askers: list[Customer], world: World, policies: ShopPolicies, facts: dict[str, Told]
) -> tuple[str, datetime]:
    """A customer who is a member if the question says so, a day after the last visit."""
    if not askers:
        return VISITOR, OPENS
    for customer in askers:
        member = "yes" if customer.member else "no"
        if facts.get("member", member) == member and world.policies_for(customer.id).id == policies.id:
            seen = customer.visited_at
            after = seconds_to_shop_time(float(seen[-1])) + timedelta(days=1) if len(seen) else OPENS
            return customer.id, customer.now or after
    raise CannotDraw(f"none of {len(askers)} customers is as the question says")


def list_policy_slots(topic: Topic, facts: dict[str, Told], axes: Axes, random: Random) -> list[Slot]:
    """What can be learnt of the case: the question, and all the facts that an answer can depend on."""
    known = load_policy_facts()
    told = [make_slot("question", *mean_question(topic), "question")]
    for name in topic.facts:
        slot = make_slot(known[name].words[0], *mean_fact(name, facts[name]), "clause")
        told.append(slot.model_copy(update={"topics": known[name].words[1:]}))
    return draw_disclosure(told, axes, random, always=["question"])


def make_policy_query(topic: Topic, facts: dict[str, Told]) -> str:
    """The topic, and what of the case counts, as the titles of rules have it."""
    abouts = [rule.title.partition(": ")[2] for rule in topic.outcome(facts).chain]
    return " ".join([topic.name, *filter(None, abouts)])


def certify_answer(policies: ShopPolicies, topic: Topic, answer: str) -> Certificate:
    if policies.covers(topic.name):
        return AnyOf(ends=[End(answer=Answer(policy_answer=answer))])
    proof = NoRule(policies=policies.id, topic=topic.name, rules=len(policies.rules))
    return Infeasible(refusal="not_covered", proof=proof)


def find_wrong_policy_answer(topic: Topic, facts: dict[str, Told]) -> Miss:
    """The nearest wrong answer that somebody gives who takes one fact of the case for another."""
    right = topic.outcome(facts).value
    best: tuple[Fraction, Miss] | None = None
    for name in topic.facts:
        for other in list_other_settings(topic, name, facts[name]):
            value = topic.outcome({**facts, name: other}).value
            near = score_nearness(value, right)
            if value != right and (best is None or near > best[0]):
                slot = load_policy_facts()[name].words[0]
                best = near, make_policy_miss(format_policy_answer(value), slot)
    if best is None:
        raise CannotDraw(f"nothing in the case decides about the {topic.name}")
    return best[1]


def make_policy_miss(answer: str, breaks: str) -> Miss:
    return Miss(breaks=[breaks], end=End(answer=Answer(policy_answer=answer)))
