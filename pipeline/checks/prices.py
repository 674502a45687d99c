"""A price against what its source wrote: a second reading, coarser than the first and without its lists.

Among the numbers that the written digits can be, the price must be one; a second number, a foreign mark, a word for a
thousand or a million, and a minus each need the repair note that speaks of them. It cannot see which reading of `1.299` is meant.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from decimal import ROUND_HALF_UP, Decimal, localcontext
from itertools import chain
from itertools import product as cartesian

import pyarrow as pa

NUMBER = re.compile(r"[.,]?\d(?:[.,:'’٫٬\s]?\d)*(?:[eE][+-]?\d{1,3})?")
# Signs of other currencies than the shop's dollars.
FOREIGN = re.compile(
    r"\b(?!USD\b|MRP\b|RRP\b|UVP\b|VAT\b|GST\b|TTC\b)[A-Z]{3}\b|\b(?:kr|Rs|Rp|zł|Kč|Ft|CHF|TL|RM)\b|[円元]|\b(?:R|C|A|NZ|HK|NT|S|MX)\s?\$"
)
# Words and letters that multiply a number: 1.5k, 3 lakh, 2万.
LARGE = re.compile(
    r"\d\s?(?:k|m|mn|bn|mio|mln|tsd|lakh|lac|crore|thousand|million|billion|[万萬亿億千만])s?\b|\d\s?[万萬亿億千만]",
    re.IGNORECASE,
)
# A price by weight, length or time, not of the thing.
RATIO = re.compile(
    r"/\s?(?:\d+\s?)?(?:[mk]?g|lb|oz|c?m|ft|l|ml|month|mo|yr|year|h)\b|\bper (?:month|kg|lb|oz|hour|metre|meter)\b",
    re.IGNORECASE,
)
CENTS = re.compile(r"\d\s?(?:¢|c\b|cents?\b)", re.IGNORECASE)
CENT = Decimal("0.01")


def price_is_as_written(batch: pa.RecordBatch) -> list[str | None]:
    if batch["price_written"].null_count == batch.num_rows:
        return [None] * batch.num_rows
    columns = (batch[name].to_pylist() for name in ("price", "price_written", "price_is_simulated", "repairs"))
    return [explain_price_mismatch(*row) if row[1] is not None else None for row in zip(*columns, strict=True)]


def explain_price_mismatch(
    price: Decimal | None, written: str, is_simulated: bool, repairs: Collection[str] | None
) -> str | None:
    """Why the price is not what is written.

    >>> explain_price_mismatch(Decimal("1.50"), "1.5k", False, []), explain_price_mismatch(Decimal("1500"), "1.5k", False, ["price with a word for its magnitude"])
    ('price is not as written: magnitude', None)
    >>> explain_price_mismatch(Decimal("1200"), "¥1200", False, []), explain_price_mismatch(Decimal("2"), "2 for $5", False, [])
    ('price is not as written: currency', 'price is not as written: several numbers')
    """
    fault = find_price_mismatch(
        price, written, is_simulated, [note for note in repairs or () if note.startswith("price")]
    )
    return f"price is not as written: {fault}" if fault else None


def find_price_mismatch(price: Decimal | None, written: str, is_simulated: bool, notes: list[str]) -> str:
    text = re.sub(r"^(\d+)€(\d\d)$", r"\1,\2 €", "".join(map(normalize_character, written)))
    numbers = {frozenset(read_possible_numbers(found[0])) for found in NUMBER.finditer(text)}
    if is_simulated or price is None:
        return "a price is written" if any(map(any, numbers)) else ""
    if not numbers:
        return "no number"
    if len(numbers) > 1 and not has_repair_note(notes, "range", "reduced"):
        return "several numbers"
    if re.match(r"\W*[-−]\s?\W?\d", text) or re.search(r"\d{2}[-−]$", text):
        return "minus"
    if RATIO.search(text):
        return "price of a measure"
    is_foreign = any(unicodedata.category(each) == "Sc" and each not in "$¢" for each in text) or FOREIGN.search(text)
    if is_foreign and not has_repair_note(notes, "converted"):
        return "currency"
    if LARGE.search(text) and not has_repair_note(notes, "magnitude"):
        return "magnitude"
    if has_repair_note(notes, "converted", "magnitude"):
        return ""  # by a factor that does not stand in the row
    parts = (1, 100) if CENTS.search(text) else (1,)
    values = chain.from_iterable(numbers)
    rounded = {(value / part).quantize(CENT, ROUND_HALF_UP) for value, part in cartesian(values, parts)}
    return "" if price in rounded else "another number"


def has_repair_note(notes: Collection[str], *words: str) -> bool:
    return any(word in note for note, word in cartesian(notes, words))


def normalize_character(character: str) -> str:
    """
    >>> "".join(map(normalize_character, "￥１２٣")), normalize_character("²")
    ('￥123', '²')
    """
    number = unicodedata.decimal(character, None)
    return {"，": ",", "．": "."}.get(character, character) if number is None else str(number)


def read_possible_numbers(number: str) -> Iterator[Decimal]:
    """All that the digits can be, by which of the separators is the decimal one, or none.

    >>> [str(value) for value in read_possible_numbers("1,299.5")]
    ['12995', '1.2995', '1299.5']
    """
    if "e" in number.lower():
        yield Decimal(number)
        return
    digits = re.sub(r"\D", "", number)
    with localcontext(prec=400):
        yield Decimal(digits)
        for place in [place for place, each in enumerate(number) if not each.isdigit()]:
            yield Decimal(digits).scaleb(-sum(each.isdigit() for each in number[place:]))
