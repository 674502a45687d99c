"""Prices: a thousand notations worked out by hand, and what a library writes read back."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from babel import Locale, localedata
from babel.numbers import format_currency
from hypothesis import given, settings
from hypothesis import strategies as st

from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.repair import money
from shopwright.pipeline.catalog.repair.money import PriceRules, load_money_lists, read_price, survey_prices
from shopwright.pipeline.checks.prices import explain_price_mismatch

TABLE = Path(__file__).with_name("notations.tsv")
SAYS = {
    "comma": money.COMMA, "digits": money.DIGITS, "magnitude": money.MAGNITUDE, "range": money.RANGE,
    "reduced": money.REDUCED, "request": money.REQUEST, "thousands": money.ASSUMED, "zero": money.ZERO,
    "absurd": money.ABSURD, "free": money.FREE, "measure": money.MEASURE, "separator": money.SEPARATOR,
    "several": money.SEVERAL, "tax": money.WITHOUT_TAX, "two": money.TWO, "unclear": money.UNCLEAR,
    "unreadable": money.UNREADABLE,
}  # fmt: skip


def notations():
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            yield [re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), cell) for cell in line.split("\t")]


def read(written, said):
    """Amount, currency and notes, or the reason."""
    try:
        price = read_price(written, said)
    except ValueError as error:
        return str(error)
    return price.amount, price.currency, set(price.notes)


def parse_expected(amount, currency, how):
    words = {SAYS[word] for word in how.split(";") if word}
    if not amount and not words & {money.ZERO, money.REQUEST}:
        return words.pop()
    return (None if amount in ("", "none") else Decimal(amount)), currency, words


def test_a_price_is_what_its_shop_means_or_a_reason():
    for written, said, *known in notations():
        assert read(written, said) == parse_expected(*known), (written, said)


def test_the_table_has_a_thousand_notations_in_fifteen_currencies():
    rows = list(notations())
    assert len({(written, said) for written, said, *_ in rows}) == len(rows) > 1_000
    assert len({currency for *_, currency, _ in rows}) > 40
    forms = {currency: sum(each == currency for *_, each, _ in rows) for *_, currency, _ in rows}
    assert sorted(forms.values())[-16] >= 20


CODES = st.deferred(lambda: st.sampled_from(sorted(load_money_lists().places)))
LOCALES = st.deferred(lambda: st.sampled_from([name for name in localedata.locale_identifiers() if has_prices(name)]))
"""Both are read when they are first drawn from: it takes seconds."""


def has_prices(locale):
    return locale != "root" and Locale.parse(locale).currency_formats


def written_by_babel(cents, code, locale, form):
    amount = Decimal(cents).scaleb(-load_money_lists().places[code])
    text = format_currency(amount, code, locale=locale, format_type=form, numbering_system="default")
    return amount, text


@settings(max_examples=600, deadline=None)
@given(
    st.integers(-5_000, 10**9),
    CODES,
    LOCALES,
    st.sampled_from(["standard", "accounting"]),
    st.sampled_from(["", ".", ","]),
)
def test_what_is_written_in_any_locale_is_read_back_or_turned_away(cents, code, locale, form, decimal):
    amount, text = written_by_babel(cents, code, locale, form)
    shown = survey_prices([(text, None)], code)[0].decimal
    price = read(text, code), read_back(text, PriceRules(code, decimal=shown or own_sign(decimal, locale)))
    for found in price:
        assert isinstance(found, str) or found[:2] == ((amount, code) if amount else (None, "")), (text, locale)


def own_sign(decimal, locale):
    """What the other prices of a source in that locale would show, where they show anything."""
    return decimal if decimal == Locale.parse(locale).number_symbols.get("latn", {}).get("decimal") else ""


def read_back(text, rules):
    try:
        return read_price(text, None, rules)
    except ValueError as error:
        return str(error)


def test_most_that_is_written_in_the_locales_of_large_shops_is_read():
    said = [
        (amount, code, text)
        for code, locale in zip(
            "USD EUR GBP JPY CNY INR CHF SEK PLN BRL CAD AUD KRW MXN AED".split(),
            "en_US de_DE en_GB ja_JP zh_CN en_IN de_CH sv_SE pl_PL pt_BR en_CA en_AU ko_KR es_MX ar_AE".split(),
            strict=True,
        )
        for cents in (5, 99, 1_250, 129_900, 129_999, 12_999_900)
        for amount, text in [written_by_babel(cents, code, locale, "standard")]
    ]
    assert [text for amount, code, text in said if read(text, code)[:2] != (amount, code)] == []


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=20), CODES, LOCALES)
@settings(max_examples=200, deadline=None)
def test_a_column_of_one_locale_is_read_back_or_turned_away(amounts, code, locale):
    column = [written_by_babel(cents, code, locale, "standard") for cents in amounts]
    rules, _ = survey_prices([(text, None) for _, text in column], code)
    for amount, text in column:
        found = read_back(text, rules)
        assert isinstance(found, str) or (found.amount, found.currency) == (amount, code), (text, locale)


# The other reading, which is a check of the catalog


def test_the_other_reading_agrees_with_every_price_that_is_read():
    rules = PriceRules(rates=dict.fromkeys(load_money_lists().places, 1.0))
    for written, said, *_ in notations():
        product = {"title": "Oak lamp", "price": written, "currency": said}
        row = normalize(product, source="file", licence="unknown", number=1, rules=rules)
        if isinstance(row, dict):
            price = None if row["price"] is None else Decimal(row["price"]) / 100
            assert row["price_written"] or price is None
            mismatch = explain_price_mismatch(price, row["price_written"] or "", price is None, row["repairs"])
            assert mismatch is None, (written, said)


@pytest.mark.parametrize(
    ("written", "price", "fault"),
    [
        ("1.5k", "1.50", "magnitude"),
        ("$1.2M", "1.20", "magnitude"),
        ("0x10", "10.00", "several numbers"),
        ("5.00-", "5.00", "minus"),
        ("-5.00", "5.00", "minus"),
        ("¥1200", "1200.00", "currency"),
        ("٥٫٩٩", "5.00", "another number"),
        ("kr 5:90", "5.00", "currency"),
        ("5:90", "5.00", "another number"),
        ("2 for $5", "2.00", "several numbers"),
        ("$5/kg", "5.00", "price of a measure"),
        ("$1,299.00", "1.29", "another number"),
        ("$19.99", "24.99", "another number"),
        ("USD 1 £1", "1.00", "currency"),
        ("call us", "24.99", "no number"),
    ],
)
def test_the_other_reading_finds_what_was_misread(written, price, fault):
    assert explain_price_mismatch(Decimal(price), written, False, []) == f"price is not as written: {fault}"


def test_a_price_that_was_drawn_although_one_is_written_is_found():
    assert explain_price_mismatch(Decimal("24.99"), "$19.99", True, []) == "price is not as written: a price is written"
    assert explain_price_mismatch(Decimal("24.99"), "call for price", True, []) is None
