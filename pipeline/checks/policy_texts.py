"""Reads what texts about policies say: a rule, which topic a question is about.

Nothing here comes from the code or the files that write them: a rule whose words say another number than it computes, and a question
about something else than its topic are found. The facts of a case are read by `shopwright.pipeline.reading.wishes`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True)
class ReadRule:
    """A rule, from its title and its text alone."""

    topic: str
    number: int
    when: tuple[tuple[str, str, str], ...]
    """Fact, `is`, `least` or `below`, and the value; several values of one fact are parted by `|`."""
    change: str
    value: Fraction | str
    of: str
    """Of which fact its number is percent."""


TITLE = re.compile(r"(?P<topic>[^,]+), rule (?P<number>\d+)(?:: .+)?")
GROUPS = re.compile(r"for (?:items|goods) from (\w+)(?: and (\w+))?$")
NUMBER = re.compile(r"\d+")
OF = {"price": "price", "difference": "difference", "order total": "total"}
SHARE = re.compile(r"% of the (price|difference|order total)")
# Conditions on numbers: what they name, and the fact.
MEASURED = (
    (r"\$\d+ .*on the card|\$\d+ is on the card", "amount"),
    (r"order total", "total"),
    (r"cheaper|difference", "difference"),
    (r"cost ", "price"),
    (r"days late|delay of", "late"),
    (r"pieces", "pieces"),
    (r"years", "years"),
    (r"months old", "age"),
)
BELOW = re.compile(r"less than|under|fewer than")
LEAST = re.compile(r"or more|at least")
# Conditions on what is so or not so.
STATED = (
    (r"never been a member", "newcomer", "yes"),
    (r"not a member", "member", "no"),
    (r"\bmember\b", "member", "yes"),
    (r"\bopened\b", "opened", "yes"),
    (r"November or December", "holiday", "yes"),
    (r"clearance", "clearance", "yes"),
    (r"bulky", "bulky", "yes"),
    (r"island", "region", "island"),
    (r"wrong size", "reason", "size"),
    (r"arrived damaged", "reason", "damaged"),
    (r"another item|by mistake", "reason", "mistake"),
    (r"refurbished", "condition", "refurbished"),
    (r"sold as used|a used item", "condition", "used"),
    (r"credit card", "paid", "card"),
    (r"bank transfer", "paid", "transfer"),
    (r"installments", "paid", "later"),
    (r"by voucher", "paid", "voucher"),
    (r"partner seller", "seller", "partner"),
    (r"promotion", "card", "promotional"),
    (r"given as a refund", "card", "refund"),
    (r"\bgift\b", "gift", "yes"),
    (r"express", "speed", "express"),
    (r"same-day courier", "speed", "courier"),
    (r"personalised", "personalised", "yes"),
    (r"insured", "insured", "yes"),
    (r"business", "business", "yes"),
    (r"student", "student", "yes"),
    (r"whole household", "household", "yes"),
    (r"birthday", "birthday", "yes"),
    (r"registered", "registered", "yes"),
    (r"not be seen from outside", "hidden", "yes"),
)
CONDITION = re.compile(r"(?:for|if|after|in|with) ", re.IGNORECASE)
# What is done to what came out before.
CHANGED = (
    (r"of that", "times"),
    (r"at most|never more than", "at_most"),
    (r"at least|never less than", "at_least"),
    (r"longer|higher|extended by|goes up by", "plus"),
    (r"shorter|lower|shortened by|goes down by", "minus"),
)
MULTIPLIED = {"halved": 50, "doubled": 200, "tripled": 300}
CHOICE = re.compile(r"(?:is|form is|: (?=yes|no)) ?(?:the )?([a-z ]+)$")


@lru_cache(100_000)
def read_rule(title: str, text: str) -> ReadRule | None:
    """What a rule does; None where it cannot be read.

    >>> read_rule("Return window, rule 4: members", "For a member, the return window is 10 days longer.")
    ReadRule(topic='return window', number=4, when=(('member', 'is', 'yes'),), change='plus', value=Fraction(10, 1), of='')
    """
    named = TITLE.fullmatch(title)
    if named is None:
        return None
    topic, number = named["topic"].lower(), int(named["number"])
    rest = text.partition(". ")[0].rstrip(".") if number == 1 else text.rstrip(".")
    when: list[tuple[str, str, str]] = []
    while number > 1 and CONDITION.match(rest):
        asked, _, rest = rest.partition(", ")
        found = read_condition(asked[0].lower() + asked[1:])
        if found is None or not rest:
            return None
        when.append(found)
    effect = read_effect(rest, topic)
    share = SHARE.search(rest)
    return effect and ReadRule(topic, number, tuple(when), *effect, OF[share[1]] if share else "")


def read_condition(text: str) -> tuple[str, str, str] | None:
    """
    >>> read_condition("if it cost $300 or more"), read_condition("for items from Digital and Home")
    (('price', 'least', '300'), ('group', 'is', 'Digital|Home'))
    """
    groups = GROUPS.fullmatch(text)
    if groups:
        return "group", "is", "|".join(filter(None, groups.groups()))
    found = NUMBER.findall(text)
    if found:
        names = [fact for pattern, fact in MEASURED if re.search(pattern, text)]
        sign = "below" if BELOW.search(text) else "least" if LEAST.search(text) else ""
        return (names[0], sign, found[0]) if names and sign and len(found) == 1 else None
    stated = [(fact, value) for pattern, fact, value in STATED if re.search(pattern, text)]
    return (stated[0][0], "is", stated[0][1]) if stated else None


def read_effect(text: str, topic: str) -> tuple[str, Fraction | str] | None:
    """Which change, and by what."""
    said = text.lower().replace(topic, "")
    for word, percent in MULTIPLIED.items():
        if said.endswith(f"is {word}"):
            return "times", Fraction(percent)
    numbers = NUMBER.findall(said)
    if len(numbers) == 1:
        change = next((name for pattern, name in CHANGED if re.search(pattern, said)), "is")
        return change, Fraction(numbers[0])
    choice = CHOICE.search(said)
    return ("is", choice[1]) if choice and not numbers else None


def apply_read_rules(rules: Sequence[ReadRule], facts: Mapping[str, str | int]) -> Fraction | str:
    """The rules gone through in the order of their numbers, each changing what those before it gave."""
    held: Fraction | str = Fraction(0)
    for rule in sorted(rules, key=lambda each: each.number):
        if all(meets_condition(facts[fact], sign, value) for fact, sign, value in rule.when):
            held = change_value(held, rule)
    of = next((rule.of for rule in rules if rule.of), "")
    return held * Fraction(facts[of]) / 100 if of and isinstance(held, Fraction) else held


def meets_condition(have: str | int, sign: str, wanted: str) -> bool:
    if sign == "is":
        return str(have) in wanted.split("|")
    return (have >= int(wanted)) == (sign == "least") if not isinstance(have, str) else False


def change_value(held: Fraction | str, rule: ReadRule) -> Fraction | str:
    by = rule.value
    if rule.change == "is" or isinstance(by, str) or isinstance(held, str):
        return by
    if rule.change == "times":
        return held * by / 100
    if rule.change == "at_most":
        return min(held, by)
    if rule.change == "at_least":
        return max(held, by)
    return held + by if rule.change == "plus" else held - by


# Which topic a question is about: the first that fits.
TOPICS: tuple[tuple[str, str], ...] = (
    ("proof of purchase", r"proof|prove"),
    ("claim address", r"claim|defect"),
    ("refund form", r"\bform\b|refunded|refund (?:be|as)\b"),
    ("shipping fee", r"\bshipping\b(?! label)"),
    ("return label fee", r"\blabel\b|return postage|(?:ship|post|send) (?:this|it) back to (?:yo)?u\b"),
    ("restocking fee", r"restocking"),
    (
        "late return credit",
        r"(?:late|after the deadline).*credit|credit.*(?:late|after the deadline|deadline)|missed the deadline",
    ),
    ("trade-in credit", r"trade[- ]?in|trade it in|trade in"),
    ("preorder deposit", r"pre-?order"),
    ("currency charge", r"currency"),
    ("subscription discount", r"subscri"),
    ("welcome discount", r"welcome"),
    ("shared membership", r"shar(?:e|ed|ing)\b.*membership|membership.*\bshare|one membership"),
    ("membership fee", r"membership|member\b|joining the club"),
    ("referral reward", r"refer|friend"),
    ("sample limit", r"sample"),
    ("rental period", r"\brent"),
    ("engraving fee", r"engrav"),
    ("product photo reward", r"photo|picture|\bpic\b"),
    ("recycling fee", r"recycl"),
    ("installation fee", r"\binstall(?!ment)"),
    ("cleaning charge", r"\bclean"),
    ("invoice copy", r"invoice"),
    ("account locking", r"\block(?:ed|ing|s)?\b|password"),
    (
        "account closing",
        r"account (?:is |be )?(?:closed|deleted|gone|closing)|clos\w* (?:my |the |an )?account|account closing",
    ),
    ("cart reservation", r"\bcart\b"),
    ("answer time", r"support|\banswer"),
    ("gift card life", r"gift card"),
    ("gift wrapping", r"wrap"),
    ("loyalty points", r"points"),
    ("installment plan", r"installment|pay it off|monthly payments|split the payments"),
    ("price match period", r"price[- ]match|match (?:a |the )?(?:lower )?price|match prices|price still match"),
    ("lower price payout", r"cheaper|lower price|more cheap|difference"),
    (
        "purchase limit",
        r"(?:may|can|allowed to|let me|will you).*(?:buy|sell me|order at most)|purchase limit|max pieces|buy\?",
    ),
    ("loan device", r"loan|borrow|lend"),
    ("repair fee", r"(?:dollar|buck|fee|cost|money|charge).*repair|repair.*(?:dollar|buck|fee|cost)"),
    ("repair time", r"repair"),
    ("warranty", r"warranty"),
    ("signature on delivery", r"\bsign"),
    ("delay compensation", r"compensat|delay"),
    ("lost parcel search", r"\blost\b|never came|search for it|look for it|gone"),
    ("return method", r"(?:return|send|go).*post office,|return method|return via"),
    ("parcel drop", r"parcel"),
    ("damage report", r"damage"),
    ("pickup hold", r"pick(?:ed)?[- ]?(?:it )?up|pickup"),
    ("cancellation time", r"cancel"),
    ("refund time", r"refund|money back"),
    (
        "delivery time",
        r"deliver(?:y|ed)? (?:take|time)|until (?:it|delivery)|\bhere\b|arrive|days will it|delivery would|how fast is delivery|the delivery",
    ),
    ("return window", r"return|send (?:it|such a thing) back|take it back|send back"),
)


@lru_cache(100_000)
def read_topic(question: str) -> str:
    """Which topic a question is about; empty where nothing tells.

    >>> read_topic("How long do I have to return it?")
    'return window'
    """
    said = question.lower()
    return next((topic for topic, pattern in TOPICS if re.search(pattern, said)), "")
