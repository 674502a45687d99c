"""An expert for questions about the shop's policies: it finds the rules, asks for the facts that they need, and goes through them."""

import re
from datetime import date
from fractions import Fraction
from typing import Any

from shopwright.pipeline.checks.policy_texts import ReadRule, apply_read_rules, read_rule, read_topic
from shopwright.pipeline.experts.beliefs import read_placed
from shopwright.pipeline.experts.expert import Acts, Expert
from shopwright.pipeline.reading.wishes import AMOUNTS, ShopVocabulary, read_case_fact

NO_DAY = date(2000, 1, 1)
SENTENCES = re.compile(r"(?<=[.!?])\s+")
GROUPS = "Appliances Beauty Digital Food Home Kids Leisure Sports Style Travel".split()
RULES_ABOUT = (
    *(
        "members and newcomers",
        "price",
        "opened boxes",
        "holiday season",
        "clearance",
        "bulky items",
        "islands",
        "large orders",
    ),
    *(
        "category",
        "damaged",
        "partner sellers",
        "used and refurbished items",
        "express and courier",
        "gifts",
        "business",
    ),
    *("pieces", "age", "insured", "personalised items", "late", "students and households", "payment by voucher"),
)
"""What rules make a difference by, most often: a search shows five, and there are more."""
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

    def answer_aside(self) -> Acts:
        """What the shopper asked in between, by what it said with it; empty where it asked nothing."""
        asked = [each for each in self.asides if self.find_topic(each)]
        if not asked or self.left <= 1:
            return ""
        answer = yield from self.solve_question(asked[-1], asks=False)
        return str(answer.get("policy_answer", ""))

    def finish(self, answer: dict[str, Any]) -> Acts:
        """Hands in an answer, with one to what was asked in between."""
        if aside := (yield from self.answer_aside()):
            answer = {**answer, "policy_answer": aside}
        yield from self.submit(**answer)

    def solve(self, text: str) -> Acts:
        answer = yield from self.solve_question(text, asks=True)
        return answer

    def solve_question(self, text: str, *, asks: bool) -> Acts:
        """The answer to the question that a text has, by the rules that a search finds."""
        topic = self.find_topic(text)
        rules = yield from self.find_rules(topic, text)
        if not rules:
            return {"thought": "The policies say nothing about it.", "refusal": "not_covered"}
        facts: dict[str, str | int] = {}
        heard = text
        needed = list(dict.fromkeys(fact for rule in rules for fact, *_ in rule.when))
        needed += [rule.of for rule in rules if rule.of and rule.of not in needed]
        for fact in needed:
            value = read_case_fact(heard, fact, GROUPS)
            if not value and asks and self.left > 1:
                answer = yield from self.ask(QUESTIONS[fact], f"A rule depends on it, so I ask: {fact}.")
                value = read_case_fact(answer, fact, GROUPS) or read_case_fact(f"{heard} {answer}", fact, GROUPS)
                heard = f"{heard} {answer}"
            if fact in (*AMOUNTS, "late", "age", "years"):
                facts[fact] = int(value or 0)
            else:
                facts[fact] = value
        held = apply_read_rules(rules, facts)
        return {"thought": "I went through the rules in their order.", "policy_answer": self.format_answer(held)}

    def find_topic(self, text: str) -> str:
        """What a question is about: its facts stand in sentences of their own, most often, and are not what is asked."""
        return read_topic_of_question(text, self.memory.lexicon)

    def find_rules(self, topic: str, text: str) -> Acts:
        """All rules on a topic: their numbers say whether one is missing."""
        rules: dict[int, ReadRule] = {}
        idle = 0
        heard = " ".join(self.memory.heard[-1:] + self.asides)
        groups = [group for group in GROUPS if group.lower() in f"{text} {heard}".lower()]
        more = [f"{topic} {words}" for words in (*groups[:1], *RULES_ABOUT)]
        for number, query in enumerate((topic or text[:400], *more)):
            if self.left <= (4 if number else 1):
                break
            found = yield from self.call("policy_search", "I look what the policies say about it.", query=query)
            read = [read_rule(each["title"], each["text"]) for each in found.get("policies", ())]
            mine = [rule for rule in read if rule and rule.topic == topic]
            idle = 0 if any(rule.number not in rules for rule in mine) else idle + 1
            rules |= {rule.number: rule for rule in mine}
            whole = set(rules) == set(range(1, max(rules, default=0) + 1))
            if whole and idle > 7:
                break
            if not rules or (not number and len(mine) < len(read)):
                break
        return list(rules.values())

    def format_answer(self, held: Fraction | str) -> str:
        if isinstance(held, str):
            return held
        return str(held.numerator) if held.denominator == 1 else f"{float(held):.2f}"


def read_topic_of_question(text: str, lexicon: ShopVocabulary) -> str:
    """The topic of the sentences that tell no fact of a case; else of what is left of the others without their facts."""
    rest = []
    sentences = SENTENCES.split(text)
    for sentence in sorted(sentences, key=lambda each: "?" not in each):
        told = [each for each in read_placed(sentence, lexicon, NO_DAY, case=True) if each.wish.kind == "case"]
        if (not told or "?" in sentence) and (topic := read_topic(sentence)):
            return topic
        plain = " ".join(sentence.split()).lower()
        for each in told:
            plain = plain[: each.start] + " " * (each.end - each.start) + plain[each.end :]
        rest.append(plain)
    pieces = [piece for sentence in rest for piece in sentence.split(": ")]
    return next(filter(None, map(read_topic, reversed(pieces))), "")
