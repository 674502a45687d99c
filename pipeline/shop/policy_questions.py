"""Questions about policies: a case that goes through so many rules, and the words of the question, the case and the opening."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random

from shopwright.pipeline.held_out import is_held_out
from shopwright.pipeline.phrases.speaker import Speaker, order_parts
from shopwright.pipeline.shop.policies import ShopPolicies, list_accepted_answers
from shopwright.pipeline.shop.policy_families import load_families, load_impossible_cases, load_policy_facts
from shopwright.pipeline.shop.policy_rules import (
    CaseFacts,
    Condition,
    Rule,
    Span,
    Topic,
    is_condition_met,
)

# A fact of a case: what somebody says of it.
Told = str | int
# Draws of a case until it goes through exactly the rules that were chosen.
TRIES = 40
# A number lies so often on the edge, where a rule begins or ends to hold.
ON_EDGE = 0.25
# Chance that a case of one rule is one of an exception which replaces the first rule's answer: it decides alone.
EXCEPTION = 0.5
# Of a group that no rule names: how often it is one that the shop has beside those that the rules know.
ELSEWHERE = 0.3
# What is counted in a unit of its own.
UNITS = {"late": "day", "age": "month", "years": "year", "pieces": "piece"}
# Topics, those with the fewest facts, of a question that is asked on the way: all facts are in it.
SHORT = 10


def draw_case(topic: Topic, depth: int, random: Random, elsewhere: str = "") -> dict[str, Told] | None:
    """A case that must go through `depth` rules, each of which changes the answer; None where none was found.

    `elsewhere` is a group beside those that the rules know.
    """
    impossible = load_impossible_cases()
    for _ in range(TRIES):
        chosen = choose_rules(topic, depth, random)
        facts = chosen and draw_facts(topic, chosen, random, elsewhere)
        if not chosen or not facts or any(each.items() <= facts.items() for each in impossible):
            continue
        if goes_through(topic, chosen, facts):
            return facts
    return None


def choose_rules(topic: Topic, depth: int, random: Random) -> tuple[Rule, ...]:
    """The rules that a case is to go through, in their order; none where the topic has too few."""
    if depth == 1 and random.random() < EXCEPTION:
        exceptions = [rule for rule in topic.rules[1:] if rule.change == "is"]
        return (topic.rules[0], random.choice(exceptions)) if exceptions else ()
    if depth > len(topic.rules):
        return ()
    rest = random.sample(topic.rules[1:], depth - 1)
    return (topic.rules[0], *sorted(rest, key=lambda rule: rule.number))


def goes_through(topic: Topic, chosen: Sequence[Rule], facts: CaseFacts) -> bool:
    """Whether a case goes through just these rules, and its answer can be said: whole cents, whole pieces, not less than nothing."""
    outcome = topic.outcome(facts)
    if outcome.chain != tuple(chosen) or not outcome.every_step_counts:
        return False
    if isinstance(outcome.value, str):
        return True
    return outcome.value >= 0 and (outcome.value * (100 if topic.unit == "dollars" else 1)).denominator == 1


def draw_facts(topic: Topic, chosen: Sequence[Rule], random: Random, elsewhere: str) -> dict[str, Told] | None:
    """Facts that fit the rules that were chosen, and if possible no other; None where two of these exclude each other."""
    facts: dict[str, Told] = {}
    for name in topic.facts:
        wanted = [rule.when[name] for rule in chosen if name in rule.when]
        fitting = list_fitting_values(topic, name, wanted, elsewhere if random.random() < ELSEWHERE else "")
        if not fitting:
            return None
        facts[name] = pick_value(fitting, random)
    return facts


def pick_value(fitting: list[Told | Span], random: Random) -> Told:
    found = random.choice(fitting)
    if not isinstance(found, Span):
        return found
    low, high = found.least or 0, (found.below or 1) - 1
    return random.choice((low, high)) if random.random() < ON_EDGE else random.randint(low, high)


def list_fitting_values(topic: Topic, name: str, wanted: list[Condition], elsewhere: str) -> list[Told | Span]:
    """Values and ranges of a fact that fit what is wanted; where nothing is, those that fit no rule, if there are any."""
    settings = list_settings(topic, name)
    if wanted:
        for one in wanted:
            settings = [each for each in settings if is_condition_met(one, pick_from(each))]
        return settings
    asked, free = topic.conditions(name), settings
    for one in asked:
        free = [each for each in free if not is_condition_met(one, pick_from(each))]
    if name == "group" and elsewhere and not any(is_condition_met(one, elsewhere) for one in asked):
        return [elsewhere]
    return free or settings


def pick_from(setting: Told | Span) -> Told:
    return setting.least or 0 if isinstance(setting, Span) else setting


def list_settings(topic: Topic, name: str) -> list[Told | Span]:
    """What can be told apart of a fact: its values, a number's ranges between the thresholds of the rules."""
    about = load_policy_facts()[name]
    if not about.high:
        return list(about.values)
    edges = {about.low, about.high + 1}
    for each in topic.conditions(name):
        if isinstance(each, Span):
            edges |= {edge for edge in (each.least, each.below) if edge is not None}
    ends = sorted(edges)
    return [Span(least=low, below=high) for low, high in pairwise(ends)]


def list_other_settings(topic: Topic, name: str, value: Told) -> list[Told]:
    """One value from each other setting that the rules tell apart."""
    found: list[Told] = []
    for setting in list_settings(topic, name):
        if isinstance(setting, Span):
            least = setting.least or 0
            found.append(least + 1 if least == value else least)
        else:
            found.append(setting)
    return [each for each in found if each != value]


# Words


def mean_question(topic: Topic) -> tuple[str, dict[str, str]]:
    """What is asked, without the case, as a meaning of the phrase bank, and what it is said with."""
    choices = " or ".join([", ".join(topic.choices[:-1]), *topic.choices[-1:]]) if topic.choices else ""
    return f"asks {topic.name}", {"choices": choices} if choices else {}


def mean_fact(name: str, value: Told) -> tuple[str, dict[str, str]]:
    """A fact of a case in the same way: a clause.

    >>> mean_fact("member", "yes"), mean_fact("price", 40), mean_fact("late", 1)
    (('case member yes', {'value': 'yes'}), ('case price', {'value': '40'}), ('case late', {'value': '1', 'days': '1 day'}))
    """
    said = str(value)
    if name == "group" or load_policy_facts()[name].high:
        unit = UNITS.get(name)
        return f"case {name}", {
            "value": said,
            **({f"{unit}s": f"{said} {unit}{'' if value == 1 else 's'}"} if unit else {}),
        }
    return f"case {name} {said}", {"value": said}


def draw_quick_question(policies: ShopPolicies, random: Random, speaker: Speaker) -> tuple[str, list[str]]:
    """A short question about the policies with everything that it needs in it, as somebody asks it, and every answer that is right."""
    numbers = [
        name
        for name, family in load_families().items()
        if family.kind == "number" and policies.covers(name) and not is_held_out("topics", [name])
    ]
    short = sorted(numbers, key=policies.count_facts)[:SHORT]
    while True:
        topic = policies.topic(random.choice(short))
        facts = draw_case(topic, random.choice((1, 2)), random)
        if facts is not None:
            value = topic.outcome(facts).value
            return phrase_aside(topic, facts, speaker, random), list_accepted_answers(value, topic.unit)


def phrase_aside(topic: Topic, facts: Mapping[str, Told], speaker: Speaker, random: Random) -> str:
    """A question that is asked on the way, with its case."""
    clauses = [speaker.phrase(*mean_fact(name, facts[name]), random) for name in topic.facts]
    case = speaker.list(order_parts(clauses, random), random)
    question = speaker.phrase(*mean_question(topic), random)
    return speaker.sentence("policy aside", {"question": question, "case": case}, random).fill()
