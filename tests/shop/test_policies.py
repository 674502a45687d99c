"""The policies: what the rules say in words is what they compute, and one answer holds for any case."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from shopwright.pipeline.shop import policies
from shopwright.pipeline.shop.policies import (
    FOLDER,
    Clause,
    Span,
    list_rules,
    load_policy_facts,
    load_topics,
    read_policy_file,
)
from shopwright.pipeline.shop.store import Customer, Item
from shopwright.pipeline.words import split_words
from shopwright.schemas.shop import Line, Order

every_topic = pytest.mark.parametrize("topic", list(load_topics().values()), ids=lambda topic: topic.name)
DELIVERED = datetime(2024, 5, 10, 15)


def cases(topic):
    """Every case that the rules tell apart, with each number at both ends of its range."""
    axes = []
    for name in topic.facts:
        values = []
        for setting in topic.settings(name):
            values += [setting.least, setting.below - 1] if isinstance(setting, Span) else [setting]
        axes.append(list(dict.fromkeys(values)))
    return [dict(zip(topic.facts, values, strict=True)) for values in product(*axes)]


def by_hand(written, facts):
    """The answer again, from the file alone."""
    value = None
    for rule in written["rules"]:
        fits = True
        for name, wanted in rule.get("when", {}).items():
            if isinstance(wanted, dict):
                fits &= wanted.get("least", -1) <= facts[name] < wanted.get("below", 10**9)
            else:
                fits &= facts[name] in ([wanted] if isinstance(wanted, str) else wanted)
        if not fits:
            continue
        if "is" in rule:
            value = rule["is"] if isinstance(rule["is"], str) else Fraction(rule["is"])
        elif "plus" in rule:
            value += rule["plus"]
        elif "minus" in rule:
            value -= rule["minus"]
        elif "times" in rule:
            value = value * rule["times"] / 100
        elif "at_most" in rule:
            value = min(value, Fraction(rule["at_most"]))
        else:
            value = max(value, Fraction(rule["at_least"]))
    return value * facts[written["of"]] / 100 if "of" in written else value


@pytest.fixture(scope="module")
def files():
    return {
        each["name"]: each for path in FOLDER.glob("*.toml") for each in read_policy_file(path.stem).get("topics", ())
    }


def test_there_are_many_rules_and_each_has_an_id_of_its_own():
    assert len(list_rules()) >= 60
    assert len({rule.id for rule in list_rules()}) == len({rule.title for rule in list_rules()}) == len(list_rules())


@every_topic
def test_no_two_rules_of_a_topic_have_the_same_place_and_the_first_holds_for_everybody(topic):
    assert [rule.number for rule in topic.rules] == list(range(1, len(topic.rules) + 1))
    assert not topic.rules[0].when
    assert topic.rules[0].change == "is"
    assert "in the order of their numbers" in topic.rules[0].text


@every_topic
def test_every_case_has_one_answer_and_a_second_reading_gives_the_same(topic, files):
    for facts in cases(topic):
        value = topic.outcome(facts).value
        assert value == by_hand(files[topic.name], facts)
        if topic.kind == "number":
            assert value >= 0
        else:
            assert value in (topic.choices or ("yes", "no"))


@every_topic
def test_every_rule_decides_some_case(topic):
    last = {topic.outcome(facts).chain[-1].number for facts in cases(topic) if topic.outcome(facts).every_step_counts}
    assert last == {rule.number for rule in topic.rules}


def test_a_text_says_what_the_rule_computes():
    for rule in list_rules():
        said = rule.text.lower()
        assert str(rule.value).lower() in said or (rule.value == "no" and "not" in said)
        for name, wanted in rule.when.items():
            if isinstance(wanted, Span):
                assert any(str(edge) in said for edge in (wanted.least, wanted.below) if edge is not None)
            elif name == "group":
                assert all(group.lower() in said for group in wanted)
            elif wanted <= {"yes", "no"}:
                assert any(word in said for word in load_policy_facts()[name].words)
            else:
                assert all(value_said(name, value, said) for value in wanted)


def value_said(name, value, said):
    """Whether a text has a word of the value that no other value of this fact has."""
    others = {
        word for key, text in load_policy_facts()[name].values.items() if key != value for word in split_words(text)
    }
    return bool((set(split_words(load_policy_facts()[name].values[value])) - others) & set(split_words(said)))


@every_topic
def test_the_texts_name_no_group_that_the_rule_is_not_about(topic):
    for rule in topic.rules:
        named = {group for group in load_policy_facts()["group"].values if f"from {group}" in rule.text}
        assert named <= set(rule.when.get("group", ()))


def test_a_rule_changes_exactly_one_thing():
    with pytest.raises(ValueError, match="exactly one of"):
        Clause(text="Nothing.")
    with pytest.raises(ValueError, match="exactly one of"):
        Clause(text="Two things.", plus=1, minus=1)


def test_the_order_of_the_rules_matters():
    facts = {"group": "Digital", "opened": "no", "price": 900, "member": "yes", "holiday": "no", "clearance": "no"}
    topic = load_topics()["return window"]
    assert topic.outcome(facts).value == 15 + 10
    assert topic.outcome({**facts, "group": "Home"}).value == 25 + 10  # capped before the member's days are added
    assert topic.outcome({**facts, "clearance": "yes"}).value == 7


# Questions


def test_no_question_is_asked_of_two_topics():
    asked = [question for topic in load_topics().values() for question in topic.questions]
    asked += [question for subject in policies.load_uncovered_subjects() for question in subject.asked]
    assert len({question.lower() for question in asked}) == len(asked)


@every_topic
def test_a_question_says_in_what_the_answer_is(topic):
    for question in topic.questions:
        assert all(choice in question for choice in topic.choices)
        assert topic.unit in question or topic.kind != "number"
        assert "yes or no" in question or topic.kind != "yes or no"


def test_facts_have_names_of_their_own():
    names = [fact.words[0] for fact in load_policy_facts().values()]
    assert len(set(names)) == len(names)
    assert all(name in load_policy_facts() for topic in load_topics().values() for name in topic.facts)
    assert all(name in load_policy_facts() for subject in policies.load_uncovered_subjects() for name in subject.facts)


def test_values_of_a_fact_are_said_differently():
    for fact in load_policy_facts().values():
        said = [fact.say(value) for value in (fact.values or {"1": "", "2": ""})]
        assert len(set(said)) == len(said) > 1


def test_no_rule_names_what_is_not_covered():
    assert len(policies.load_uncovered_subjects()) >= 20
    for subject in policies.load_uncovered_subjects():
        assert policies.find_rules_naming(subject.words) == []
        for question in subject.asked:
            assert any(word in question.lower() for word in subject.words), question
    assert policies.find_rules_naming(["warranty"])


@pytest.mark.parametrize(
    ("topic", "answer", "meant"),
    [
        ("return window", "14", 14),
        ("return window", " 14 Days. ", 14),
        ("return window", "14 hours", None),
        ("return window", "$14", None),
        ("return window", "about 14", None),
        ("return window", "-14", None),
        ("return window", "1e9", None),
        ("return window", "9" * 50_000, None),
        ("shipping fee", "$12.50", Fraction(25, 2)),
        ("shipping fee", "12.5", Fraction(25, 2)),
        ("shipping fee", "1,250 dollars", 1250),
        ("shipping fee", "", None),
        ("return method", "the Shop  Counter", "shop counter"),
        ("return method", "helicopter", None),
        ("loan device", "Yes.", "yes"),
        ("loan device", "14", None),
    ],
)
def test_an_answer_is_understood_or_not(topic, answer, meant):
    assert policies.parse_policy_answer(answer, load_topics()[topic]) == meant


@every_topic
def test_the_answer_that_is_handed_in_means_the_answer(topic):
    for facts in cases(topic)[:200]:
        value = topic.outcome(facts).value
        if isinstance(value, str) or (value * 100).denominator == 1:
            for answer in policies.list_accepted_answers(value, topic.unit):
                assert policies.parse_policy_answer(answer, topic) == value


def test_a_drawn_case_goes_through_as_many_rules_as_asked():
    random = Random(3)
    for topic in load_topics().values():
        for depth in topic.by_depth:
            for _ in range(20):
                facts = policies.draw_case(topic, depth, random, "Fountains")
                if facts is None:
                    continue
                outcome = topic.outcome(facts)
                assert outcome.every_step_counts
                deciding = outcome.chain[-1:] if depth == 1 and outcome.chain[-1].change == "is" else outcome.chain
                assert len(deciding) == depth
        assert policies.draw_case(topic, 99, random) is None


def test_a_group_that_the_rules_do_not_know_is_like_any_other():
    random, met = Random(5), set()
    for _ in range(200):
        facts = policies.draw_case(load_topics()["return window"], 1, random, "Fountains")
        if facts["group"] == "Fountains":
            assert load_topics()["return window"].outcome(facts).value == 30
        met.add(facts["group"])
    assert {"Fountains", "Sports", "Digital"} <= met


def read_back(topic, question):
    """The case, from the words of a question alone."""
    facts = {}
    for name in topic.facts:
        about = load_policy_facts()[name]
        if about.high:
            facts[name] = int(
                re.search(about.say("#").replace("$", r"\$").replace("#", r"(\d+)"), question, re.IGNORECASE)[1]
            )
        else:
            (facts[name],) = (value for value in about.values if about.say(value).lower() in question.lower())
    return facts


def test_a_quick_question_has_everything_in_it_that_its_answer_needs(files):
    met = set()
    for seed in range(300):
        question, answers = policies.draw_quick_question(Random(seed))
        assert (question, answers) == policies.draw_quick_question(Random(seed))
        topic = next(each for each in load_topics().values() for asked in each.questions if question.endswith(asked))
        value = by_hand(files[topic.name], read_back(topic, question))
        assert {policies.parse_policy_answer(answer, topic) for answer in answers} == {value}
        assert len(question) < 300
        met.add(answers[0])
    assert len(met) >= 20


# Search


@every_topic
def test_the_name_of_a_topic_finds_its_first_rule(topic):
    assert policies.search_policies(topic.name)[0] == topic.rules[0]


@every_topic
def test_a_question_finds_the_first_rule(topic):
    for question in topic.questions:
        assert topic.rules[0] in policies.search_policies(question), question


def test_a_title_finds_its_rule():
    assert [rule.id for rule in list_rules() if rule not in policies.search_policies(rule.title)] == []


def test_a_search_gives_at_most_five_and_nothing_for_nonsense():
    assert len(policies.search_policies("member")) == 5
    assert len(policies.search_policies("member", k=2)) == 2
    assert policies.search_policies("") == policies.search_policies("?!") == policies.search_policies("zzzz 30") == []


# Returns


def item(group="Sports"):
    return Item(0, "p", "a thing", None, None, "Things", group, 1, None, None, None, "", ())


def order(*, price="40", placed=datetime(2024, 5, 3), delivered=DELIVERED, cancelled=None):
    line = Line(line_id="l", product_id="p", variant_id="v", title="a thing", quantity=1, price=Decimal(price))
    return Order(
        id="o",
        persona_id="c",
        trajectory_id="t",
        rows=[1],
        lines=[line],
        placed=placed,
        shipped=placed,
        delivered=delivered,
        cancelled=cancelled,
        total=Decimal(price),
    )


def verdict(order, group="Sports", *, member=False, days=0, of=None):
    customer = Customer("c", np.zeros(0, np.int64), np.zeros(0, np.int64), (order,), member)
    now = DELIVERED + timedelta(days=days)
    return policies.return_verdict(order, order.lines[0], of or item(group), customer, now)


@pytest.mark.parametrize(
    ("group", "member", "price", "window"),
    [
        ("Sports", False, "40", 30),
        ("Sports", True, "40", 40),
        ("Digital", False, "40", 15),
        ("Home", False, "499.99", 60),
        ("Home", False, "500", 25),
        ("Home", True, "500", 35),
        ("Fountains", False, "40", 30),
    ],
)
def test_the_last_day_of_the_window_counts_and_the_next_does_not(group, member, price, window):
    told = verdict(order(price=price), group, member=member, days=window)
    assert told["eligible"]
    assert told["until"] == (DELIVERED + timedelta(days=window)).date().isoformat()
    assert not verdict(order(price=price), group, member=member, days=window + 1)["eligible"]


def test_the_window_of_the_tool_is_that_of_the_text_it_names():
    told = verdict(order(), "Digital", days=16)
    rule = next(rule for rule in list_rules() if rule.id == told["policy_id"])
    assert "15 days" in rule.text
    assert "15 days" in told["reason"]


def test_what_was_ordered_in_december_has_longer():
    late = order(placed=datetime(2023, 12, 3))
    assert verdict(late, days=48)["eligible"]
    assert not verdict(late, days=49)["eligible"]


@pytest.mark.parametrize("group", ["Food", "Services"])
def test_what_cannot_be_returned_cannot_be_returned_by_members_either(group):
    told = verdict(order(), group, member=True)
    assert not told["eligible"]
    assert "cannot be returned" in told["reason"]
    assert told["until"] == ""


def test_what_was_cancelled_or_is_on_its_way_cannot_be_returned():
    assert verdict(order(delivered=None))["reason"] == "it has not been delivered"
    assert verdict(order(delivered=DELIVERED + timedelta(days=1)))["reason"] == "it has not been delivered"
    gone = order(delivered=None, cancelled=datetime(2024, 5, 4))
    assert verdict(gone)["reason"] == "the order was cancelled"
    assert not any(verdict(each)["eligible"] for each in (order(delivered=None), gone))


def test_a_product_that_is_sold_no_more_has_the_general_window():
    customer = Customer("c", np.zeros(0, np.int64), np.zeros(0, np.int64), ())
    told = policies.return_verdict(order(), order().lines[0], None, customer, DELIVERED)
    assert told == {
        "eligible": True,
        "reason": "the return window of 30 days ends on 2024-06-09",
        "policy_id": "return-window-1",
        "until": "2024-06-09",
    }
