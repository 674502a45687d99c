"""The phrases that can stand in any question: times, products, sets of products, limits, tie rules and remarks.

Each phrase that is understood is cut out of the text and what it says is kept. What is left must be one of the
wordings of a kind of question; a word that no phrase knows is left over and so keeps a question from being answered.
"""

import re
from dataclasses import dataclass, field
from datetime import date, time

from .log import Log


@dataclass(frozen=True)
class ProductSet:
    """A set of products: every condition that is given must hold."""

    brand: str = ""
    category: str = ""
    color: str = ""


@dataclass(frozen=True)
class TieRule:
    """Of which equals the earliest counts, and of which actions the earliest, if the rule says it."""

    subjects: tuple[str, ...]
    acts: str


@dataclass
class Reading:
    text: str = ""
    quotes: list[str] = field(default_factory=list)
    dates: list[date] = field(default_factory=list)
    brands: list[str] = field(default_factory=list)
    products: list[str] = field(default_factory=list)
    product_set: ProductSet = ProductSet()
    start: date | None = None
    end: date | None = None
    timed: int = 0
    clock: tuple[time, time] | None = None
    prices: tuple[int, int] | None = None
    weekdays: tuple[int, ...] = ()
    gap_minutes: int = 0
    decimals: int | None = None
    tie: TieRule | None = None
    notes: set[str] = field(default_factory=set)

    def take(self, pattern: str | re.Pattern[str], mark: str = "") -> re.Match[str] | None:
        """Cut the first place where a pattern stands out of the text and put a mark there."""
        found = re.search(pattern, self.text)
        if found:
            self.text = self.text[: found.start()] + mark + self.text[found.end() :]
        return found


MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

DATE = re.compile(
    r"(?P<y1>\d{4})-(?P<m1>\d\d)-(?P<d1>\d\d)"
    rf"|(?P<d2>\d\d?) (?P<m2>{'|'.join(MONTHS)}) (?P<y2>\d{{4}})"
    rf"|(?P<m3>{'|'.join(MONTHS)}) (?P<d3>\d\d?), (?P<y3>\d{{4}})"
)
PERIODS = (
    ("range", re.compile(r",? ?\b[Ff]rom @d(\d+) to @d(\d+) \(both days included\)")),
    ("until", re.compile(r",? ?\b[Uu]p to and including @d(\d+)")),
    ("since", re.compile(r",? ?\b[Ff]rom @d(\d+) onwards\b(?: \(that day included\))?")),
    ("day", re.compile(r",? ?\bon @d(\d+)")),
)
ON_WEEKDAY = re.compile(rf"\bon a ({'|'.join(WEEKDAYS)})(?: or ({'|'.join(WEEKDAYS)}))?")


def date_of(match: re.Match[str]) -> date:
    part = match.groupdict()
    if part["y1"]:
        return date(int(part["y1"]), int(part["m1"]), int(part["d1"]))
    form = "2" if part["y2"] else "3"
    month = MONTHS.index(part["m" + form]) + 1
    return date(int(part["y" + form]), month, int(part["d" + form]))


def take_time(reading: Reading) -> None:
    while found := reading.take(DATE, f"@d{len(reading.dates)}"):
        reading.dates.append(date_of(found))
    for form, pattern in PERIODS:
        while found := reading.take(pattern):
            first = reading.dates[int(found[1])]
            reading.timed += 1
            if form != "until":
                reading.start = first
            if form == "range":
                reading.end = reading.dates[int(found[2])]
            elif form != "since":
                reading.end = first


def holds(name: str, text: str) -> bool:
    """Whether a product name or a search holds a text, as whole words."""
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", name, re.IGNORECASE) is not None


def take_products(reading: Reading, log: Log) -> None:
    """Replace each phrase "the BRAND words (text, text)" that fits exactly one product by @p."""
    at = 0
    while found := log.product.search(reading.text, at):
        at = found.start() + 1
        texts = [found[2], *filter(None, found[3].strip(" ()").split(", "))]
        fitting = [asin for asin, name in log.names[found[1]].items() if all(holds(name, text) for text in texts)]
        if len(fitting) == 1:
            reading.products.append(fitting[0])
            reading.text = reading.text[: found.start()] + "@p" + reading.text[found.end() :]


def take_brands(reading: Reading, log: Log) -> None:
    """Replace a set of products, such as "products in red by BRAND", by @n and any other brands by @b or @bs."""
    if found := reading.take(log.product_set, "@n"):
        category = "" if found[2] else reading.quotes.pop()
        if category and (reading.quotes or category not in log.categories):
            reading.text += " a category not understood"
        reading.product_set = ProductSet(brand=found[2] or "", category=category, color=found[1] or "")
    if found := reading.take(log.brand_list, "@bs"):
        reading.brands = found[0].split("; ")
    while found := reading.take(log.brand, "@b"):
        reading.brands.append(found[0])


CLOCK_TIME = r"(\d\d:\d\d:\d\d)"
CLOCKS = (
    re.compile(rf" with a time of day from {CLOCK_TIME} to {CLOCK_TIME}"),
    re.compile(rf" at times of day between {CLOCK_TIME} and {CLOCK_TIME}"),
    re.compile(rf"counting only the hours from {CLOCK_TIME} to {CLOCK_TIME} of each day, "),
)
MONEY = r"\$([\d,]+(?:\.\d\d)?)"
PRICES = re.compile(rf" priced from {MONEY} to {MONEY} \((?:both prices|limits) included\)")
GAPS = (
    re.compile(r"a gap of more than (\d+) minutes between two consecutive ones starts a new session"),
    re.compile(r"a new session begins after more than (\d+) minutes without an action"),
    re.compile(r"at gaps of more than (\d+) minutes"),
    re.compile(
        r"wherever more than (\d+) minutes pass between "
        r"(?:two consecutive ones|two of them in a row|one and the next)"
    ),
)


def cents_of(text: str) -> int:
    whole, _, part = text.replace(",", "").partition(".")
    return int(whole) * 100 + int(part or "0")


def take_limits(reading: Reading) -> None:
    """Times of day, prices, and the break that ends a session."""
    for pattern in CLOCKS:
        if found := reading.take(pattern):
            reading.clock = (time.fromisoformat(found[1]), time.fromisoformat(found[2]))
    if found := reading.take(PRICES):
        reading.prices = (cents_of(found[1]), cents_of(found[2]))
    for pattern in GAPS:
        if found := reading.take(pattern):
            reading.gap_minutes = int(found[1])


SYNONYMS = (
    (re.compile(r"\b(?:the|this) customer's\b"), "my"),
    (re.compile(r"\b(?:the|this) customer\b"), "i"),
    (re.compile(r"\badditions to the cart\b"), "carts"),
    (re.compile(r"\baddition to the cart\b"), "cart"),
    (re.compile(r"\bdifferent (?=@n|products|brands|categories|search)"), "distinct "),
    (re.compile(r",? ?\b(?:at any time|in the whole history|then or at any other time)\b"), " ever"),
)

# The rules for ties, and what each is about; all of them say that the earliest of equals counts.
EARLIEST_OF_THESE = r"the one with the earliest of these (?P<acts>clicks|carts|searches|purchases)"
TIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"of tied days, the earliest|on a tie, the earliest day|the earliest day wins a tie", ("day",)),
    (rf"of (?:tied hours,|hours that tie,|hours that tie take) {EARLIEST_OF_THESE}", ("hour",)),
    (rf"of (?:tied weekdays,|weekdays that tie,|weekdays that tie take) {EARLIEST_OF_THESE}", ("weekday",)),
    (
        (
            r"on a tie, the one used first in that time|if several tie, the one i typed first in that time"
            r"|of those that tie take the one whose first use in that time came earliest"
        ),
        ("search",),
    ),
    (
        (
            r"a tie goes to the one clicked first in that time|on a tie, the one i clicked on first in that time"
            r"|of those that tie take the one whose first click in that time was earliest"
        ),
        ("product",),
    ),
    (
        r"ties by earliest click in that time|those that tie in the order of their first click in that time",
        ("clicked brands", "clicked categories"),
    ),
    (r"on a tie, the brand i clicked on earlier in that time goes first", ("clicked brands",)),
    (r"on a tie, the category i clicked on earlier in that time goes first", ("clicked categories",)),
    (r"ties ranked by the earliest of these (?P<acts>clicks|carts)", ("ranked brands",)),
    (rf"of brands that tie, {EARLIEST_OF_THESE} ranks higher", ("ranked brands",)),
    (r"equal brands rank in the order in which i first did so in that time", ("ranked brands",)),
    (
        (
            r"ties ranked by earliest purchase in that time"
            r"|of categories with the same total, the one bought from first in that time ranks higher"
            r"|equal categories rank in the order in which i first bought from them in that time"
        ),
        ("spending",),
    ),
    (
        (
            r"on a tie, of the earliest of them|on a tie, the one bought first in that time"
            r"|of those that tie take the earliest of them"
        ),
        ("price of a purchase",),
    ),
    (
        (
            r"a tie goes to the earliest click at that price in that time|on a tie, the one i clicked on at that price first"
            r"|of those that tie take the one that was first clicked at that price in that time"
        ),
        ("price of a click",),
    ),
    (
        (
            r"a tie goes to the earlier purchase|on a tie, the one bought first"
            r"|of several with the same time take the one bought first"
        ),
        ("time to a purchase",),
    ),
    (r"on a tie, of the earliest break|of gaps that tie, the earliest counts", ("break",)),
    (r"on a tie, of the earliest session|of sessions that tie, the earliest counts", ("session",)),
    (r"the earliest on a tie", ("break", "session")),
)
END = r"(?=[.,;?)]| \(|$)"
TIE_RULES = [(re.compile(rf"(?<![^ (])(?:{pattern}){END}"), subjects) for pattern, subjects in TIES]


def take_tie(reading: Reading) -> None:
    for pattern, subjects in TIE_RULES:
        if found := reading.take(pattern):
            reading.tie = TieRule(subjects, found.groupdict().get("acts") or "")
            return


NO_ANSWER = (
    r"if (?:for|from|in|of|on) none|if of no brand|if that never happened|if never|if i never did|if i never bought it"
    r"|if i clicked on nothing after that|if nothing was bought|if nothing was|if there (?:is|was|are) none"
    r"|if there was no click after it|if there was no purchase|if there were fewer than two|if there were fewer clicks"
    r"|if there (?:are|were) fewer|if there are fewer brands|if there are not so many|if there was only one action"
    r"|if there was only one|with a single action|with fewer than two|without a purchase|without one"
)

# Remarks: the pattern, and what it says ("" for one that only names the form of the answer).
REMARKS: tuple[tuple[str, str], ...] = (
    (rf"(?:or )?(?:answer )?none(?: (?:{NO_ANSWER}))?", "none"),
    (r"a negative number if it (?:is below|was less)|negative if it is lower", ""),
    (r"look at my clicks only", "at clicks"),
    (r"look only at actions in that time", "alone"),
    (r"a look is a click|count clicks", "look is click"),
    (r"add up all purchases", "all purchases"),
    (
        (
            r"products without a brand do not count|leave out products without a brand|pass over products without a brand"
            r"|ignoring products without (?:a brand|one)|products without a brand left out|missing ones aside"
        ),
        "skip",
    ),
    (
        (
            r"if that product was itself clicked in between, it counts|that product included if it was clicked in between"
            r"|if i clicked on that product itself in between, it counts as one of them"
        ),
        "itself",
    ),
    (r"fewer if there (?:are|were) not so many|(?:and )?if there were fewer(?: brands)?, name those", "fewer"),
    (
        (
            r"counting a product bought again each time|counting repeated searches too|one for each (?:click|purchase)"
            r"|count a product once for each (?:click|time i put it in the cart)|also when it is the same again"
            r"|a product (?:bought|clicked) twice appears twice"
        ),
        "each",
    ),
    (
        r"count the same text only once|counting a product clicked several times once|name (?:each|every color) once",
        "once",
    ),
    (r"exact text|in exactly the same words|taking only identical texts as the same", "exact"),
    (
        r"from the earliest to the latest|the earliest first|in order of time|in the order in which i made them",
        "in order of time",
    ),
    (r"most first|the most clicked first", "most first"),
    (r"answer with the hour from 0 to 23|0-23|0 to 23", "hour"),
    (r"(?:answer )?as h:mm:ss|h:mm:ss", "h:mm:ss"),
    (r"(?:and )?(?:rounded to|round to|to) cents|to the cent|in dollars", "cents"),
    (r"(?:to |round to )?one decimal", "decimals 1"),
    (r"(?:to |rounded to )two decimals", "decimals 2"),
    (r"give its full name|give their full names|name the product(?: of each click)?", "a name"),
    (r"give (?:its )?date and time(?: of that purchase)?", "a moment"),
    (r"give (?:the|its) date", "a date"),
    (r"give the search text", "a search"),
    (r"answer yes or no for each, in this order", "yes or no"),
    (r"no other action in between", "next"),
)
# A remark stands in brackets, after a comma or as a sentence of its own.
REMARK_RULES = [
    (re.compile(rf"(?<=[(,;.?] )(?:{pattern}){END}|(?<=\()(?:{pattern}){END}"), note) for pattern, note in REMARKS
]
REMARKS_IN_PLACE = (
    (re.compile(r"^(?:counting each product once|leaving repeats aside), "), "once"),
    (re.compile(r"^for each of these brands, in this order, say yes or no: "), "yes or no"),
    (re.compile(r"^for each brand answer yes or no, in this order: "), "yes or no"),
    (re.compile(r" in order(?=$| \(|,)"), "in order of time"),
    (re.compile(r" in descending order(?=$| \(|,)"), "most first"),
    (re.compile(r"(?<=by the number of clicks) and round to two decimals"), "decimals 2"),
)


def take_remarks(reading: Reading) -> None:
    for pattern, note in (*REMARKS_IN_PLACE, *REMARK_RULES):
        while reading.take(pattern):
            if note.startswith("decimals"):
                reading.decimals = int(note[-1])
            elif note:
                reading.notes.add(note)


def tidy(text: str) -> str:
    """The text without empty brackets, and with one blank or mark where cut phrases have left several."""
    text = re.sub(r"\(\s*[;,]?\s*\)", "", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s+([.,;?:])", r"\1", text)
    while (shorter := re.sub(r"([.,;?:])[.,;]+", r"\1", text)) != text:
        text = shorter
    return text.strip(" .,;?")


def read(question: str, log: Log) -> Reading:
    reading = Reading(text=question.replace("@", " at sign "))
    while found := reading.take(r'"([^"]*)"', "@q"):
        reading.quotes.append(found[1])
    take_time(reading)
    take_products(reading, log)
    take_brands(reading, log)
    if found := reading.take(ON_WEEKDAY, "@weekday"):
        reading.weekdays = tuple(WEEKDAYS.index(day) for day in found.groups() if day)
    reading.text = reading.text.lower()
    take_limits(reading)
    for pattern, word in SYNONYMS:
        reading.text = pattern.sub(word, reading.text)
    take_tie(reading)
    take_remarks(reading)
    reading.text = tidy(reading.text)
    return reading
