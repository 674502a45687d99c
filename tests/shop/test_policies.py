"""The policies: texts and rules come from one draw, one answer holds for any case, and the test meets rules that training has not."""

import hashlib
import re
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import chain
from random import Random

import numpy as np
import pytest

from shopwright.pipeline.checks.policy_texts import apply_read_rules, read_rule, read_topic
from shopwright.pipeline.phrases.bank import FOLDER, load_grammar_bank
from shopwright.pipeline.phrases.grammar import REGISTERS, parse_phrase_files
from shopwright.pipeline.phrases.speaker import Speaker, draw_speaker
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.reading.wishes import ShopVocabulary, read_case_fact, read_wishes
from shopwright.pipeline.shop import policies, policy_questions
from shopwright.pipeline.shop.policies import USUAL, load_policies, name_policies
from shopwright.pipeline.shop.policy_families import (
    Branch,
    Clause,
    Family,
    draw_rules,
    is_sound,
    load_families,
    load_policy_facts,
    phrase_amount,
    phrase_change,
    phrase_topic,
    read_policy_file,
)
from shopwright.pipeline.shop.policy_questions import (
    draw_case,
    draw_quick_question,
    list_other_settings,
    list_settings,
    mean_fact,
    mean_question,
    phrase_aside,
    pick_from,
    pick_value,
)
from shopwright.pipeline.shop.policy_rules import Span
from shopwright.pipeline.shop.store import Customer, Item
from shopwright.pipeline.shop.tools import status_at
from shopwright.schemas.shop import Line, Order

SIDES = ("train", "test")
every_family = pytest.mark.parametrize("family", list(load_families().values()), ids=lambda family: family.name)
every_fact = pytest.mark.parametrize("fact", list(load_policy_facts()))
# A clause that stands by itself.
CLAUSE = re.compile(
    r"(?:I|it|there|you|my|the|we|this|what|all|another|elsewhere|somebody|only|a|from)\b", re.IGNORECASE
)
DELIVERED = datetime(2024, 5, 10, 15)
BANK = load_grammar_bank("envs")


def draw_topic(family, side, random):
    return phrase_topic(family, draw_rules(family, side, random), random)


@cache
def shops():
    """Of either side."""
    return [load_policies(name_policies(side, number)) for side in SIDES for number in range(30)]


def describe(rule):
    """What a rule asks and does, as the reader of texts puts it."""
    when = []
    for fact, wanted in rule.when.items():
        if isinstance(wanted, Span):
            sign = "least" if wanted.least is not None else "below"
            when.append((fact, sign, str(getattr(wanted, sign))))
        else:
            when.append((fact, "is", "|".join(sorted(wanted))))
    return tuple(when), rule.change, rule.value


def read(topic):
    return [read_rule(rule.title, rule.text) for rule in topic.rules]


def some_cases(topic, count=40):
    """Cases of chance, whatever the rules say, with each number at an end of its range."""
    random = Random(topic.name)
    for _ in range(count):
        facts = {}
        for name in topic.facts:
            setting = random.choice(list_settings(topic, name))
            ends = [setting.least, setting.below - 1] if isinstance(setting, Span) else [setting]
            facts[name] = random.choice(ends)
        yield facts


# Families and shops


@every_family
def test_a_text_says_what_its_rule_asks_and_computes(family):
    for shop in shops():
        topic = shop.topic(family.name)
        for rule, told in zip(topic.rules, read(topic), strict=True):
            assert told is not None, rule.text
            assert (told.topic, told.number) == (family.name, rule.number)
            assert (told.when, told.change, told.value) == describe(rule), rule.text


@every_family
def test_every_case_has_one_answer_and_who_reads_the_texts_finds_it(family):
    for shop in shops()[::4]:
        topic = shop.topic(family.name)
        for facts in some_cases(topic):
            value = topic.outcome(facts).value
            assert value == apply_read_rules(read(topic), facts)
            if topic.kind == "number":
                assert value >= 0
            else:
                assert value in (topic.choices or ("yes", "no"))


@every_family
def test_no_two_rules_of_a_topic_have_the_same_place_and_the_first_holds_for_everybody(family):
    for shop in shops():
        topic = shop.topic(family.name)
        assert [rule.number for rule in topic.rules] == list(range(1, len(topic.rules) + 1))
        assert not topic.rules[0].when
        assert topic.rules[0].change == "is"
        assert "in the order of their numbers" in topic.rules[0].text
        conditions = [describe(rule)[0] for rule in topic.rules]
        assert len({*conditions}) == len(conditions) or family.kind == "number"


@every_family
def test_a_family_gives_thousands_of_topics_and_none_is_on_both_sides(family):
    drawn = {
        side: {tuple(map(describe, draw_topic(family, side, Random(f"{side}/{number}")).rules)) for number in range(60)}
        for side in SIDES
    }
    assert not drawn["train"] & drawn["test"]
    # Were there fewer than 1,000 to draw from, the 60 of training would hold a pair more often than not.
    assert len(drawn["train"]) >= 58
    assert len(drawn["test"]) >= 55


def test_thousands_of_shops_differ():
    windows = [
        tuple(map(describe, load_policies(name_policies("train", n)).topic("return window").rules))
        for n in range(3_000)
    ]
    assert len({*windows}) > 2_990
    assert len({load_policies(name_policies("train", n)).topic("return window").rules[0].value for n in range(300)}) > 8


@every_family
def test_the_branches_stand_in_other_orders_and_some_shops_lack_each(family):
    orders, having = set(), set()
    for number in range(80):
        rules = draw_topic(family, "train", Random(number)).rules[1:]
        orders.add(tuple(sorted({*map(str, (rule.when.keys() for rule in rules))})))
        having.add(frozenset(fact for rule in rules for fact in rule.when))
    assert len(having) > 3


def test_a_shop_is_the_same_whenever_its_topics_are_drawn():
    first, again = policies.ShopPolicies(USUAL, "train"), policies.ShopPolicies(USUAL, "train")
    late = again.topic("warranty")
    assert late == first.topics.get("warranty", late)
    assert first.rules == again.rules
    counted = policies.ShopPolicies(USUAL, "train")
    assert {name: counted.count_facts(name) for name in first.topics} == {
        name: len(topic.facts) for name, topic in first.topics.items()
    }
    assert counted.rules == first.rules
    assert counted.count_facts("warranty") == len(late.facts)


def digest(found):
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def test_the_policies_of_a_name_are_the_same_in_every_version():
    """Runs of earlier versions are read with them: who changes what is drawn changes those runs, and this digest."""
    rules = [rule for shop in shops()[::5] for name in load_families() for rule in shop.topic(name).rules]
    assert digest([(rule.id, rule.title, rule.text, describe(rule)) for rule in rules]) == "ed46fb4ccb318b55"


def test_the_cases_of_a_seed_are_the_same_in_every_version():
    cases = [
        (name, depth, draw_case(shop.topic(name), depth, Random(f"{number} {depth}"), "Fountains"))
        for number, shop in enumerate(shops()[::15])
        for name in load_families()
        for depth in (1, 2, 3)
    ]
    assert digest(cases) == "00022502ec7b2512"
    asked = [draw_quick_question(shop, Random(number), Speaker("plain")) for number, shop in enumerate(shops()[::4])]
    assert digest(asked) == "c1bfe7133bb0d6e0"


def test_what_a_case_may_have_instead_is_one_value_of_each_other_setting():
    window = load_policies(USUAL).topic("return window")
    for name in window.facts:
        settings = list_settings(window, name)
        for value in [pick_from(each) for each in settings]:
            others = list_other_settings(window, name, value)
            assert value not in others
            met = [[each for each in settings if fits(each, other)] for other in others]
            assert [len(each) for each in met] == [1] * len(others)
            assert len(others) >= len(settings) - 1


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ([("minus", 10, 1)], True),
        ([("minus", 11, 1)], False),
        ([("minus", 6, 1), ("minus", 5, 1)], False),
        ([("times", 50, 1), ("minus", 5, 1)], True),
        ([("times", 50, 1), ("minus", 6, 1)], False),
        ([("times", 200, 1), ("minus", 15, 1)], False),  # who is not given twice as much
        ([("at_most", 4, 1), ("minus", 5, 1)], False),
        ([("minus", 5, 1), ("is", 0, 2)], True),  # nothing is taken off what stands behind all
    ],
)
def test_no_case_comes_to_less_than_nothing(changes, sound):
    clauses = [Clause({}, "is", 10, stage=0), *(Clause({}, how, value, stage=stage) for how, value, stage in changes)]
    family = next(each for each in load_families().values() if each.kind == "number")
    assert is_sound(family, clauses) == sound


def test_a_word_counts_more_the_fewer_topics_have_it():
    shop, counts = load_policies(USUAL), {}
    for stem, places in shop.index.items():
        place, weight = places[0]
        topics = {shop.rules[each].topic for each, _ in places}
        counts[len(topics)] = weight / policies.weigh_rule_stems(shop.rules[place])[stem]
    assert len(counts) > 3
    assert sorted(counts, key=counts.get, reverse=True) == sorted(counts)


def test_policies_are_of_the_side_that_their_name_says():
    for number in (0, 7):
        for side in ("train", "test"):
            shop = load_policies(name_policies(side, number))
            assert (shop.id, shop.side) == (f"{side}-{number:06d}", side)


@pytest.mark.parametrize(
    ("span", "low", "high"), [(Span(least=3, below=7), 3, 6), (Span(below=4), 0, 3), (Span(least=5, below=6), 5, 5)]
)
def test_a_value_is_drawn_from_all_of_a_range_and_often_from_its_ends(span, low, high):
    drawn = Counter(pick_value([span], Random(number)) for number in range(200))
    assert (min(drawn), max(drawn), len(drawn)) == (low, high, high - low + 1)
    assert min(drawn[low], drawn[high]) >= max(drawn.values()) / 2


def test_an_amount_is_told_in_its_unit_and_a_share_with_what_it_is_of():
    for family in load_families().values():
        if family.kind not in ("yes or no", "category"):
            said = phrase_amount(family, 7, Random(0))
            assert "7" in said
            assert ("%" in said or "percent" in said) == bool(family.of or family.unit == "percent"), (
                family.name,
                said,
            )


def test_a_category_is_told_as_it_is_and_an_amount_in_its_unit():
    for family in load_families().values():
        if family.kind != "yes or no":
            value = family.base[0]
            said = phrase_change(family, Clause(when={}, change="is", value=value, text=("{amount}",)), Random(0))
            assert said == (f"the {value}" if family.kind == "category" else phrase_amount(family, value, Random(0)))
            assert said != f"the {value}" or family.kind == "category", family.name


def fits(setting, value):
    return setting.least <= value < setting.below if isinstance(setting, Span) else setting == value


def test_a_shop_leaves_out_some_topics_but_never_the_one_that_tools_go_by():
    shares = [len(shop.topics) / len(load_families()) for shop in shops()]
    assert 0.8 < np.mean(shares) < 0.9
    assert all("return window" in shop.topics for shop in shops())
    for name in load_families():
        if name != "return window":
            assert 0 < sum(shop.covers(name) for shop in shops()) < len(shops())


def test_no_rule_of_another_topic_speaks_of_a_topic_that_shops_may_leave_out():
    for shop in shops()[::3]:
        for family in load_families():
            for rule in shop.topic(family).rules:
                said = f"{rule.title} {rule.text}".lower()
                named = [name for name in load_families() if name != family and re.search(rf"\b{name}\b", said)]
                assert named in ([], ["return window"]), rule.text


def test_each_rule_has_an_id_and_a_title_of_its_own():
    for shop in shops()[::5]:
        assert len(shop.rules) > 150
        assert len({rule.id for rule in shop.rules}) == len({rule.title for rule in shop.rules}) == len(shop.rules)


@pytest.mark.parametrize("name", ["train-7", "other-000001", "", "test-0000001"])
def test_policies_of_no_such_name_are_named(name):
    with pytest.raises(Problem, match="There are no policies"):
        load_policies(name)


def test_what_the_test_has_is_nothing_that_training_has():
    branches = [Branch(on=name, plus=[1, 2], share=1) for name in ("member", "student", "business")]
    few = Family(
        name="small fee", unit="dollars", words="fee", base=[5, 6, 7], first=["It is {amount}."], branches=branches
    )
    drawn = {
        side: {tuple(map(describe, draw_topic(few, side, Random(f"{side}{number}")).rules)) for number in range(1_500)}
        for side in SIDES
    }
    assert len(drawn["train"]) > 80
    assert len(drawn["test"]) > 8
    assert len(drawn["train"] | drawn["test"]) == len(drawn["train"]) + len(drawn["test"]) == 3 * 2**3 * 6


def test_a_family_that_is_too_small_for_both_sides_says_so():
    small = Family(
        name="small fee",
        unit="dollars",
        words="fee",
        base=[1],
        first=["{amount}."],
        branches=[Branch(on="member", plus=[1])],
    )
    with pytest.raises(ValueError, match="more alternatives"):
        draw_topic(small, "test", Random(1))


# Words


@every_family
def test_every_question_asks_about_its_topic_in_at_least_twelve_wordings(family):
    templates = BANK.templates[f"asks {family.name}"]
    assert len(templates) >= 12
    assert {"terse", "teenager", "polite", "elderly", "non-native"} <= {each.register for each in templates}
    assert {each.use for each in templates} == {"train", "test", "test_wording"}
    choices = " or ".join([", ".join(family.choices[:-1]), *family.choices[-1:]])
    for template in templates:
        for frame in template.frames():
            assert read_topic(frame.replace("{choices}", choices)) == family.name, frame


def test_no_question_is_asked_of_two_topics():
    topics: dict[str, set[str]] = {}
    for name in load_families():
        for frame in chain.from_iterable(each.frames() for each in BANK.templates[f"asks {name}"]):
            topics.setdefault(frame.lower(), set()).add(name)
    assert {frame: names for frame, names in topics.items() if len(names) > 1} == {}
    assert len(topics) > 800
    by_hand = parse_phrase_files(FOLDER.joinpath("envs").glob("*.txt"))
    written = chain.from_iterable(by_hand[f"asks {name}"] for name in load_families())
    lengths = [len(frame.split()) for each in written for frame in each.frames()]
    assert np.percentile(lengths, 25) <= 7
    assert np.percentile(lengths, 90) >= 12


def test_a_question_about_a_share_of_a_price_is_for_money():
    for family in load_families().values():
        for each in BANK.templates[f"asks {family.name}"] if family.of and family.unit == "dollars" else ():
            assert re.search(r"dollar|money|bucks|credit do I still get for a late return, in dollars", each.pattern), (
                each
            )


def say_fact(fact, value, speaker, random):
    return speaker.phrase(*mean_fact(fact, value), random)


@every_fact
def test_a_fact_is_said_as_it_is_and_as_no_other(fact):
    about = load_policy_facts()[fact]
    values = about.values or [about.low, 7, about.high, 1]
    for value in values:
        for seed in range(160):
            speaker = Speaker(REGISTERS[seed // 2 % len(REGISTERS)], use=SIDES[seed % 2])
            said = say_fact(fact, value, speaker, Random(seed))
            assert read_case_fact(said, fact, about.values) == str(value), said
            assert not re.search(r"\b1 (?:years|months|days|pieces)\b|[,;?]", said)


@every_fact
def test_a_fact_has_words_of_plain_people_and_of_two_registers_at_least(fact):
    for value in load_policy_facts()[fact].values or [7]:
        templates = BANK.templates[mean_fact(fact, value)[0]]
        assert len({each.register for each in templates}) >= 3
        plain = [each for each in templates if each.register == "plain"]
        assert {each.use for each in plain} == {"train", "test", "test_wording"}
        assert all(CLAUSE.match(each.pattern) for each in plain)


def test_the_test_has_wordings_of_its_own():
    topic = load_policies(USUAL).topic("warranty")

    def list_wordings(use):
        speakers = [Speaker(register, use=use) for register in REGISTERS]
        return {
            speakers[seed % len(speakers)].phrase(*mean_question(topic), Random(seed)).lower() for seed in range(300)
        }

    assert len(list_wordings("train")) >= 8
    assert not list_wordings("train") & list_wordings("test")


def test_a_question_on_the_way_is_said_by_each_register_in_ways_of_its_own():
    topic = load_policies(USUAL).topic("restocking fee")
    facts = draw_case(topic, 2, Random(1))
    said = {
        register: {phrase_aside(topic, facts, Speaker(register), Random(seed)) for seed in range(40)}
        for register in REGISTERS
    }
    assert all(len(found) >= 30 for found in said.values())
    assert len(set.union(*said.values())) == sum(map(len, said.values()))


def test_facts_have_names_of_their_own():
    names = [fact.words[0] for fact in load_policy_facts().values()]
    assert len(set(names)) == len(names)
    assert all(
        fact in load_policy_facts() for shop in shops()[:3] for topic in shop.topics.values() for fact in topic.facts
    )


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
    assert policies.parse_policy_answer(answer, load_families()[topic]) == meant


@every_family
def test_the_answer_that_is_handed_in_means_the_answer(family):
    topic = load_policies(USUAL).topic(family.name)
    for facts in some_cases(topic):
        value = topic.outcome(facts).value
        if isinstance(value, str) or (value * 100).denominator == 1:
            for answer in policies.list_accepted_answers(value, topic.unit):
                assert policies.parse_policy_answer(answer, topic) == value


# Cases


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_drawn_case_goes_through_as_many_rules_as_asked(depth):
    random, found = Random(depth), 0
    for shop in shops()[::10]:
        for family in load_families():
            topic = shop.topic(family)
            facts = draw_case(topic, depth, random, "Fountains")
            if facts is None:
                continue
            found += 1
            outcome = topic.outcome(facts)
            assert outcome.every_step_counts
            deciding = outcome.chain[-1:] if depth == 1 and outcome.chain[-1].change == "is" else outcome.chain
            assert len(deciding) == depth
            assert isinstance(outcome.value, str) or outcome.value >= 0
    assert found > 60


def test_no_case_has_more_rules_than_its_topic():
    assert draw_case(load_policies(USUAL).topic("warranty"), 99, Random(1)) is None


def test_nobody_is_a_member_who_has_never_been_one():
    impossible = read_policy_file("facts")["impossible"]
    assert {"member": "yes", "newcomer": "yes"} in impossible
    members = 0
    for seed in range(400):
        facts = draw_case(shops()[seed % len(shops())].topic("referral reward"), 3, Random(seed)) or {}
        members += {"member", "newcomer"} <= facts.keys() and "yes" in (facts["member"], facts["newcomer"])
        assert not any(each.items() <= facts.items() for each in impossible)
    assert members > 20


def test_a_case_that_is_just_what_cannot_be_is_not_drawn(monkeypatch):
    topic = load_policies(USUAL).topic("return window")
    first = draw_case(topic, 2, Random(3))
    monkeypatch.setattr(policy_questions, "load_impossible_cases", lambda: [first])
    assert draw_case(topic, 2, Random(3)) not in (None, first)


def test_a_group_that_the_rules_do_not_know_is_like_any_other():
    topic, random, met = load_policies(USUAL).topic("return window"), Random(5), set()
    for _ in range(300):
        facts = draw_case(topic, 1, random, "Fountains") or {}
        if facts.get("group") == "Fountains" and len(topic.outcome(facts).chain) == 1:
            assert topic.outcome(facts).value == topic.rules[0].value
        met.add(facts.get("group"))
    assert "Fountains" in met
    assert len(met) > 3


def test_a_quick_question_has_everything_in_it_that_its_answer_needs():
    met = set()
    for seed in range(300):
        shop = shops()[seed % len(shops())]
        speaker = draw_speaker(f"{seed}", use=shop.side)
        question, answers = draw_quick_question(shop, Random(seed), speaker)
        assert (question, answers) == draw_quick_question(shop, Random(seed), speaker)
        asked, topic = find_question(question)
        assert answers_of(shop.topics[topic], read_case(question.lower().replace(asked, " . "))) == answers, question
        assert len(question) < 400
        met.add(answers[0])
    assert len(met) >= 20


def find_question(text):
    """The longest question that a text has in it, and its topic."""
    frames = {
        frame.lower(): name
        for name in load_families()
        for each in BANK.templates[f"asks {name}"]
        for frame in each.frames()
    }
    asked = max((frame for frame in frames if frame in text.lower()), key=len)
    return asked, frames[asked]


def read_case(text):
    """The case, from the words alone."""
    shop = ShopVocabulary({}, lambda leaf: {}, {}, groups=load_policy_facts()["group"].values)
    wishes = read_wishes(text, shop, date(2024, 5, 1), case=True)
    said = dict(wish.value.split("=") for wish in wishes if wish.kind == "case")
    assert len(said) == len(wishes), text
    return {name: int(value) if value.isdigit() else value for name, value in said.items()}


def answers_of(topic, facts):
    return policies.list_accepted_answers(topic.outcome(facts).value, topic.unit)


# Search


@every_family
def test_the_name_of_a_topic_finds_its_first_rule(family):
    for shop in shops()[::10]:
        if shop.covers(family.name):
            assert shop.search(family.name)[0] == shop.topics[family.name].rules[0]


def test_nearly_every_question_finds_the_first_rule():
    shop, lost = load_policies(USUAL), []
    asked = [(topic, each) for topic in shop.topics.values() for each in BANK.templates[f"asks {topic.name}"]]
    for topic, template in asked:
        frame = next(template.frames()).replace("{choices}", "")
        if topic.rules[0] not in shop.search(frame):
            lost.append(frame)
    assert len(lost) <= 0.05 * len(asked), lost


def test_a_title_finds_its_rule():
    shop = load_policies(USUAL)
    assert [rule.id for rule in shop.rules if rule not in shop.search(rule.title)] == []


def test_a_search_gives_at_most_five_and_nothing_for_nonsense():
    shop = load_policies(USUAL)
    assert len(shop.search("member")) == 5
    assert len(shop.search("member", k=2)) == 2
    assert shop.search("") == shop.search("?!") == shop.search("zzzz 30") == []


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


def verdict(shop, order, group="Sports", *, member=False, days=0):
    customer = Customer("c", np.zeros(0, np.int64), np.zeros(0, np.int64), (order,), member)
    now = DELIVERED + timedelta(days=days)
    return shop.return_verdict(order, order.lines[0], item(group) if group else None, customer, now)


def window_by_text(shop, group, *, member, price, holiday="no"):
    """In days, as somebody finds it who reads the rules."""
    facts = {
        "group": group,
        "price": Decimal(price),
        "member": "yes" if member else "no",
        "holiday": holiday,
        "opened": "no",
        "clearance": "no",
    }
    return int(apply_read_rules(read(shop.topics["return window"]), facts))


@pytest.mark.parametrize("group", ["Sports", "Digital", "Home", "Clothing", "Fountains", "", "Food", "Services"])
@pytest.mark.parametrize(("member", "price"), [(False, "40"), (True, "40"), (True, "800"), (False, "199.99")])
def test_the_last_day_of_the_window_that_the_texts_give_counts_and_the_next_does_not(group, member, price):
    for shop in shops()[::6]:
        days = window_by_text(shop, group, member=member, price=price)
        told = verdict(shop, order(price=price), group, member=member, days=days)
        assert told["eligible"] == (days > 0)
        assert told["until"] == ((DELIVERED + timedelta(days=days)).date().isoformat() if days else "")
        assert not verdict(shop, order(price=price), group, member=member, days=days + 1)["eligible"]


def test_the_rule_that_the_tool_names_is_one_that_the_search_finds():
    for shop in shops()[::6]:
        told = verdict(shop, order(), "Digital", days=400)
        (rule,) = [rule for rule in shop.rules if rule.id == told["policy_id"]]
        assert rule in shop.search(rule.title)
        assert "return window" in told["reason"]


def test_what_was_ordered_in_december_goes_by_the_rule_on_the_holiday_season():
    late, differ = order(placed=datetime(2023, 12, 3)), 0
    for shop in shops():
        days = window_by_text(shop, "Sports", member=False, price="40", holiday="yes")
        differ += days != window_by_text(shop, "Sports", member=False, price="40")
        assert verdict(shop, late, days=days)["eligible"]
        assert not verdict(shop, late, days=days + 1)["eligible"]
    assert differ > len(shops()) / 2


def test_what_cannot_be_returned_says_so():
    for shop in shops():
        told = verdict(shop, order(), "Food", member=True)
        if window_by_text(shop, "Food", member=True, price="40") == 0:
            assert "cannot be returned" in told["reason"]


def test_what_was_cancelled_or_is_on_its_way_cannot_be_returned():
    shop = load_policies(USUAL)
    assert verdict(shop, order(delivered=None))["reason"] == "it has not been delivered"
    assert verdict(shop, order(delivered=DELIVERED + timedelta(days=1)))["reason"] == "it has not been delivered"
    gone = order(delivered=None, cancelled=datetime(2024, 5, 4))
    assert verdict(shop, gone)["reason"] == "the order was cancelled"
    assert not any(verdict(shop, each)["eligible"] for each in (order(delivered=None), gone))


def test_an_order_counts_as_cancelled_and_as_delivered_from_that_very_minute():
    shop, later = load_policies(USUAL), DELIVERED + timedelta(minutes=1)
    assert verdict(shop, order(cancelled=DELIVERED))["reason"] == "the order was cancelled"
    assert verdict(shop, order(cancelled=later))["eligible"]
    assert verdict(shop, order())["eligible"]
    assert verdict(shop, order(delivered=later))["reason"] == "it has not been delivered"
    for name in ("cancelled", "delivered", "shipped"):
        state = order(delivered=None).model_copy(update={"shipped": DELIVERED, name: DELIVERED})
        assert [status_at(state, DELIVERED + timedelta(minutes=each)) for each in (-1, 0)] == ["processing", name]
