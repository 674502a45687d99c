"""What a price is, however it is written: an amount and its currency, or the reason why neither is sure.

A price is read as a line of signs from closed lists (`data/reference/price_signs.toml`, currency codes from CLDR): digits, marks
of a currency, magnitudes, words. Only the lines that `FORMS` names are prices; a sign from no list makes it unreadable.
"""

import html
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from shopwright.pipeline.catalog.reference import FOLDER
from shopwright.pipeline.catalog.repair.text import CONTROL, MISSING, TAG

# What the shop sells in: its customers' incomes and budgets, and its policies, are in dollars.
SHOP = "USD"

ABSURD = "absurd price"
UNREADABLE = "price unreadable"
FREE = "price is free of charge"
SEVERAL = "price of several pieces"
MEASURE = "price of a measure or a month, not of the product"
WITHOUT_TAX = "price without tax"
UNCLEAR = "price currency not said"
TWO = "price in two currencies"
SEPARATOR = "price separator ambiguous"
REASONS = (ABSURD, UNREADABLE, FREE, SEVERAL, MEASURE, WITHOUT_TAX, UNCLEAR, TWO, SEPARATOR)
NO_RATE = "price in {} without a rate"

RANGE = "price range: lowest taken"
REDUCED = "price reduced: the lower one taken"
DIGITS = "price in other digits"
COMMA = "price with a decimal comma"
ASSUMED = "price separator taken for thousands"
ROUNDED = "price rounded to cents"
MAGNITUDE = "price with a word for its magnitude"
ZERO = "price of zero: missing"
REQUEST = "price on request: missing"
CONVERTED = "price converted from {}"

# Characters of a text that may be a price; longer ones are not looked at.
LONGEST = 200
USUAL = re.compile(r"(\$?)([0-9]{1,6})(?:\.([0-9]{1,2}))?")
SCIENTIFIC = re.compile(r"\d+(?:\.\d+)?[eE][+-]?\d{1,9}")
NUMBER = re.compile(r"(?!0[xX])\d+(?:[.,'’٫٬ ]\d+)*(?::\d\d(?![\d:]))?|(?<![\d.,])[.,]\d\d(?!\d)")
ENDING = re.compile(r"[.,:]\s?[-–—−]{1,2}|/[-=]|[,.]=|\.(?=\s|$)")
# What a measure begins with: `/kg`, `per kg`, `a month`.
MEASURED = frozenset("/pPaAjJmMwW")
DASHES = "-–—−~〜"
# Of a script with spaces between words.
LETTER = r"[A-Za-z\u00c0-\u1fff]"
# Thousands, and the lakhs of India: 1,299,000 and 12,99,000.
GROUPED = re.compile(r"[1-9]\d{0,2}(?:\D\d{3})+|[1-9]\d?(?:\D\d\d)*\D\d{3}")
# French shops write the sign where the decimal point stands: 12€50.
EURO = re.compile(r"(\d{1,4})€(\d\d)")
# A price that is crossed out is what it was, not what it is.
STRUCK = re.compile(r"<(del|s|strike)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
# Marks of the direction of writing; they have no width and stand within prices.
BIDI = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
# Full-width digits, letters and signs, as Chinese and Japanese shops write them.
WIDE = {0xFF01 + n: chr(0x21 + n) for n in range(94)} | dict(zip(map(ord, "￥￡￠￦"), "¥£¢₩", strict=True))
CENT = Decimal("0.01")
# The largest amount that is taken for a price.
DEAREST = 1_000_000

ONE = r"(?:CNK?E?C?|NK?E?C?E?C?|Nc)"
MARKED = r"(?:CNK?E?|NK?E?C)"
# What the kinds of a price's signs spell. C currency, N digits, K magnitude, c hundredths, E ending (`,-`), D dash, R
# `to`, L `from`, W `was`, O `now`, P `each`, U `/kg`, X `plus tax`, Q `on request`, F `free`, G `for`, B words that
# change nothing.
FORMS = {
    name: re.compile(form.replace("ONE", ONE).replace("MARKED", MARKED))
    for name, form in {
        "one": r"[BO]*(ONE)[BP]*\*?",
        RANGE: r"[BL]*(ONE)P?[DR](ONE)[BP]*\*?|B*(MARKED)(MARKED)|B*L+B*(ONE)[BP]*\*?|B*(ONE)L",
        REDUCED: r"W(ONE)[BO]*(ONE)B*|B*(ONE)O+(ONE)B*",
        "reduced, the new one first": r"[BO]*(ONE)W(ONE)B*",
        ABSURD: r"B*(?:DC?N|CDN)[KEC]*|B*C?NC?D|B*NDC",
        SEVERAL: r"B*(?:NG(?:CN|NC|Nc)|(?:CN|NC|Nc)GN)[KEPB]*",
        MEASURE: r"[BOL]*ONE[BP]*U.*",
        WITHOUT_TAX: r"[BOL]*ONE[BP]*X.*",
        REQUEST: r"Q",
        FREE: r"F",
    }.items()
}
KINDS = {"price": "B", "from": "L", "was": "W", "now": "O", "range": "R", "piece": "P", "without_tax": "X"}
KINDS |= {"request": "Q", "free": "F", "times": "G"}


class Price(NamedTuple):
    """What a source says of a price: an amount in a currency, the latter empty where nothing says it."""

    amount: Decimal | None
    currency: str
    notes: frozenset[str] = frozenset()


class Sign(NamedTuple):
    """A piece of a price's text: its kind, and what it is as it is written."""

    kind: str
    text: str


Codes = frozenset[str]
DecimalSign = Literal["", ".", ","]


@dataclass(frozen=True)
class PriceRules:
    """How a source's prices are read where one by itself does not say it."""

    currency: str = SHOP
    """Of prices that do not say theirs; empty: they are turned away."""
    named: Codes = frozenset()
    """What other prices of the source are in, for sure."""
    decimal: DecimalSign = ""
    """How the other prices write it; empty: they do not show it."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Dollars for one of a currency."""


@dataclass(frozen=True)
class MoneyLists:
    """The closed lists, by what is written."""

    marks: dict[str, Codes]
    hundredths: dict[str, Codes]
    magnitudes: dict[str, int]
    words: dict[str, str]
    usual: dict[str, str]
    before_only: Codes
    comma: Codes
    places: dict[str, int]
    signs: dict[str, list[str]]
    """By their first character, in lower case: the lists' signs as patterns, the longest first."""
    measure: re.Pattern[str]


@cache
def load_money_lists() -> MoneyLists:
    from babel.core import get_global  # a tenth of a second, and only for a catalog of one's own

    lists = tomllib.loads((FOLDER.parent / "price_signs.toml").read_text(encoding="utf-8"))
    spans = chain.from_iterable(get_global("territory_currencies").values())
    codes = {code for code, _, ended, is_tender in spans if ended is None and is_tender}
    fractions = get_global("currency_fractions")
    marks = {code: frozenset([code]) for code in codes} | {
        mark: frozenset(each) for mark, each in split_marks(lists["marks"]).items()
    }
    hundredths = {mark: frozenset(each) for mark, each in split_marks(lists["hundredths"]).items()}
    magnitudes: dict[str, Any] = {}
    for spellings, number in lists["magnitudes"].items():
        magnitudes |= dict.fromkeys(spellings.split(), number)
    words: dict[str, Any] = {}
    for kind, spellings in lists["words"].items():
        words |= dict.fromkeys(spellings, KINDS[kind])
    measures = "|".join(longest_first(map(re.escape, lists["measures"].split())))
    return MoneyLists(
        marks,
        hundredths,
        magnitudes,
        words,
        usual={
            mark: each[0]
            for mark, each in split_marks(lists["marks"] | lists["hundredths"]).items()
            if mark in lists["usual"]
        },
        before_only=frozenset(lists["before_only"]),
        comma=frozenset(lists["separators"]["comma"].split()),
        places={code: fractions.get(code, fractions["DEFAULT"])[0] for code in codes},
        signs=by_first([*marks, *hundredths, *magnitudes, *words], words),
        measure=re.compile(
            rf"(?:/|(?:per|an?|je|pro|par)\b)\s*(?:\d+\s*)?(?:{measures})(?!{LETTER}|\d)|(?:monthly|weekly)\b",
            re.IGNORECASE,
        ),
    )


def split_marks(listed: dict[str, str]) -> dict[str, list[str]]:
    codes_of: dict[str, list[str]] = {}
    for marks, codes in listed.items():
        codes_of |= dict.fromkeys(marks.split(), codes.split())
    return codes_of


def longest_first(signs: Iterable[str]) -> list[str]:
    return sorted(signs, key=lambda sign: (-len(sign), sign))


def by_first(signs: Iterable[str], words: Container[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for sign in longest_first(set(signs)):
        found.setdefault(sign[0].lower(), []).append(bound_sign(sign, words))
    return found


@lru_cache(4_096)
def compile_signs(first: str) -> re.Pattern[str] | None:
    """Any of the signs that begin with a character; compiled when one is met, because all of them take a third of a second."""
    patterns = load_money_lists().signs.get(first)
    return re.compile("|".join(patterns)) if patterns else None


def bound_sign(sign: str, words: Container[str]) -> str:
    """A pattern for the sign as a word of its own: `kr`, and not the beginning of `kraft`.

    Case counts in marks, and not in words: `TRY` is a currency, `try` none.
    """
    letters = re.sub("^/", r"/\\s*", re.escape(sign).replace(r"\ ", r"\s+"))
    if sign in words or (sign.islower() and len(sign) > 3):
        letters = f"(?i:{letters})"
    letters = re.sub(r"^([A-Z]{1,3})(\\\$|¥|£)$", r"\1 ?\2", letters)  # eBay writes `US $12.00`
    first = f"(?<!{LETTER})" if re.match(LETTER, sign[0]) else ""
    last = f"(?!{LETTER})" if re.match(LETTER, sign[-1]) else ""
    return first + letters + last


def read_price(value: Any, said: Any = None, rules: PriceRules = PriceRules()) -> Price:
    """The price that a value is, with `said` what the source says of its currency; ValueError with one of `REASONS`.

    >>> [str(read_price(text).amount) for text in ["$1,299.00", "1.299,00", "USD 12", "12,50", "1'299.–", "₹1,29,999", "$1.5k"]]
    ['1299.00', '1299.00', '12', '12.50', '1299', '129999', '1500.0']
    >>> read_price("1 299,00 zł").currency, read_price("1200").currency, read_price("").amount
    ('PLN', 'USD', None)
    >>> read_price("¥1200", said="JPY")
    Price(amount=Decimal('1200'), currency='JPY', notes=frozenset())
    >>> read_price("¥1200")
    Traceback (most recent call last):
    ValueError: price currency not said
    """
    if type(value) is str and not said and (usual := USUAL.fullmatch(value)):
        currency = rules.currency
        if currency == SHOP or (currency and not usual[1]):
            return make_price(Decimal(value.removeprefix("$")), currency, set())
    match value:
        case None:
            return Price(None, "")
        case str():
            return read_text(value, codes_of(said), rules)
        case bool():
            raise ValueError(UNREADABLE)
        case float() | int() | Decimal():
            amount = Decimal(float.__repr__(value)) if isinstance(value, float) else Decimal(value)
            return (
                Price(None, "")
                if amount.is_nan()
                else make_price(amount, resolve_currency([codes_of(said)], "", rules), set())
            )
        case list() | tuple():
            return lowest([read_price(each, said, rules) for each in value])
    raise ValueError(UNREADABLE)


def lowest(prices: list[Price]) -> Price:
    known = [(price.amount, price.currency, price.notes) for price in prices if price.amount is not None]
    if not known:
        return Price(None, "", frozenset[str]().union(*(price.notes for price in prices)))
    if len({currency for _, currency, _ in known}) > 1:
        raise ValueError(TWO)
    amount, currency, notes = min(known, key=lambda each: each[0])
    return Price(amount, currency, notes | {RANGE} if len({each[0] for each in known}) > 1 else notes)


def make_price(amount: Decimal, currency: str, notes: set[str]) -> Price:
    if amount < 0 or amount.is_infinite():
        raise ValueError(ABSURD)
    return Price(amount, currency, frozenset(notes)) if amount else Price(None, "", frozenset(notes | {ZERO}))


def codes_of(said: Any) -> Codes | None:
    """What the source says of the currency: a code or a mark; nothing where it says nothing.

    >>> sorted(codes_of(" eur ")), len(codes_of("$")) > 9, codes_of("")
    (['EUR'], True, None)
    """
    text = said.strip() if isinstance(said, str) else ""
    if text.lower() in MISSING:
        return None
    known = load_money_lists().marks.get(text) or load_money_lists().marks.get(text.upper())
    if known is None:
        raise ValueError(UNCLEAR)
    return known


def read_text(value: str, said: Codes | None, rules: PriceRules) -> Price:
    notes: set[str] = set()
    text = normalize_price_text(value, notes)
    if (text.lower() in MISSING or text in DASHES) and not notes:
        return Price(None, "")
    if SCIENTIFIC.fullmatch(text):
        return make_price(Decimal(text), resolve_currency([said], "", rules), notes)
    signs = list(signs_of(text))
    form, groups = match_form(signs)
    if form == REQUEST:
        return Price(None, "", frozenset({REQUEST}))
    if not groups:
        raise ValueError(form)
    prices = [read_signs(group, signs, said, rules, notes) for group in groups]
    if form == "one" or len({(price.amount, price.currency) for price in prices}) == 1 < len(prices):
        return prices[0]._replace(notes=frozenset(notes) | prices[0].notes)
    if len(prices) > 1 and any(price.amount is None for price in prices):
        raise ValueError(UNREADABLE)
    if form != RANGE:
        now, was = (prices[0], prices[1]) if form != REDUCED else (prices[1], prices[0])
        if (now.amount or 0) > (was.amount or 0):
            raise ValueError(UNREADABLE)
        prices, form = [now], REDUCED
    cheapest = lowest(prices)
    return cheapest._replace(notes=cheapest.notes | notes | {form})


def match_form(signs: list[Sign]) -> tuple[str, list[list[Sign]]]:
    """The form that the signs have, with those of each price in it; else why they are no price."""
    kinds = "".join(sign.kind for sign in signs)
    for form, pattern in FORMS.items():
        if match := pattern.fullmatch(kinds):
            spans = [match.span(n) for n in range(1, pattern.groups + 1) if match[n] is not None]
            return form, [signs[first:last] for first, last in spans]
    return UNREADABLE, []


def normalize_price_text(value: str, notes: set[str]) -> str:
    """The text on one line: markup and what is struck out are gone, digits and signs of every script are those of ASCII."""
    if len(value) > 20 * LONGEST:
        raise ValueError(ABSURD if value.isdecimal() else UNREADABLE)
    if "<" in value or "&" in value:
        kept = STRUCK.sub(" ", value)
        if kept != value:
            notes.add(REDUCED)
        value = TAG.sub(" ", html.unescape(html.unescape(kept)))
    if not value.isascii():
        narrow = "".join(map(to_ascii_digit, BIDI.sub("", value).translate(WIDE)))
        if any(each.isdecimal() and not each.isascii() for each in value):
            notes.add(DIGITS)
        value = narrow
    text = " ".join(CONTROL.sub(" ", value).split())
    if len(text) > LONGEST:
        raise ValueError(ABSURD if text.isdecimal() else UNREADABLE)
    return text


def to_ascii_digit(character: str) -> str:
    number = unicodedata.decimal(character, None)
    return character if number is None else str(number)


def signs_of(text: str) -> Iterable[Sign]:
    """
    >>> "".join(sign.kind for sign in signs_of("from US $1.299,00 each")), "".join(sign.kind for sign in signs_of("5 ?"))
    ('LCNP', 'N?')
    """
    if euro := EURO.fullmatch(text):  # 19€99, as French price tags say it
        text = f"{euro[1]},{euro[2]} €"
    known, place, last = load_money_lists(), 0, ""
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        kind = "?"
        if last and last in "NKC" and (match := ENDING.match(text, place)):
            kind = "E"
        elif match := NUMBER.match(text, place):
            kind = "N"
        elif text[place] in MEASURED and (match := known.measure.match(text, place)):
            kind = "U"
        elif (listed := compile_signs(text[place].lower())) and (match := listed.match(text, place)):
            kind = classify_sign(match[0], last, known)
        elif text[place] in DASHES:
            kind = "D"
        elif text[place] == "*":
            kind = "*"
        end = match.end() if match else place + 1
        yield Sign(kind, text[place:end])
        place, last = end, kind


def classify_sign(text: str, last: str, known: MoneyLists) -> str:
    if last == "N" and text in known.magnitudes:
        return "K"
    if last == "N" and text.lower() in known.hundredths:
        return "c"
    if mark_in(text, known.marks):
        return "?" if text in known.before_only and last in ("N", "K", "E") else "C"
    if last == "N" and text.lower() in known.magnitudes:
        return "K"
    return known.words.get(" ".join(text.lower().split()).replace("/ ", "/"), "?")


def mark_in(text: str, marks: Mapping[str, Codes]) -> Codes | None:
    return marks.get(text) or marks.get(text.replace(" ", "")) or marks.get(text.lower() if len(text) > 3 else text)


def read_signs(one: list[Sign], every: list[Sign], said: Codes | None, rules: PriceRules, notes: set[str]) -> Price:
    """One price: its digits, and the currency that its own marks say, or those beside the other end of a range."""
    known = load_money_lists()
    marked = [sign for sign in one if sign.kind in "Cc"] or [sign for sign in every if sign.kind in "Cc"]
    codes = [
        mark_in(sign.text, known.marks) if sign.kind == "C" else known.hundredths[sign.text.lower()] for sign in marked
    ]
    currency = resolve_currency([said, *codes], marked[0].text if marked else "", rules)
    number = next(sign.text for sign in one if sign.kind == "N")
    amount = read_number(number, currency, bool(marked), rules, notes)
    for sign in one:
        if sign.kind == "K":
            amount *= known.magnitudes.get(sign.text) or known.magnitudes[sign.text.lower()]
            notes.add(MAGNITUDE)
        if sign.kind == "c":
            amount /= 100
    return make_price(amount, currency, set())


def resolve_currency(codes: Iterable[Codes | None], mark: str, rules: PriceRules) -> str:
    """The one currency that all of these can be; where several are left, the one that the source is in."""
    given = [each for each in codes if each is not None]
    if not given:
        if not rules.currency:
            raise ValueError(UNCLEAR)
        return rules.currency
    left = frozenset.intersection(*given)
    if not left:
        raise ValueError(TWO)
    likely = [left & {rules.currency}, left & rules.named, left & {load_money_lists().usual.get(mark.lower(), "")}]
    for some in [left, *likely]:
        if len(some) == 1:
            return next(iter(some))
    raise ValueError(UNCLEAR)


def read_number(text: str, currency: str, is_marked: bool, rules: PriceRules, notes: set[str]) -> Decimal:
    """The digits as a number; ValueError where they could be two."""
    if ":" in text:  # kr 5:90
        if currency not in ("SEK", "NOK", "DKK") or not is_marked:
            raise ValueError(UNREADABLE)
        text = text.replace(":", ",")
    values = list_number_readings(text)
    if not values:
        raise ValueError(UNREADABLE)
    sign = "thousands" if len(values) > 1 else next(iter(values))
    if len(values) > 1:
        sign = choose_separator(text, currency, is_marked, rules, notes)
    if sign == ",":
        notes.add(COMMA)
    return values[sign]


def choose_separator(text: str, currency: str, is_marked: bool, rules: PriceRules, notes: set[str]) -> str:
    """What the only separator in `1.299` is: `thousands`, or itself for a decimal point."""
    sign, places = next(each for each in text if not each.isdigit()), load_money_lists().places.get(currency, 2)
    if rules.decimal:
        return sign if sign == rules.decimal else "thousands"
    if places > 2 or (sign == "." and not (is_marked and (places == 0 or currency in load_money_lists().comma))):
        raise ValueError(SEPARATOR)
    notes.add(ASSUMED)
    return "thousands"


def list_number_readings(text: str) -> dict[str, Decimal]:
    """The numbers that these digits can be, by the decimal sign that each takes; `thousands` where it takes none.

    >>> list_number_readings("1.299"), list_number_readings("1,299.5"), list_number_readings("1.2.3")
    ({'.': Decimal('1.299'), 'thousands': Decimal('1299')}, {'.': Decimal('1299.5')}, {})
    """
    signs = [each for each in text if not each.isdigit()]
    if not signs:
        return {"thousands": Decimal(text)}
    found, last = {}, signs[-1]
    whole, _, fraction = text.rpartition(last)
    # Before the decimal sign stand digits, or groups of them by one other sign.
    grouping = set(signs[:-1])
    is_grouped = len(grouping) == 1 and not grouping & {last, "٫"} and GROUPED.fullmatch(whole) is not None
    is_short = len(fraction) <= 3 or (last == "." and not grouping)
    if last in ".,٫" and (not grouping or is_grouped) and is_short:
        found["," if last == "," else "."] = Decimal(f"{re.sub(r'[^0-9]', '', whole) or 0}.{fraction}")
    if last not in ":٫" and len(set(signs)) == 1 and GROUPED.fullmatch(text):
        found["thousands"] = Decimal(re.sub(r"\D", "", text))
    return found


def survey_prices(prices: Iterable[tuple[Any, Any]], currency: str = "") -> tuple[PriceRules, Counter[str]]:
    """What the prices of a source say together of how each is read, and how many are in which currency (`""`: not said).

    Each comes with what the source says of its currency; `currency`, where given, is that of all which do not say theirs.

    >>> survey_prices([("1.299 €", None), ("12,50 €", None), ("99", None)])
    (PriceRules(currency='EUR', named=frozenset({'EUR'}), decimal=',', rates={}), Counter({'EUR': 3}))
    """
    seen: Counter[tuple[Codes | None, str]] = Counter()
    signs: set[DecimalSign] = set()
    for value, said in prices:
        for one in value if isinstance(value, list | tuple) else [value]:
            observe_price(one, said, seen, signs)
    named = frozenset(chain.from_iterable(codes for codes, _ in seen if codes and len(codes) == 1))
    rules = PriceRules(currency or main_currency(seen), named, signs.pop() if len(signs) == 1 else "")
    counts: Counter[str] = Counter()
    for (codes, mark), times in seen.items():
        try:
            counts[resolve_currency([codes], mark, rules)] += times
        except ValueError:
            counts[""] += times
    return rules, counts


def observe_price(value: Any, said: Any, seen: Counter[tuple[Codes | None, str]], decimals: set[DecimalSign]) -> None:
    """Count what one price shows: the currencies that it can be in, by which mark, and its decimal sign."""
    if type(value) is str and not said and (usual := USUAL.fullmatch(value)):
        seen[(load_money_lists().marks["$"], "$") if usual[1] else (None, "")] += 1
        decimals |= {"."} if usual[3] else set()
    elif isinstance(value, str | int | float | Decimal) and not isinstance(value, bool):
        try:
            codes, notes = [codes_of(said)], set[str]()
            signs = list(signs_of(normalize_price_text(value, notes))) if isinstance(value, str) else []
            form, groups = match_form(signs)
        except ValueError:
            return
        if form not in FORMS and isinstance(value, str):
            return
        marks = [sign.text for sign in signs if sign.kind in "Cc"]
        codes += [
            mark_in(mark, load_money_lists().marks) or load_money_lists().hundredths.get(mark.lower()) for mark in marks
        ]
        known = [each for each in codes if each is not None]
        common = frozenset.intersection(*known) if known else None
        if groups or not isinstance(value, str):
            seen[common, marks[0] if marks else ""] += 1
        decimals |= {shown for sign in signs if sign.kind == "N" and (shown := decimal_sign(sign.text))}


def decimal_sign(number: str) -> DecimalSign:
    """The decimal sign of whoever writes so; empty where it does not show.

    >>> decimal_sign("12,50"), decimal_sign("1.299.000"), decimal_sign("1.299"), decimal_sign("1 299")
    (',', ',', '', '')
    """
    values, signs = list_number_readings(number), {each for each in number if each in ".,"}
    if len(values) != 1 or not signs:
        return ""
    if "thousands" in values:
        return "." if signs == {","} else ","
    return "," if "," in values else "." if number.rpartition(".")[2].isdigit() and "." in number else ""


def main_currency(seen: Counter[tuple[Codes | None, str]]) -> str:
    """The currency of the prices that do not say theirs, as those tell that do; empty where they do not agree.

    Where fewer than a tenth say any, it is the shop's: a stray mark says nothing of the others.
    """
    marked = {key: times for key, times in seen.items() if key[0] is not None}
    bare, said = seen.total() - sum(marked.values()), sum(marked.values())
    if 10 * said <= bare:
        return SHOP
    common = frozenset.intersection(*(codes for codes, _ in marked if codes is not None))
    usual = common & {load_money_lists().usual.get(mark.lower(), "") for _, mark in marked}
    main = next(iter(common if len(common) == 1 else usual if len(usual) == 1 else [""]))
    return "" if bare > said and main != SHOP else main


def convert_to_cents(price: Price, rates: Mapping[str, float]) -> tuple[int | None, frozenset[str]]:
    """The price in the shop's cents, and what was mended; ValueError where there is no rate or the price is absurd.

    >>> convert_to_cents(Price(Decimal("10.00"), "EUR"), {"EUR": 1.08})
    (1080, frozenset({'price converted from EUR'}))
    """
    if price.amount is None:
        return None, price.notes
    amount, notes = price.amount, price.notes
    if amount > 10**12 or amount < Decimal("1e-12"):
        raise ValueError(ABSURD)
    if price.currency != SHOP:
        if price.currency not in rates:
            raise ValueError(NO_RATE.format(price.currency))
        amount, notes = amount * Decimal(repr(float(rates[price.currency]))), notes | {CONVERTED.format(price.currency)}
    if not CENT / 2 <= amount <= DEAREST:
        raise ValueError(ABSURD)
    cents = amount.quantize(CENT, ROUND_HALF_UP)
    if price.currency == SHOP and abs(cents - amount) > Decimal("1e-9"):
        notes = notes | {ROUNDED}
    return int(cents * 100), notes
