"""What a shopper says is wanted, read back from the words alone: prices, ratings, days, things, values, dates, cases.

It shares nothing with the writer of these words. What it knows of a shop it is given (`ShopVocabulary`): its categories with the nouns
of their products, its brands, its values, its titles. What is read is masked, so that nothing is read twice, and a number
that is left over was read as nothing, which is a finding, too.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any

from shopwright.pipeline.reading.spelling import Speller, TitleReader, split_heard

NUMBER = re.compile(r"^\d+(?:\.\d+)?")
MONTHS = "january february march april may june july august september october november december".split()
TENS = {name: 10 * n for n, name in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
WORD = re.compile(r"[a-z0-9]+(?:[-'./][a-z0-9]+)*")
# A check asks of the same words for each fact whether they say it.
MOST_READINGS = 500
# What has been read stands as this.
GONE = "\x00"
AMOUNT = re.compile(
    r"(?:between|from) \$(?P<low>[\d.,]*\d) (?:and|to) \$(?P<high>[\d.,]*\d)|\$(?P<from>[\d.]*\d) to \$(?P<upto>[\d.]*\d)"
    r"|\$(?P<sign>\d[\d,]*(?:\.\d\d)?)|(?P<plain>\d[\d,]*(?:\.\d\d)?) (?:dollars|bucks)"
    rf"|(?P<ten>{'|'.join(TENS)}) (?:dollars|bucks)"
)
MOST_BEFORE = re.compile(
    r"(?:at most|no more than|not more than|not more as|not more like|not over|not above|up to|under|below|less than|cheaper than|within"
    r"|cheaper as|until|max|maximum|exceed|more than|stay within|fit into|for only)\s*(?:a price of )?$"
)
MOST_AFTER = re.compile(r"^,? ?(?:at most|max\b|tops|or less|not a cent more|at the most)")
SPANS = (
    (re.compile(r"\b(\d+) days ago\b"), "days"),
    (re.compile(r"\b(\d+) weeks (?:ago|back|before)\b"), "weeks"),
    (re.compile(r"\blast week\b"), "week"),
    (re.compile(r"\blast month\b"), "month"),
    (re.compile(r"\byesterday\b"), "yesterday"),
    (
        re.compile(
            r"(?:ordered|placed|bought|made|from|order|got|ordered it|sent for|shopping|it was) (?:it |the order |(?:an )?order i )?(?:made )?(today)\b"
        ),
        "today",
    ),
)
DATE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}})(?:, (\d{{4}}))?\b")
ORDER_ID = re.compile(r"\border-[\w-]+")
RATING = (
    re.compile(r"rated (?:at least )?(\d(?:\.\d)?)\+?(?: or (?:better|higher|more|up)| and up)?"),
    re.compile(r"(\d(?:\.\d)?)\+? stars(?: or (?:more|better))?(?: min\b| at the least)?"),
    re.compile(r"rating (?:of |minimum )?(?:at least )?(\d(?:\.\d)?)(?!\d)\+?(?: or (?:better|more))?"),
)
SHIPPING = re.compile(
    r"(?:deliver|ship|arriv|here|comes|gets|takes)[\w' ]*?(?:within|in|at most|at the most|max|maximum)? ?(\d+) days?\b"
)
# What stands before a number with a limit.
MOST_CUE = "at most|no more than|not more than|not over|maximum|max"
LEAST_CUE = "at least|no less than|minimum|min"
# What says a limit of a number with a unit, with no name of a fact.
COUNT_CUE = re.compile("at most|no more than|at least|no less than")
SHOWN = re.compile(r"\b(\d+)\b(?: (?:suggestions|options|ideas|results|products|proposals))?")
PIECES = re.compile(
    r"\b(\d+) (?:of (?:them|these|those|em|it|that one|this one)\b|pieces?\b|pcs\b|units\b|x(?=\W|$))(?: of (?:it|this))?"
    r"|\bx(\d+)\b|\bqty (\d+)\b"
)
# Said before values are read, of which "2 pieces" may be one.
PIECES_OF = re.compile(r"\b(\d+) pieces? of (?:this|that|it|them|these|those)\b")
# How a sentence begins that is about something else; what it says up to its end is nobody's wish.
ELSEWHERE = re.compile(
    r"(?:^|(?<=[.!?] ))(?=[^.!?:]*\b(?:different|not|don'?t|unlike)\b)[^.!?:]*\b(?:an)?other one\b[^.!?:]*: .*?[.!?](?= |$)",
    re.IGNORECASE,
)
# Which of several things something is said of.
WHICH = re.compile(r"\bfor (?:item|number) \d+")
KINDS = re.compile(r"\b(\d+) different (?:things|products|items|articles)\b")
# What somebody may weigh, in the order in which it is said.
LIKES = {
    "price": "a low price",
    "rating": "a good rating",
    "shipping": "fast shipping",
    "brand": "the brand ",
    "similarity": "likeness to ",
}
# What is wanted beside a return, of an order, and of what cannot be had.
WANTS = (
    (
        "nothing",
        re.compile(
            r"nothing (?:instead|else for it|in its place)|no (?:need for (?:a )?)?(?:replacement|exchange|other thing)|only take it back"
            r"|(?:n'?t|not|shall not) (?:\w+ )?(?:want|need|require) (?:anything|(?:a )?replacement|another)|(?:just|only) the return"
        ),
    ),
    ("variant", re.compile(r"(?:another|different|other) version|in another (?:or|size)")),
    ("arrival", re.compile(r"arriv|(?:day|date) it comes")),
    (
        "rule",
        re.compile(
            r"\b(?:skip|leave (?:out|it|the ones)|drop what|omit|leave, |stays out|just leave it|leave out)\b|please leave out|not put it|no swaps"
        ),
    ),
)
# That everything must be of one seller.
ONE_SELLER = re.compile(
    r"\b(?:one and the same|(?:no )?more than one|a single|the same|only one|just one|one same|single|same|one) seller\b"
    r"|\bsellers? (?:has to|must|should) be (?:the )?same\b|\bmixing of sellers\b"
)
# A voucher: how much it takes off, from what on, no more than what, and of how many things of a seller.
VOUCHER = re.compile(r"\b(?:voucher|coupon)\b")
VOUCHER_OFF = re.compile(r"(?:\$(?P<amount>\d[\d.]*\d|\d)|(?P<share>\d+)%) off\b|worth \$(?P<worth>\d[\d.]*\d|\d)")
VOUCHER_MOST = re.compile(
    r"(?:at most|no more than|not more than|max|maximum|up to|capped at) \$(\d[\d.]*\d|\d) off\b|\$(\d[\d.]*\d|\d) off at most\b"
)
VOUCHER_LEAST = re.compile(
    r"\b(?:of|is|to|its|reaches|spend|with) (?:at least )?\$(\d[\d.]*\d|\d) or more\b|\bat least \$(\d[\d.]*\d|\d)|\bfrom \$(\d[\d.]*\d|\d) on\b"
)
TWO_THINGS = re.compile(r"\b(?:two or more|two things or more|at least two|two things on)\b")
# What stands before the thing that a product has to fit.
FITS_BEFORE = r"\b(?:made for|fits|works with|for use with|for)"
# Kinds of which the thing alone is said, or which have a name of their own; of others "the memory type ddr3".
FITS_NAMED = {"device": "", "vehicle": "", "year": " the years?"}
# Words that are values of some products, and that people use for anything: read as a value only beside the name of the fact.
COMMON = frozenset(
    "good fair full light medium small large mild high low clear open home king black-box paper box case cable short long all star"
    " automatic classic easy card cards max brother".split()
)


@dataclass(frozen=True)
class Wish:
    """One thing that was read: of which kind, what, and, of a value, the facts of which it can be one."""

    kind: str
    value: str
    facts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ShopVocabulary:
    """What there is in a shop, as its own pages write it."""

    things: Mapping[str, Sequence[str]]
    """The nouns of each category."""
    values: Callable[[str], Mapping[str, Sequence[str]]]
    """The values of each fact of a category, its brands among them."""
    titles: Mapping[str, str]
    """By title in lower case: the category."""
    brands: Sequence[str] = ()
    groups: Sequence[str] = ()
    """Departments."""
    sellers: Sequence[str] = ()
    """Of the marketplace."""
    fits: frozenset[str] = frozenset()
    """The facts that say what a product fits."""
    words: frozenset[str] = frozenset()
    """All that are rightly spelt there, in lower case; where there are none, every word is."""

    @cached_property
    def readings(self) -> dict[tuple[Any, ...], list[Wish]]:
        """What texts were read as lately."""
        return {}

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Each way to name a category, the longest first, with the category."""
        found = [(noun.lower(), leaf) for leaf, nouns in self.things.items() for noun in (*nouns, leaf)]
        # "a set of wooden blocks" is a wooden block set
        sets = [(noun.removesuffix(" set"), leaf) for noun, leaf in found if noun.endswith(" set")]
        found += [(f"set of {noun}s", leaf) for noun, leaf in sets]
        return sorted(found, key=lambda pair: (-len(pair[0].split()), -len(pair[0]), pair))

    @cached_property
    def brands_with_things(self) -> list[str]:
        """Brands of several words of which one is a thing that is sold, the longest first."""
        nouns = {noun for noun, _ in self.names}
        wordy = [brand.lower() for brand in self.brands if " " in brand]
        return sorted(
            (brand for brand in wordy if not nouns.isdisjoint(brand.split())), key=lambda each: (-len(each), each)
        )

    @cached_property
    def speller(self) -> Speller:
        return Speller(self.words)

    @cached_property
    def title_reader(self) -> TitleReader:
        brands = frozenset(brand.lower() for brand in self.brands)
        return TitleReader(self.titles, brands, frozenset(noun for noun, _ in self.names), self.speller)

    @cached_property
    def thing_words(self) -> frozenset[str]:
        found = split_into_words(noun for noun, _ in self.names)
        return found | {f"{word}s" for word in found}

    def list_fact_words(self, leaves: Iterable[str]) -> frozenset[str]:
        """The words of the values of these categories, and of brands."""
        return self.brand_words.union(*map(self.value_words, leaves))

    @cached_property
    def brand_words(self) -> frozenset[str]:
        return split_into_words(self.brands)

    @cached_property
    def value_words(self) -> Callable[[str], frozenset[str]]:
        """The words of the values of a category."""
        return cache(lambda leaf: split_into_words(chain.from_iterable(self.values(leaf).values())))


def split_into_words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(re.findall(r"[a-z]+", text.lower()) for text in texts))


class WishReader:
    """Reads one text: each step takes what it understands, and masks it."""

    def __init__(self, text: str, shop: ShopVocabulary, today: date) -> None:
        self.shop, self.today = shop, today
        self.text = ELSEWHERE.sub(lambda found: GONE * len(found[0]), " ".join(text.split()).lower())
        self.wishes: list[Wish] = []

    def take(self, start: int, end: int, *wishes: Wish) -> None:
        self.text = self.text[:start] + GONE * (end - start) + self.text[end:]
        self.wishes += wishes

    def each(self, pattern: re.Pattern[str], make: Callable[[re.Match[str]], Wish | None]) -> None:
        """All places where a pattern holds, from the left; one that means nothing stays."""
        place = 0
        while found := pattern.search(self.text, place):
            wish = make(found)
            if wish is not None:
                self.take(*found.span(), wish)
            place = found.end()

    def read(self, *, case: bool, mixed: bool, categories: Iterable[str] = ()) -> list[Wish]:
        categories = list(categories)
        self.read_whole_titles()
        self.read_fits([*categories, *self.list_named_categories()])
        self.read_wrong_titles()
        self.read_voucher()
        if found := ONE_SELLER.search(self.text):
            self.take(*found.span(), Wish("one seller", ""))
        ranked = [
            {name: said.find(cue) for name, cue in LIKES.items() if cue in said}
            for said in re.split(r"(?<=[.!?]) ", self.text)
        ]
        liked = max(ranked, key=len)
        if len(liked) > 1:
            self.wishes.append(Wish("likes", " ".join(sorted(liked, key=lambda name: liked[name]))))
        self.wishes += [Wish("wants", wanted) for wanted, pattern in WANTS if pattern.search(self.text)]
        self.each(ORDER_ID, lambda found: Wish("order", found[0].rstrip("-")))
        self.each(DATE, self.make_date)
        self.respell(self.shop.thing_words)
        self.read_brands_with_things()
        self.read_things()
        if case:
            self.read_case(mixed=mixed)
        leaves = [*categories, *(wish.value for wish in self.wishes if wish.kind == "thing")]
        leaves += [leaf for wish in self.wishes if wish.kind == "title" and (leaf := self.shop.titles.get(wish.value))]
        self.respell(self.shop.list_fact_words(dict.fromkeys(leaves)))
        self.each(AMOUNT, self.make_amount)
        self.each(PIECES_OF, lambda found: Wish("pieces", found[1]))
        self.read_bounds(dict.fromkeys(leaves))
        self.read_values(dict.fromkeys(leaves))
        for pattern, kind in SPANS:
            self.each(pattern, lambda found, kind=kind: self.make_span(found, kind))  # type: ignore[misc]
        for pattern in RATING:
            self.each(pattern, lambda found: Wish("rating", found[1]))
        self.text = WHICH.sub(lambda found: GONE * len(found[0]), self.text)
        self.each(KINDS, lambda found: Wish("kinds", found[1]))
        self.each(SHIPPING, lambda found: Wish("shipping days", found[1]))
        self.each(PIECES, lambda found: Wish("pieces", found[1] or found[2] or found[3]))
        self.each(SHOWN, lambda found: Wish("number", found[1]))
        return self.wishes

    def list_named_categories(self) -> list[str]:
        """Those of which a noun stands anywhere in the text."""
        return list(dict.fromkeys(leaf for noun, leaf in self.shop.names if noun in self.text))

    def read_fits(self, leaves: Iterable[str]) -> None:
        """What a product has to fit, which may itself be a thing that is sold, or the beginning of a title."""
        known: dict[str, set[str]] = {}
        for fact, values in chain.from_iterable(self.shop.values(leaf).items() for leaf in leaves):
            if fact in self.shop.fits:
                known.setdefault(fact, set()).update(value.lower() for value in values)
        for fact, several in known.items():
            # Compiled only where it may hold: this takes longer than all the searching.
            if not any(value in self.text for value in several):
                continue
            one = "|".join(map(re.escape, sorted(several, key=lambda each: (-len(each), each))))
            kind = FITS_NAMED.get(fact, f" the {re.escape(fact)} type")
            listed = rf"(?P<value>(?:{one})(?:(?: and | or )(?:{one}))*)(?![\w-]|\.\d)"
            make = partial(make_fit, fact)
            self.each(re.compile(f"{FITS_BEFORE}{kind} {listed}"), make)

    def read_whole_titles(self) -> None:
        """The longest runs of words that are a title of the shop."""
        starts = [found.start() for found in re.finditer(r"(?<!\S)[\"(]?\S", self.text)]
        ends = sorted(
            {found.end() for found in re.finditer(r"\S(?=[\s\".,;:!?)\]-]|$)|[.)!?](?=\s|$|[.,;:])", self.text)}
        )
        for start in starts:
            start += self.text[start] in '"('
            for end in reversed([each for each in ends if start < each <= start + 400]):
                if self.text[start:end] in self.shop.titles and GONE not in self.text[start:end]:
                    self.take(start, end, Wish("title", self.text[start:end]))
                    break

    def read_wrong_titles(self) -> None:
        """Those of which a word is mistyped, or the end is left out."""
        heard, place = split_heard(self.text), 0
        while place < len(heard):
            found = self.shop.title_reader.read_title(heard, place)
            if found:
                self.take(heard[place].start, heard[place + found[1] - 1].end, Wish("title", found[0]))
            place += found[1] if found else 1

    def respell(self, wanted: Collection[str]) -> None:
        """What is left of the text, with those of these words that were mistyped as they are spelt."""
        if self.shop.words:
            self.text = self.shop.speller.read_text(self.text, wanted)

    def read_voucher(self) -> None:
        """The terms of a voucher, each part where it is said."""
        if not VOUCHER.search(self.text):
            return
        parts = {}
        for name, pattern in (
            ("most", VOUCHER_MOST),
            ("off", VOUCHER_OFF),
            ("least", VOUCHER_LEAST),
            ("two", TWO_THINGS),
        ):
            if found := pattern.search(self.text):
                value = next(filter(None, found.groups()), "")
                parts[name] = f"{value}%" if "%" in found[0] else f"{read_cents(value)}" if value else ""
                self.take(*found.span())
        if "off" not in parts:
            return
        for seller in sorted(self.shop.sellers, key=len, reverse=True):
            place = self.text.find(seller.lower())
            if place >= 0 and self.stands_alone(place, place + len(seller)):
                self.take(place, place + len(seller))
                parts["seller"] = seller.lower()
                break
        self.wishes.append(
            Wish("voucher", " ".join(f"{name} {value}".strip() for name, value in sorted(parts.items())))
        )

    def make_date(self, found: re.Match[str]) -> Wish:
        year = int(found[3]) if found[3] else self.today.year
        return Wish("date", f"{year:04}-{MONTHS.index(found[1]) + 1:02}-{int(found[2]):02}")

    def make_span(self, found: re.Match[str], kind: str) -> Wish:
        number = found[1] if kind in ("days", "weeks") else ""
        return Wish("span", f"{kind} {number}".strip())

    def make_amount(self, found: re.Match[str]) -> Wish:
        low, high = found["low"] or found["from"], found["high"] or found["upto"]
        if low:
            return Wish("price between", f"{read_cents(low)} {read_cents(high)}")
        cents = 100 * TENS[found["ten"]] if found["ten"] else read_cents(found["sign"] or found["plain"])
        before, after = self.text[max(0, found.start() - 40) : found.start()], self.text[found.end() : found.end() + 24]
        capped = MOST_BEFORE.search(before) or MOST_AFTER.search(after)
        return Wish("price at most" if capped else "price", f"{cents}")

    def find_alone(self, words: str, *endings: str) -> Iterator[tuple[int, int]]:
        """Where these words stand alone, maybe with one of the endings, from the left; what is found may be taken meanwhile."""
        place = self.text.find(words)
        while place >= 0:
            end = place + len(words)
            end += next((len(more) for more in endings if self.text.startswith(more, end)), 0)
            if self.stands_alone(place, end):
                yield place, end
            place = self.text.find(words, end)

    def read_brands_with_things(self) -> None:
        for brand in self.shop.brands_with_things:
            place = self.text.find(brand)
            if place >= 0 and self.stands_alone(place, place + len(brand)):
                self.take(place, place + len(brand), Wish("value", brand, frozenset(["brand"])))

    def read_things(self) -> None:
        """What is named by a noun of its category, the longest nouns first."""
        for noun, leaf in self.shop.names:
            for place, end in self.find_alone(noun, "es", "s"):
                self.take(place, end, Wish("thing", leaf))

    def read_bounds(self, leaves: Iterable[str]) -> None:
        """Numbers of a fact with a limit: a capacity of at most 8 cup."""
        units: dict[str, set[str]] = {}
        for fact, values in chain.from_iterable(self.shop.values(leaf).items() for leaf in leaves):
            if fact not in ("price", "rating", "shipping days"):
                units.setdefault(fact.partition(" (")[0], set()).update(
                    NUMBER.sub("", value.lower()) for value in values
                )
        for fact, ends in sorted(units.items(), key=lambda pair: (-len(pair[0]), pair[0])):
            # Compiled only where it may hold: this takes longer than all the searching.
            named, counted = fact in self.text, COUNT_CUE.search(self.text) is not None
            if not (named or counted):
                continue
            for pattern in list_bound_patterns(fact, ends, named=named, counted=counted):
                self.each(re.compile(pattern), lambda found, fact=fact: self.make_bound(found, fact))  # type: ignore[misc]

    def make_bound(self, found: re.Match[str], fact: str) -> Wish:
        if fact == "rating" and NUMBER.sub("", found["value"]) == "":  # stars; a sleeping bag's rating is in degrees
            return Wish("rating", found["value"])
        least = re.fullmatch(rf"{LEAST_CUE}|at the least|or more", found["cue"]) is not None
        return Wish("at least" if least else "at most", found["value"].strip(), frozenset([fact]))

    def read_values(self, leaves: Iterable[str]) -> None:
        """The values of these categories' facts, the longest first; a word that people use for anything only beside its fact."""
        known: dict[str, set[str]] = {}
        for leaf in leaves:
            for fact, values in self.shop.values(leaf).items():
                for value in values:
                    known.setdefault(" ".join(value.lower().split()), set()).add(fact)
        for brand in self.shop.brands:
            known.setdefault(brand.lower(), set()).add("brand")
        for value in sorted(known, key=lambda each: (-len(each), each)):
            for place, end in self.find_alone(value):
                facts = self.narrow(known[value], place, end)
                if facts:
                    self.take(place, end, Wish("value", value, frozenset(facts)))

    def stands_alone(self, start: int, end: int) -> bool:
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        joined = (before.isalnum() or (before in "-$.'’" and before)) or (after.isalnum() or after == "-")
        decimal = after == "." and self.text[end + 1 : end + 2].isdigit()
        return not joined and not decimal

    def narrow(self, facts: set[str], start: int, end: int) -> set[str]:
        """Of several facts those that are named beside; of a common word none where no fact is."""
        value = self.text[start:end]
        near = self.text[max(0, start - 45) : start] + " " + self.text[end : end + 30]
        named = {fact for fact in facts if fact in near and re.search(rf"\b{re.escape(fact)}\b", near)}
        if value in COMMON or value.isdigit() or len(value) < 2:
            around = self.text[max(0, start - 7) : end + 8]
            ends = r"(?=$|[.,;:!?)]| (?:and|n|or|in|from|by|with|for|that|as|color|colored)\b| \+)"
            sized = re.search(
                rf"\bsized? {re.escape(value)}\b|\bin {re.escape(value)}{ends}|\b{re.escape(value)} in size", around
            )
            return named or ({"size"} & facts if sized else set())
        return named or facts

    def read_case(self, *, mixed: bool) -> None:
        """The facts of a case, each by what only it says; among other wishes an amount may be any of them, and is read as one."""
        for fact, value, pattern in CASES:
            found = re.search(pattern, self.text) if not (mixed and fact in AMOUNTS) else None
            if found:
                said = next((group for group in found.groups() if group), "") if value == "#" else value
                self.take(*found.span(), Wish("case", f"{fact}={said}"))
        for group in sorted(self.shop.groups, key=len, reverse=True):
            if found := find_group(self.text, group):
                self.take(*found.span(), Wish("case", f"group={group}"))


def list_bound_patterns(fact: str, ends: Collection[str], *, named: bool, counted: bool) -> list[str]:
    """How a limit of a fact is said, whose numbers have these units: by its name, and by a number with a unit alone."""
    name = re.escape(fact)
    unit = "|".join(map(re.escape, sorted(ends, key=lambda each: (-len(each), each))))
    value = rf"(?P<value>\d+(?:\.\d+)?(?:{unit}))(?![\w])"
    wordy = "|".join(re.escape(each) for each in sorted(ends) if re.search(r"[a-z]{3}", each))
    found = []
    if named:
        found += [
            rf"{name}:? (?:of |is |are )?(?:like )?(?P<cue>{MOST_CUE}|{LEAST_CUE}) {value}",
            rf"{name}:? (?:of |is |are )?(?:like )?{value} (?P<cue>at (?:the )?most|max\b|at (?:the )?least|min\b|or more)",
            rf"(?P<cue>maximum|minimum) {value} {name}\b",
        ]
    if counted and wordy:
        number = rf"(?P<value>\d+(?:\.\d+)?(?:{wordy}))"
        found += [rf"(?P<cue>{COUNT_CUE.pattern}) {number}\b", rf"{number} (?P<cue>at most|at least)"]
    return found


# Facts of a case that are amounts, or numbers of pieces.
AMOUNTS = ("difference", "total", "amount", "price", "pieces")
# Of each fact of a case its values, with what only they say; those that deny before those that say so.
CASES: tuple[tuple[str, str, str], ...] = (
    (
        "difference",
        "#",
        r"\$(\d+) cheaper|(?:costs|is|for|was) \$(\d+) less|(\d+) dollars less|\$(\d+) less|difference is \$(\d+)",
    ),
    (
        "total",
        "#",
        (
            r"(?:order )?total (?:is )?\$(\d+)|order (?:comes to|is|was) (?:together )?\$(\d+)|the order is (\d+) dollars"
            r"|order of \$(\d+) in total|spending \$(\d+) in total"
        ),
    ),
    (
        "amount",
        "#",
        (
            r"(?:there is|it's worth|it has|its got|it is|(?:i )?have) ?\$(\d+) on (?:it|the card)|(\d+) dollars on it|on it is \$(\d+)"
            r"|balance (?:of|is) \$(\d+)|amount is \$(\d+)|\$(\d+) on it"
        ),
    ),
    (
        "price",
        "#",
        r"(?:cost|paid|was|price|was like exactly|has cost|cost me|price was|priced at) (?:\$(\d+)|(\d+) dollars)\b(?: for it)?",
    ),
    (
        "late",
        "#",
        r"(\d+) days? (?:late|overdue)|come (\d+) days? ago|late (?:for|by) (\d+) days?|delay (?:is|of) (\d+) days?",
    ),
    ("age", "#", r"(\d+) months? old|(?:had|owned) it for (\d+) months?"),
    (
        "years",
        "#",
        r"(\d+) years? (?:in advance|up front|at once|ahead of time|before|ahead)|pay(?:ing)? (?:for )?(\d+) years?",
    ),
    ("pieces", "#", r"(\d+) pieces?\b(?: of it)?"),
    (
        "newcomer",
        "yes",
        r"(?:never|n't ever|'ve never) (?:been (?:a )?member|had (?:a )?membership)|(?:was|am new and was) never a? ?member(?: so far| before)?",
    ),
    (
        "newcomer",
        "no",
        r"(?:was|been) a? ?member (?:before|some years ago)|used to be (?:a )?member|had (?:a )?membership before",
    ),
    (
        "member",
        "no",
        r"\bnot a? ?member|(?:do not|don't|dont) have (?:a )?membership|no member(?:ship)?\b|without (?:a )?membership",
    ),
    ("member", "yes", r"\bmembers?\b|have (?:a )?membership|membership is active"),
    (
        "opened",
        "no",
        r"still sealed|haven't opened|never opened|unopened|didnt open|not opened|sealed in its box|seal of (?:the )?box (?:is not|isn'?t) broken",
    ),
    ("opened", "yes", r"\bopened\b|is open already|box open already|seal of (?:the )?box is broken"),
    ("holiday", "yes", r"(?:in|from) (?:november|december)\b|december order"),
    ("holiday", "no", r"(?:in|from) (?:march|april|may|june|september)\b|april order"),
    (
        "clearance",
        "no",
        r"(?:\bnot?|n't|[ds]nt)(?: a)? clearance(?: item| one)?|(?:\bnot|n't|[ds]nt) on clearance|(?:\bnot|n't|[ds]nt)(?: come)? from (?:the )?clearance(?: sale)?",
    ),
    ("clearance", "yes", r"\bclearance\b"),
    ("bulky", "no", r"(?:\bnot?|n'?t|nothing)(?: an?| marked as)? bulky"),
    ("bulky", "yes", r"\bbulky\b"),
    ("region", "mainland", r"\bmainland\b"),
    ("region", "island", r"\b(?:an|on|to) island\b|\bisland address"),
    ("reason", "mind", r"changed my mind"),
    ("reason", "size", r"wrong size|size is wrong"),
    (
        "hidden",
        "yes",
        (
            r"damage (?:(?:could|was) not|couldn'?t|wasn'?t|not) (?:to )?(?:be seen|visible)"
            r"|(?:could not|couldn'?t|did not|didn'?t) see (?:the |any )?damage|hidden damage"
        ),
    ),
    (
        "hidden",
        "no",
        r"damage (?:could be seen|was visible|visible|is on (?:the )?outside)|(?:could|did) see (?:the )?damage|visible damage",
    ),
    ("reason", "damaged", r"\bdamaged\b"),
    (
        "reason",
        "mistake",
        r"(?:another|the wrong|wrong) item|(?:\bnot|n't|[ds]nt) (?:(?:the )?item (?:that )?|what )i ordered",
    ),
    ("condition", "refurbished", r"\brefurbished\b"),
    ("condition", "used", r"(?:bought|got|sold as|was|a) (?:it )?used\b|\bused one\b"),
    ("condition", "new", r"(?:bought|got|sold as|was) (?:it )?(?:brand )?new\b"),
    ("paid", "card", r"credit card"),
    ("paid", "transfer", r"bank transfer"),
    ("paid", "later", r"\binstallments\b"),
    ("paid", "voucher", r"\bvoucher\b"),
    ("seller", "partner", r"partner sellers?\b|one of your partners\b"),
    (
        "seller",
        "shop",
        r"shop itself|sold it to me yourselves|seller yourselves|(?:by|from) (?:yo)?u directly|(?:your|ur) own shop",
    ),
    ("gift", "no", r"(?:\bnot|n't|[ds]nt) (?:a )?gift|no gift|never meant as (?:a )?gift"),
    ("gift", "yes", r"\b(?:a|for|is|as|was) gift\b"),
    ("speed", "standard", r"standard shipping|shipping is standard"),
    ("speed", "express", r"\bexpress\b"),
    ("speed", "courier", r"same-day courier"),
    ("personalised", "no", r"(?:\bnot|n'?t|nothing)(?: a| have it| had it)? personalised"),
    ("personalised", "yes", r"\bpersonalised\b"),
    ("insured", "no", r"(?:\bnot|n't|[ds]nt)(?: have (?:the )?parcel)? insured|no insurance|without insurance"),
    ("insured", "yes", r"\binsured\b|insurance on"),
    ("card", "promotional", r"\bpromotion(?:al)?\b"),
    ("card", "refund", r"(?:as|from|was|for) (?:a )?refund"),
    ("card", "bought", r"card (?:was|that was) bought|(?:bought|paid for) (?:the )?card|one that was bought"),
    ("business", "no", r"private (?:use|customer|purposes|person)|buying privately"),
    ("business", "yes", r"\b(?:a|my|for|are|'re|am) business\b|\bbusiness customer\b"),
    ("student", "no", r"(?:\bnot?|n'?t|never)(?: a)? student"),
    ("student", "yes", r"\bstudent\b"),
    ("household", "yes", r"whole household"),
    ("household", "no", r"for me alone|just for me\b|only i(?: woul|')d use it"),
    (
        "birthday",
        "no",
        (
            r"birthdays? (?:is |isn't |)(?:in another month|this month(?<=isn't this month))|not (?:my birthday month|(?:the )?month of my birthday)"
            r"|birthday (?:is not|isnt) this month"
        ),
    ),
    ("birthday", "yes", r"birthday month|birthday (?:is )?this month|month of my birthday"),
    ("registered", "no", r"(?:not|n'?t|never) register(?:ed)?\b"),
    ("registered", "yes", r"\bregister(?:ed)?\b"),
)


def leave_out_contrast(text: str) -> str:
    """A text without its sentences about something else, which is not what is wanted.

    >>> leave_out_contrast("A red lamp. Don't take it for the other one: it costs $9. Thanks.")
    'A red lamp. Thanks.'
    """
    return " ".join(ELSEWHERE.sub("", " ".join(text.split())).split())


def make_fit(fact: str, found: re.Match[str]) -> Wish:
    return Wish("value", found["value"], frozenset([fact]))


def find_group(text: str, group: str) -> re.Match[str] | None:
    name = re.escape(group.lower())
    before = r"(?:from|under|in your|in ur|department|category is) (?:the |your |ur |department )?"
    return re.search(rf"{before}{name}\b(?: department| section)?", text)


def read_case_fact(text: str, fact: str, groups: Iterable[str] = ()) -> str:
    """What a text says of one fact of a case, with which it is known to deal; empty where it says nothing.

    >>> read_case_fact("I have no membership", "member"), read_case_fact("it cost $40", "price")
    ('no', '40')
    """
    said = text.lower()
    if fact == "group":
        return next((group for group in sorted(groups, key=len, reverse=True) if find_group(said, group)), "")
    for name, value, pattern in CASES:
        found = re.search(pattern, said) if name == fact else None
        if found:
            return next(filter(None, found.groups())) if value == "#" else value
    return ""


# What denies, and what only looks as if it did: limits, and turns of phrase.
DENIES = re.compile(
    r"\b(?:not|no|never|nothing|none|nobody|without|except|avoid|hate|instead|anything but|dont|wont|cant|doesnt|isnt)\b|n['’]t\b"
)
DENIES_NOTHING = re.compile(
    r"\b(?:no|not) (?:more|less|over|above)\b|(?:\bnot|n['’]t|\bcant|\bdont)(?: want to| wanna)? (?:cost|spend|exceed)\b|\bnot a cent more|\bnobody else"
    r"|\bnothing but|\bif i(?:['’]| a)m not mistaken|\bisn['’]t it obvious|\bcan['’]t (?:decide|find)|\bnot (?:just )?(?:any|every)\b|\bno more$"
    r"|\bnothing (?:else|more)\b|\bno (?:extras|idea)\b|\bif it can['’]t be done"
    r"|(?:\bnot|n['’]t|\bcant|\bdont)(?: [a-z]+){1,5} more than\b|\bwhat the voucher does not pay\b"
)


def denies(words: str) -> bool:
    """Whether a part of a text that has a place for a fact in braces denies it.

    >>> denies("anything but {value}"), denies("I don't know much. {value}, please"), denies("for no more than {limit}")
    (True, False, False)
    >>> denies("it can't be more than {limit}"), denies("{needs} {each} If not, say so"), denies("not {value} more than once")
    (False, False, True)
    """
    parts = re.split(r"[.!?:]\s|\{(?:hi|bye|show|each|spend|with)\}", words.lower())
    return any("{" in part and DENIES.search(DENIES_NOTHING.sub(" ", part)) for part in parts)


def excludes_limit(text: str) -> bool:
    """Whether a limit is said so that it is itself too much.

    >>> excludes_limit("something under $40"), excludes_limit("for $40 at most")
    (True, False)
    """
    return re.search(r"\b(?:under|below|(?<!no )(?<!not )(?:less|cheaper) (?:than|as))\b", text.lower()) is not None


def read_cents(text: str) -> int:
    """
    >>> read_cents("1,200"), read_cents("19.95")
    (120000, 1995)
    """
    whole, _, part = text.replace(",", "").partition(".")
    return 100 * int(whole) + int(f"{part:0<2}"[:2])


def read_wishes(
    text: str,
    shop: ShopVocabulary,
    today: date,
    *,
    case: bool = False,
    mixed: bool = False,
    categories: Iterable[str] = (),
) -> list[Wish]:
    """What the text says is wanted, or remembered.

    case: it tells a case that rules are applied to, `mixed` with other matters or alone. categories: what it is known to be about.

    >>> shop = ShopVocabulary({"Table Lamps": ["desk lamp"]}, lambda leaf: {"material": ["oak"]}, {})
    >>> [f"{wish.kind}: {wish.value}" for wish in read_wishes("A desk lamp made of oak, forty bucks tops", shop, date(2024, 5, 1))]
    ['thing: Table Lamps', 'price at most: 4000', 'value: oak']
    """
    key = (text, today, case, mixed, tuple(categories))
    found = shop.readings.get(key)
    if found is None:
        found = WishReader(text, shop, today).read(case=case, mixed=mixed, categories=key[-1])
        if len(shop.readings) >= MOST_READINGS:  # another thread may do so at any time
            shop.readings.clear()
        shop.readings[key] = found
    return list(found)
