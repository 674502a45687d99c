"""Reads a question: marks what it names, cuts out what it says about time and form, and turns the rest into tokens."""

import re
from dataclasses import dataclass, field
from datetime import date, time

from .things import Namer, ProductSet
from .times import Period, mark_dates, take_period
from .words import NUMBERS, decides_nothing, number_of, tokens_of


@dataclass
class Reading:
    text: str = ""
    tokens: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    brands: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    sets: list[ProductSet] = field(default_factory=list)
    period: Period | None = None
    clock: tuple[time, time] | None = None
    prices: tuple[int, int] | None = None
    money: int = 0
    weekdays: tuple[int, ...] = ()
    gap_minutes: int = 0
    number: int = 0
    least: int = 0
    places: set[int] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)

    def take(self, pattern: str, mark: str = " ") -> re.Match[str] | None:
        """Cut the first place where a pattern stands out of the text and put a mark there."""
        found = re.search(pattern, self.text)
        if found:
            self.text = self.text[: found.start()] + mark + self.text[found.end() :]
        return found


# Sentences about the form of the answer, and what each says.
NOTES = (
    (r"(?:(?:say|answer) )?none (?:if there is (?:none|nothing to find)|is fine if there is nothing)", "none"),
    (r"if there is none, answer none|(?:answer )?none if (?:none|nothing|there is none)", "none"),
    (r"(?:else|otherwise|or)(?: say)? none|if (?:none|nothing), (?:say|answer) none", "none"),
    (r"(?:\w+ ){0,4}(?:tie|ties|tied|equal|equals|equal ones)\b[^.?]*\b(?:first|earliest)\b[^.?]*", "tie"),
    (r"(?:the )?earliest(?: one)? on a tie|first one on a tie|ties (?:in order of|by) time", "tie"),
    (r"(?:the )?(?:earliest|first) wins (?:a tie|ties)", "tie"),
    (r"(?:give |use )?(?:the )?full (?:product )?name(?: as the shop lists it)?(?:, please)?", "form"),
    (r"(?:give |i need )?(?:the )?date and (?:the )?time(?:, please)?|to the second, please", "form"),
    (r"(?:(?:give it|answer) as|in hours, minutes and seconds, like|as) h:mm:ss(?:, please)?", "form"),
    (r"(?:(?:give|round to|to) )?one decimal(?: place)?(?:, please)?|one decimal is enough", "form"),
    (r"(?:(?:give|round to|to) )?two decimals?(?: places)?(?:, please)?", "form"),
)


def take_notes(reading: Reading) -> None:
    """Cut the sentences about form and those that only chat, which come after the question."""
    question, *sentences = re.split(r"(?<=[.?]) (?=[A-Z])", reading.text)
    kept = [question]
    for sentence in sentences:
        for pattern, note in NOTES:
            if re.fullmatch(pattern, sentence.rstrip(".?").lower()):
                reading.notes.add(note)
                break
        else:
            if not decides_nothing(sentence):
                kept.append(sentence)
    reading.text = " ".join(kept)


HOUR = r"(\d\d):00"
CLOCK = (
    rf"(?:from |between |at )?{HOUR} (?:to|till|until|and|up to)(?: but)? (?:(?:just |right )?before|not including) "
    r"(?:(\d\d):00|midnight)"
)
MONEY = r"\$([\d,]+(?:\.\d\d)?)"
INCLUSIVE = (
    r"[(,]* ?(?:(?:with |those )?(?:both |two )*(?:prices|limits),? (?:included|inclusive|counted in)"
    r"|(?:counting )?the exact limits too|prices inclusive|\(inclusive\)|inclusive)\)?"
)
PRICES = rf"(?:priced from|costing between|costing|between|that cost|for) {MONEY} (?:to|and) {MONEY}"


def cents_of(text: str) -> int:
    whole, _, part = text.replace(",", "").partition(".")
    return int(whole) * 100 + int(part or "0")


def take_limits(reading: Reading) -> None:
    """Times of day, prices, an amount of money, and the break that ends a session."""
    if found := reading.take(CLOCK, " @clock "):
        last = time(int(found[2])) if found[2] else time.max
        reading.clock = (time(int(found[1])), last)
    if (found := reading.take(PRICES, " @prices ")) and reading.take(INCLUSIVE):
        reading.prices = (cents_of(found[1]), cents_of(found[2]))
    if found := reading.take(rf"(?:at least )?{MONEY}(?: or (?:more|above|over))?", " @money "):
        reading.money = cents_of(found[1])
    if found := reading.take(r"(?:over|more than) (\d+) (?:idle )?min(?:utes)?\b", " @gap "):
        reading.gap_minutes = int(found[1])
        reading.take(r"(?:of nothing|without (?:an action|doing anything))")
        reading.take(
            r"(?:starts|starting|beginning|begins|makes|making) (?:a )?new (?:one|session)|with a new one after",
            " session ",
        )
        reading.take(r"\bends (?:it|one|a session)\b", " session ")


WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def take_weekdays(reading: Reading) -> None:
    if found := reading.take(rf"\b(?:on )?a ({WEEKDAY}) or ({WEEKDAY})\b|\b(?:on )?a ({WEEKDAY})\b", " @weekday "):
        reading.weekdays = tuple(WEEKDAYS.index(day) for day in found.groups() if day)
    elif reading.take(r"\b(?:on )?(?:(?:a|the) weekend|weekend days)\b", " @weekday "):
        reading.weekdays = (5, 6)


NUMBER = rf"(\d+|{'|'.join(NUMBERS)})"
LEAST = (
    rf"(?:at least|minimum|no fewer than) (?:(twice)|{NUMBER}(?: times)?)|{NUMBER}(?:\+| (?:times )?or more)(?: times)?"
)
TWO_DAYS = (
    r"@least(?: different)? days|more than one day|one day and then again another day|another day|a different day"
    r"|several days(?:, not just one)?|multiple days(?: each)?"
)


PLACES = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6}
PLACE = rf"\b(?:{'|'.join(PLACES)})[ -]to[ -]last\b|\blast but one\b|\b(?:{'|'.join(PLACES)})\b"


def take_numbers(reading: Reading) -> None:
    """Least numbers, places from the end, and how many are asked for."""
    if found := reading.take(LEAST, " @least "):
        reading.least = 2 if found[1] else number_of(found[2] or found[3])
    reading.text = re.sub(r"\s+", " ", reading.text)
    if (not reading.least or reading.least == 2) and reading.take(TWO_DAYS, " @days "):
        reading.least = 0
    while found := reading.take(PLACE, " @nth "):
        word, *end = re.split("[ -]", found[0])
        reading.places.add(-2 if word == "last" else -PLACES[word] if end else PLACES[word])
    if found := reading.take(rf"(?<![@\w$]){NUMBER}\b", " @number "):
        reading.number = number_of(found[1])


SYNONYMS = (
    (r"\b(?:the|this) customer's\b", "my"),
    (r"\b(?:the|this) customer\b", "i"),
    (r"\b(\w+) (clicks|days) or more\b", r"\1 or more \2"),
    (r"\bfirst/last\b", "first and last"),
    (r"\byes/no\b", "yes or no"),
    (r"\b0-23\b", ""),
)


def read(question: str, asked_on: date, namer: Namer, *, bare: bool = False) -> Reading:
    reading = Reading(question.replace("@", " at sign ").replace("on/after", "on or after"))
    while found := reading.take(r'(?<!in the category )"([^"]*)"', "@q"):
        reading.quotes.append(found[1])
    take_notes(reading)
    reading.text, reading.products = namer.take_products(reading.text, bare=bare)
    reading.text, reading.brands = namer.take_brands(reading.text)
    reading.text, reading.sets = namer.take_sets(reading.text)
    reading.text, days = mark_dates(reading.text, asked_on)
    reading.text, reading.period = take_period(reading.text, days, asked_on)
    reading.text = reading.text.lower()
    for pattern, word in SYNONYMS:
        reading.text = re.sub(pattern, word, reading.text)
    take_limits(reading)
    take_weekdays(reading)
    take_numbers(reading)
    reading.text = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", reading.text)
    reading.tokens = tokens_of(reading.text) or []
    return reading
