"""An expert for questions about the shop's policies: it finds the rules, asks for the facts that they need, and goes through them."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from shopwright.pipeline.checks.policy_texts import (
    TOPICS,
    ReadRule,
    apply_read_rules,
    change_value,
    meets_condition,
    read_rule,
    read_topic,
)
from shopwright.pipeline.experts.beliefs import read_placed
from shopwright.pipeline.experts.expert import Acts, Expert
from shopwright.pipeline.experts.recognize import ASKS_RULE, SOLD_OUT, WEAK_TOPICS, respell_cues
from shopwright.pipeline.reading.wishes import AMOUNTS, ShopVocabulary, read_case_fact

NO_DAY = date(2000, 1, 1)
ABOUT = {
    "group": "category",
    "member": "members",
    "bulky": "bulky items",
    "region": "islands",
    "price": "expensive cheap items",
    "total": "large small orders",
    "seller": "partner sellers",
    "speed": "express same-day courier",
    "condition": "used refurbished items",
    "reason": "damaged wrong items size",
    "opened": "opened boxes",
    "gift": "gifts",
    "business": "business customers",
    "holiday": "holiday season",
    "clearance": "clearance",
    "age": "old young items",
    "pieces": "many pieces",
    "insured": "insured parcels",
    "personalised": "personalised items",
    "paid": "card payments bank transfers vouchers installments",
    "registered": "registered items",
    "hidden": "hidden damage",
    "student": "students",
    "newcomer": "newcomers",
    "birthday": "birthday",
    "late": "long overdue",
    "household": "households",
    "difference": "large differences",
    "amount": "large small amounts",
    "years": "paying ahead",
    "card": "promotions refunds",
}
"""How a rule is called that depends on a fact; those on which most rules depend first."""
ASIDE = 4
"""Calls that a question in between takes, at most."""
AT_ONCE = 3
"""Facts that one search is about: it shows five rules."""
QUESTIONS = {
    "group": "From which category is it?",
    "member": "Are you a member, do you have a membership?",
    "price": "What was the price?",
    "total": "What is the total of the order?",
    "difference": "What is the difference in price?",
    "amount": "What is the amount on the card?",
    "late": "How late is it, what is the delay?",
    "age": "What is its age?",
    "years": "For how many years do you pay?",
    "pieces": "How many pieces do you want?",
    "newcomer": "Are you a newcomer, or were you a member before?",
    "opened": "Was the box opened?",
    "holiday": "In which month was it ordered?",
    "clearance": "Is it from the clearance?",
    "bulky": "Is the size bulky?",
    "region": "To which region does it go?",
    "reason": "What is the reason?",
    "condition": "In which condition was it sold?",
    "paid": "How was it paid, what was the payment?",
    "seller": "Who was the seller?",
    "gift": "Was it a gift?",
    "speed": "Which speed of shipping was chosen?",
    "personalised": "Is it personalised?",
    "insured": "Is there an insurance, is it insured?",
    "card": "Where did the card come from?",
    "business": "Is it for a business?",
    "student": "Are you a student?",
    "household": "Is it for the whole household?",
    "birthday": "Is it your birthday month?",
    "registered": "Did you register it?",
    "hidden": "Was the damage hidden, or could it be seen from outside?",
}
"""How to ask for a fact that a rule depends on."""


class Policy(Expert):
    """Answers a question by the policies; others answer by it what is asked in between."""

    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.submit(**answer)

    def hear(self, text: str) -> None:
        """Keeps calls for what was asked in between."""
        super().hear(text)
        if not self.reserve and self.asks_about_rules(text):
            self.reserve = min(ASIDE, self.left // 4)
            self.left -= self.reserve

    def asks_about_rules(self, text: str) -> bool:
        """Whether it asks something that the policies answer, and does not say that a product is sold out or wrong."""
        rest = self.leave_out_remarks(text)
        return bool(rest) and bool(self.find_topic(rest))

    def leave_out_remarks(self, text: str) -> str:
        """What is left of a text without the sentences that say of a product that it is sold out or wrong."""
        kept = []
        for sentence in SENTENCES.split(text):
            plain = " ".join(sentence.lower().split())
            named = any(title in plain for title in self.memory.know_titles().titles if title)
            things = [each for each in self.read(sentence) if each.wish.kind == "thing"]
            gone = SOLD_OUT.search(respell_cues(plain, self.memory.lexicon.words))
            kept += [] if named or (things and gone) else [sentence]
        return " ".join(kept)

    def answer_aside(self) -> Acts:
        """The answer to what the shopper asked in between, by what it said with it; empty where it asked nothing."""
        asked = [self.leave_out_remarks(each) for each in self.asides if self.asks_about_rules(each)]
        self.left, self.reserve = self.left + self.reserve, 0
        if not asked or self.left <= 1:
            return {}
        answer = yield from self.solve_question(asked[0], asks=False)
        return answer

    def finish(self, answer: dict[str, Any]) -> Acts:
        """Hands in an answer, with one to what was asked in between."""
        aside = yield from self.answer_aside()
        if "policy_answer" in aside:
            thought = f"{answer['thought']} And on what was asked in between: {aside['thought']}"
            answer = {**answer, "policy_answer": aside["policy_answer"], "thought": thought}
        yield from self.submit(**answer)

    def solve(self, text: str) -> Acts:
        answer = yield from self.solve_question(text, asks=True)
        return answer

    def solve_question(self, text: str, *, asks: bool) -> Acts:
        """The answer to the question that a text has, by the rules that a search finds."""
        topic = self.find_topic(text)
        if asks:  # what was told before is about the case, whatever else its words may name
            text = " ".join([text, *(self.told or ())])
        rules = yield from self.find_rules(topic, text, asks=asks)
        if not rules:
            return {"thought": "The policies say nothing about it.", "refusal": "not_covered"}
        told = Case(text, self.memory.lexicon.groups)
        for fact in list_needed(rules):
            if not told.value(fact) and asks and self.left > 1:
                answer = yield from self.ask(QUESTIONS[fact], f"A rule on the {topic} depends on it, so I ask.")
                told.hear(fact, answer)
        if asks and self.left > 2:  # what was told since may be what another rule is about
            rules = yield from self.find_more_rules(topic, rules, told)
        facts = {fact: told.number(fact) if fact in COUNTED else told.value(fact) for fact in list_needed(rules)}
        held = apply_read_rules(list(rules.values()), facts)
        why = f"I went through the rules on the {topic} in their order. {describe_steps(rules, facts)}"
        return {"thought": why, "policy_answer": format_held(held)}

    def find_topic(self, text: str) -> str:
        return read_topic_of_question(text, self.memory.lexicon)

    def find_rules(self, topic: str, text: str, *, asks: bool) -> Acts:
        """The rules on a topic: those that a first search shows, those on what was told of the case; and others, as more may be told when asked."""
        rules: dict[int, ReadRule] = {}
        yield from self.look_for_rules(topic or text[:400], topic, rules)
        told = Case(text, self.memory.lexicon.groups)
        first = [fact for fact in ABOUT if told.value(fact)]
        others = [fact for fact in ABOUT if fact not in first] if asks else []
        for facts in chunk([*first, *others], AT_ONCE) if rules else ():
            to_ask = [fact for fact in list_needed(rules) if asks and not told.value(fact)]
            if self.left <= len(to_ask) + 1:
                break
            words = " ".join(told.name_about(fact) for fact in facts)
            yield from self.look_for_rules(f"{topic} {words}", topic, rules)
        return rules

    def find_more_rules(self, topic: str, rules: dict[int, ReadRule], told: "Case") -> Acts:
        """Those on what was told when it was asked for."""
        for facts in chunk(list(told.heard), AT_ONCE):
            if self.left > 2:
                words = " ".join(told.name_about(fact) for fact in facts)
                yield from self.look_for_rules(f"{topic} {words}", topic, rules)
        return rules

    def look_for_rules(self, query: str, topic: str, rules: dict[int, ReadRule]) -> Acts:
        """Adds the rules on the topic that a search shows; whether there are new ones."""
        found = yield from self.call("policy_search", f"I look for the rules on {query}.", query=query)
        read = [read_rule(each["title"], each["text"]) for each in found.get("policies", ())]
        new = {rule.number: rule for rule in read if rule and rule.topic == topic and rule.number not in rules}
        rules |= new
        return bool(new)


COUNTED = (*AMOUNTS, "late", "age", "years")
"""Facts that are numbers."""


class Case:
    """What was told of a case: at first, and when a fact was asked for."""

    def __init__(self, text: str, groups: Sequence[str]) -> None:
        self.text, self.groups = text, groups
        self.heard: dict[str, str] = {}

    def hear(self, fact: str, answer: str) -> None:
        self.heard[fact] = answer

    def value(self, fact: str) -> str:
        """Empty where nothing was told of it."""
        answer = self.heard.get(fact, "")
        own = read_case_fact(answer, fact, self.groups) if answer else ""
        return own or read_case_fact(" ".join([self.text, *self.heard.values()]), fact, self.groups)

    def number(self, fact: str) -> int:
        return int(self.value(fact) or 0)

    def name_about(self, fact: str) -> str:
        """How a rule is called that depends on the fact."""
        return self.value(fact) or ABOUT[fact] if fact == "group" else ABOUT[fact]


def list_needed(rules: Mapping[int, ReadRule]) -> list[str]:
    """The facts that the rules depend on, in their order."""
    ordered = [rule for _, rule in sorted(rules.items())]
    asked = [fact for rule in ordered for fact, *_ in rule.when]
    return list(dict.fromkeys([*asked, *(rule.of for rule in ordered if rule.of)]))


def describe_steps(rules: Mapping[int, ReadRule], facts: Mapping[str, str | int]) -> str:
    """What each rule that fits makes of what came out before it."""
    held: Fraction | str = Fraction(0)
    steps = []
    for number, rule in sorted(rules.items()):
        if all(meets_condition(facts[fact], sign, value) for fact, sign, value in rule.when):
            changed = change_value(held, rule)
            steps.append(f"Rule {number}: {describe_change(held, rule, changed)}.")
            held = changed
    of = next((rule.of for rule in rules.values() if rule.of), "")
    if of and isinstance(held, Fraction):
        steps.append(
            f"Of the {of}: ${facts[of]} x {format_held(held)} % = {format_held(held * Fraction(facts[of]) / 100)}."
        )
    return " ".join(steps)


ROUND_SHARES = {50: "/ 2", 200: "x 2", 300: "x 3"}
"""Percents that a rule may say as a word: halved, doubled, tripled."""
SIGNS = {"plus": "+", "minus": "-", "times": "x", "at_most": "at most", "at_least": "at least"}


def describe_change(held: Fraction | str, rule: ReadRule, changed: Fraction | str) -> str:
    if rule.change == "is" or isinstance(held, str) or isinstance(rule.value, str):
        return format_held(changed)
    by = f"{SIGNS[rule.change]} {format_held(rule.value)}"
    if rule.change == "times":
        by = ROUND_SHARES.get(int(rule.value), f"{by} %")
    return f"{format_held(held)} {by} = {format_held(changed)}"


def format_held(held: Fraction | str) -> str:
    """
    >>> format_held(Fraction(25, 2)), format_held("yes")
    ('12.50', 'yes')
    """
    if isinstance(held, str):
        return held
    return str(held.numerator) if held.denominator == 1 else f"{float(held):.2f}"


def chunk(facts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [facts[start : start + size] for start in range(0, len(facts), size)]


SENTENCES = re.compile(r"(?<=[.!?])\s+")
ASKS = re.compile(r"\?|\bhow\b|\buntil when\b|\bdo (?:i|you)\b|\bcan i\b|\bwhich\b|\bdeadline\b")
SMALL_TALK = re.compile(
    r"\b(?:my|a) (?:friend|sister|brother|wife|mother|daughter|grandson|neighbor|son|husband)\b (?!joins|and i\b)[^,.:!?]*|\bif i may\b|\b(?:any|some)(?:one|body) here\b"
    r"|\bhere's (?:the|my)\b|\bask (?:you )?here\b|\bday here\b|\bwait here\b|\b(?:i'm|we're|you're|have you|we are) here\b|\bremember\w*|\bforgive\b|\bsorry\b[^,.:!?]*|\b(?:clear|short|your|ur|for) answer\b"
    r"|\b(?:so|and) here (?:goes|it is|i am)\b|\bgot lost\b|\bwait (?:the |our |u?r )?answer\b|\bsmall print\b|\bpicture th\w+|\bmakes? (?:a|any) difference\b"
)
"""What people say around a question, of which a word could be taken for its topic."""
SHORT_QUESTION = 5
"""Words of a sentence that has room for the name of a topic and no more."""
RANK = {topic: place for place, (topic, _) in enumerate(TOPICS)}


def read_topic_of_question(text: str, lexicon: ShopVocabulary) -> str:
    """What is asked about: the most special topic of the sentences that ask; else of all, without greetings and what they tell of a case."""
    sentences = [
        SMALL_TALK.sub(",", each.lower()) for each in SENTENCES.split(respell_cues(text.lower(), lexicon.words))
    ]
    asked = pick_topic([each for each in sentences if ASKS.search(each)])
    drop = asked == "parcel drop" and any(ASKS_RULE.search(each) for each in sentences if ASKS.search(each))
    if asked not in WEAK_TOPICS or drop:
        return asked
    return pick_topic([leave_out_case(each, lexicon) for each in sentences], but=asked) or pick_topic(sentences)


def asks_by_name(text: str) -> bool:
    """Whether a sentence is little but the name of a topic, as of a question in a hurry: "Membership fee?", "Just the shipping fee please."."""
    short = [each for each in SENTENCES.split(text.lower()) if len(each.split()) <= SHORT_QUESTION]
    return any(read_topic(SMALL_TALK.sub(",", each)) for each in short)


def pick_topic(sentences: Sequence[str], but: str = "") -> str:
    """The most special topic that one of the sentences has; `but` where none has a more special one."""
    found = [topic for each in sentences if (topic := read_topic(each)) not in WEAK_TOPICS]
    weak = [topic for each in sentences if (topic := read_topic(each))]
    return min(found, key=RANK.__getitem__) if found else but or min(weak, key=RANK.__getitem__, default="")


def leave_out_case(sentence: str, lexicon: ShopVocabulary) -> str:
    """A sentence without what it tells of a case."""
    plain = " ".join(sentence.split())
    for each in read_placed(plain, lexicon, NO_DAY, case=True):
        if each.wish.kind == "case":
            plain = plain[: each.start] + "," * (each.end - each.start) + plain[each.end :]
    return plain
