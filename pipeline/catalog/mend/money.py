"""What a price is, however it is written."""

import html
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from pipeline.catalog.mend.text import MISSING

ABSURD = "absurd price"
UNREADABLE = "price unreadable"
USUAL = re.compile(r"\$?([0-9]{1,6})(?:\.([0-9]{1,2}))?")
PLAIN = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d{1,9})?")
ENDLESS = re.compile(r"[+-]?[\d.]+[eE][+-]?\d{10,}")
NUMBER = r"(\d+(?:[.,'’\s]\d+)*)"
CURRENCY = r"(?:[^\W\d_]{0,4}\.?\s?[^\w\s.,'’+\-–—−()/~&%#*]?)"  # USD, US$, Rs., €, zł
BEFORE = rf"(?:(?:from|only|now|price|starting at|approx\.?|ab)\b:?\s*)?([-−]?)\s?{CURRENCY}\s?([-−]?)\s?"
AFTER = (
    rf"\s?{CURRENCY}\s?(?:[,.]?[-–—])?\s?"
    r"(?:(?:/|per|a)?\s?(?:each|ea|item|piece|pcs?|unit|pair|set|pack|box|count|ct|kg|lb|m|only)\.?)?"
)
ONE = re.compile(BEFORE + NUMBER + AFTER, re.IGNORECASE)
TWO = re.compile(BEFORE + NUMBER + AFTER + r"\s?(?:-|–|—|~|to|bis)?\s?" + BEFORE + NUMBER + AFTER, re.IGNORECASE)
POINT = re.compile(
    r"\d+(?:\.\d+)?|(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d\d)*,\d{3})(?:\.\d+)?|\d{1,3}(?:[\s'’]\d{3})+(?:\.\d{1,2})?"
)
COMMA = re.compile(r"\d+,\d{1,2}|\d{1,3}(?:\.\d{3})+(?:,\d{1,2})?|\d{1,3}(?:[\s'’]\d{3})+,\d{1,2}")
CENT = Decimal("0.01")


def parse_price(value: Any) -> int | None:
    """Cents, or None where there is no price; raises ValueError("absurd price") or ValueError("price unreadable").

    A lone dot before three digits is a decimal point (`1.299` is 1.30) unless the price is in euros.

    >>> [parse_price(text) for text in ["$1,299.00", "1.299,00", "1 299,00 €", "USD 12", "12.5", "12,50", "1,299", "1.299 €"]]
    [129900, 129900, 129900, 1200, 1250, 1250, 129900, 129900]
    >>> parse_price("$10.00 - $20.00"), parse_price("10.99 each"), parse_price(""), parse_price(0), parse_price("nan")
    (1000, 1099, None, None, None)
    >>> parse_price("1e309")
    Traceback (most recent call last):
    ValueError: absurd price
    """
    return amount(value)[0]


def amount(value: Any) -> tuple[int | None, bool]:
    """The price in cents, and whether it is the lowest of several."""
    if type(value) is str and (usual := USUAL.fullmatch(value)):
        return int(usual[1]) * 100 + int((usual[2] or "").ljust(2, "0")) or None, False
    match value:
        case None:
            return None, False
        case str():
            prices = [Decimal(value)] if PLAIN.fullmatch(value) else prices_in(value)
        case bool():
            raise ValueError(UNREADABLE)
        case float():
            prices = [Decimal(float.__repr__(value))]
        case int() | Decimal():
            prices = [Decimal(value)]
        case list() | tuple():
            cents = {found for found, _ in map(amount, value) if found is not None}
            return min(cents, default=None), len(cents) > 1
        case _:
            raise ValueError(UNREADABLE)
    prices = [price for price in prices if price and not price.is_nan()]
    if not prices:
        return None, False
    price = min(prices)
    if not CENT / 2 <= price <= 1_000_000:
        raise ValueError(ABSURD)
    return int(price.quantize(CENT, ROUND_HALF_UP) * 100), len(set(prices)) > 1


def prices_in(value: str) -> list[Decimal]:
    value = html.unescape(value).strip()
    if value.lower() in MISSING:
        return []
    match = len(value) <= 80 and not ENDLESS.fullmatch(value) and (ONE.fullmatch(value) or TWO.fullmatch(value))
    if not match:
        raise ValueError(UNREADABLE)
    european = "€" in value or "eur" in value.lower()
    parts = match.groups()
    return [decimal(parts[i + 2], european, minus=bool(parts[i] or parts[i + 1])) for i in range(0, len(parts), 3)]


def decimal(number: str, european: bool, *, minus: bool) -> Decimal:
    if COMMA.fullmatch(number) and (european or not POINT.fullmatch(number)):
        number = re.sub(r"[.\s'’]", "", number).replace(",", ".")
    elif POINT.fullmatch(number):
        number = re.sub(r"[,\s'’]", "", number)
    else:
        raise ValueError(UNREADABLE)
    return -Decimal(number) if minus else Decimal(number)
