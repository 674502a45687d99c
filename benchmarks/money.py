"""What readers of prices make of the notations of the tests, which are worked out by hand: right, wrong, refused, and how fast.

    python -m benchmarks.money

Wrong: another amount than the shop means, or an amount where there is none (a price per kg, two for the price of one). The libraries
are asked for the amount alone, not for the currency. Babel wants to be told the locale: it is given five, and its first answer counts.
"""

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from time import process_time
from typing import NamedTuple

from babel.numbers import NumberFormatError, parse_decimal
from price_parser import Price

from benchmarks.trajectories import machine, write
from shopwright.pipeline.catalog.repair.money import read_price
from tests.catalog.test_money import notations

Reader = Callable[[str, str], Decimal | None]
LOCALES = ("en_US", "de_DE", "sv_SE", "de_CH", "en_IN")
DIGITS = re.compile(r"\d(?:[\d.,'’\s]*\d)?")


def ours(written: str, said: str) -> Decimal | None:
    try:
        return read_price(written, said).amount
    except ValueError:
        return None


def price_parser(written: str, said: str) -> Decimal | None:
    return Price.fromstring(written, currency_hint=said or None).amount


def babel(written: str, said: str) -> Decimal | None:
    found = DIGITS.search(written)
    for locale in LOCALES if found else ():
        try:
            return parse_decimal(found[0], locale=locale, strict=True) if found else None
        except NumberFormatError:
            continue
    return None


class Figures(NamedTuple):
    right: int
    wrong: int
    refused: int
    microseconds: float


def judge(found: Decimal | None, meant: Decimal | None) -> str:
    """
    >>> judge(Decimal("5.0"), Decimal(5)), judge(Decimal(2), None), judge(None, Decimal(5))
    ('right', 'wrong', 'refused')
    """
    if found == meant:
        return "right"
    return "refused" if found is None else "wrong"


def measure(reader: Reader) -> Figures:
    rows = [(written, said, meant(amount)) for written, said, amount, _, _ in notations()]
    for written, said, _ in rows:  # what is loaded and compiled once, the first time that a sign is met
        reader(written, said)
    began = process_time()
    answers = [reader(written, said) for written, said, _ in rows]
    spent = process_time() - began
    counts = Counter(judge(found, truth) for found, (_, _, truth) in zip(answers, rows, strict=True))
    return Figures(counts["right"], counts["wrong"], counts["refused"], 1e6 * spent / len(rows))


def meant(amount: str) -> Decimal | None:
    return None if amount in ("", "none") else Decimal(amount)


def main() -> None:
    readers = {"ours": ours, "price-parser": price_parser, "Babel, five locales": babel}
    figures = {name: measure(reader) for name, reader in readers.items()}
    rows = [
        f"| {name} | {each.right} | {each.wrong} | {each.refused} | {each.microseconds:.0f} µs |"
        for name, each in figures.items()
    ]
    table = ["| reader | right | wrong | refused | a price |", "| --- | --- | --- | --- | --- |", *rows]
    count = sum(figures["ours"][:3])
    text = "\n".join([f"`python -m benchmarks.money`: {count:,} notations", "", *table, "", machine()])
    print(text)
    write("money", text)


if __name__ == "__main__":
    main()
