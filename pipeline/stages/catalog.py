"""The catalog that every other dataset is about."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from pydantic import AfterValidator, BeforeValidator, Field

from shopwright.pipeline.arrow import arrow_schema, cents_to_decimal
from shopwright.pipeline.catalog import chinese_shop, prices
from shopwright.pipeline.catalog.exports.values import is_zero, says_nothing
from shopwright.pipeline.catalog.fits import fits_of
from shopwright.pipeline.catalog.grouping import Grouping, find_grouping, group_path, regroup
from shopwright.pipeline.catalog.mined_attributes import add_mined_attributes, find_rare_attributes
from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.queries import RealQueries, read_queries
from shopwright.pipeline.catalog.repair.money import SHOP, PriceRules, load_money_lists, survey_prices
from shopwright.pipeline.catalog.sources import BadSource, Source, open_sources, sample
from shopwright.pipeline.catalog.wishes import load_measures
from shopwright.pipeline.checks.page_words import page_tells_all_facts
from shopwright.pipeline.checks.prices import price_is_as_written
from shopwright.pipeline.checks.unique import find_repeated_rows, ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.languages import LANGUAGES
from shopwright.pipeline.stage import Fault, Plan, Section, Shard, Views, stage
from shopwright.schemas.record import Rejected
from shopwright.schemas.shop import Product
from shopwright.schemas.shopping import Language

BATCH = 1_200
NO_PRICE = "no price, and none is invented"
UNCLEAN = r"^$|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^[\s\pZ]|[\s\pZ]$"


def read_columns(value: Any) -> Any:
    """
    >>> read_columns("title=name,price=cost")
    {'title': 'name', 'price': 'cost'}
    """
    if not isinstance(value, str):
        return value
    pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
    if any(not sign or not theirs.strip() for _, sign, theirs in pairs):
        raise ValueError("write it as ours=theirs, as in title=name,price=cost")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def read_rates(value: Any) -> Any:
    """
    >>> read_rates("EUR=1.08,JPY=0.0067")
    {'EUR': 1.08, 'JPY': 0.0067}
    """
    try:
        rates = read_columns(value)
    except ValueError:
        raise ValueError("write it as code=dollars, as in EUR=1.08,GBP=1.27") from None
    return (
        {currency_code(name): parse_dollar_rate(rate) for name, rate in rates.items()}
        if isinstance(rates, dict)
        else value
    )


def parse_dollar_rate(rate: Any) -> float:
    """
    >>> parse_dollar_rate("1.08")
    1.08
    """
    try:
        number = float(rate)
    except (TypeError, ValueError):
        number = 0.0
    if not 1e-9 < number < 1e9:
        raise ValueError(f"{rate} is not a rate in dollars, such as EUR=1.08")
    return number


def currency_code(name: str) -> str:
    """
    >>> currency_code("eur"), currency_code("")
    ('EUR', '')
    """
    if name and name.upper() not in load_money_lists().places:
        raise ValueError(f"{name} is no ISO code of a currency, as EUR is")
    return name.upper()


def licence_id(name: str) -> str:
    """A licence as SPDX names it.

    >>> licence_id("cc-by-4.0"), licence_id("")
    ('CC-BY-4.0', '')
    """
    try:
        known = canonicalize_license_expression(name) if name else ""
    except InvalidLicenseExpression:
        known = " "
    if " " in known or known.startswith("LicenseRef-"):  # none, several, or one's own words
        raise ValueError("it is no identifier of the SPDX list, as CC-BY-4.0 and Apache-2.0 are")
    return known


Columns = Annotated[
    dict[str, str], BeforeValidator(read_columns), Field(description="our=their column names, for a file of your own")
]
Where = Annotated[str, Field(min_length=1)]


SourceName = Annotated[
    Where | list[Where],
    Field(
        description="sample, esci, amazebay, webshop, shopsimulator (each :PATH or :HUB_ID), a file, a folder, a pattern, an"
        " address or a mapping of `shopwright inspect`; again for each that belongs to the same shop"
    ),
]
Currency = Annotated[
    str,
    AfterValidator(currency_code),
    Field(description="ISO code of the prices that do not say theirs; else what the others say, else USD"),
]
Rates = Annotated[
    dict[str, float],
    BeforeValidator(read_rates),
    Field(description="US dollars for one of each other currency, as in EUR=1.08,GBP=1.27"),
]
Licence = Annotated[
    str, AfterValidator(licence_id), Field(description="licence of a file of your own, by its SPDX name")
]
Invent = Annotated[
    bool | None,
    Field(
        description="products without a price: yes draws one from their category, no rejects them; else the build asks"
    ),
]
Products = Annotated[int | None, Field(ge=1, le=100_000_000, description="how many at most; the sample makes 24,000")]
QueryFile = Annotated[str, Field(description="a file of real queries, led to the products that they fit")]
In = Annotated[
    Language, Field(description="what the shop is in, with all that is made from it: en, or zh with the sample")
]
# The embedded shop of each language: how many products it has, and what makes them.
SAMPLES = {
    "en": (sample.PRODUCTS, sample.generate_products),
    "zh": (chinese_shop.PRODUCTS, chinese_shop.generate_chinese_products),
}
CURRENCIES = sorted({language.currency for language in LANGUAGES.values()})
Share = Annotated[float, Field(ge=0, le=1, description="share of products that have promotions")]


def price_is_positive(batch: pa.RecordBatch) -> list[str | None]:
    return flag_wrong_rows(
        "price is not positive", pc.less_equal(batch["price"], pa.scalar(Decimal(0), pa.decimal128(12, 2)))
    )


def currency_is_the_shops(batch: pa.RecordBatch) -> list[str | None]:
    return flag_wrong_rows(
        "currency is not the shop's", pc.invert(pc.is_in(batch["currency"], value_set=pa.array(CURRENCIES)))
    )


def texts_are_clean(batch: pa.RecordBatch) -> list[str | None]:
    dirty = pc.match_substring_regex(pc.coalesce(batch["title"], ""), UNCLEAN)
    return flag_wrong_rows("title is empty or has control characters", dirty)


def category_is_the_leaf(batch: pa.RecordBatch) -> list[str | None]:
    paths = batch["category_path"]
    flat, lengths = pc.list_flatten(paths), pc.list_value_length(paths).fill_null(0)
    # Where each path ends in the flat list; none of an empty one.
    last = pc.if_else(pc.greater(lengths, 0), pc.subtract(pc.cumulative_sum(lengths), 1), None)
    return flag_wrong_rows("category is not the last of its path", pc.not_equal(flat.take(last), batch["category"]))


def promotions_lower_the_price(batch: pa.RecordBatch) -> list[str | None]:
    reasons: list[str | None] = [None] * batch.num_rows
    lengths = pc.list_value_length(batch["promotions"]).fill_null(0)
    for row in pc.indices_nonzero(lengths).to_pylist():
        dated, last = batch["promotions"][row].as_py(), None
        for one in dated:
            if not 0 < one["price"] < batch["price"][row].as_py() or one["last_day"] < one["first_day"]:
                reasons[row] = "promotion does not lower the price"
            if last is not None and one["first_day"] <= last:
                reasons[row] = "promotions overlap"
            last = one["last_day"]
    return reasons


def flag_wrong_rows(reason: str, wrong: Any) -> list[str | None]:
    if not pc.any(wrong.fill_null(True), min_count=0).as_py():
        return [None] * len(wrong)
    return [reason if found or found is None else None for found in wrong.to_pylist()]


def titles_are_unique(products: Dataset[Product]) -> Iterable[Fault]:
    return find_repeated_rows(products, "lower(title)", "duplicate title")


@dataclass(frozen=True)
class Facts:
    """What every shard knows of the whole source."""

    levels: dict[str, prices.Level]
    queries: RealQueries | None
    rules: PriceRules = field(default_factory=PriceRules)
    may_invent: bool = True
    """Products without a price get one; else they are rejected."""
    grouping: Grouping = field(default_factory=Grouping)
    rare: frozenset[tuple[str, str]] = frozenset()
    """What is not read in the titles of a category, as pairs of both."""
    source: Source | None = None
    """Opened, with what is known of where its rows begin; the sample is made."""


def plan_catalog(
    source: str | list[str],
    columns: dict[str, str],
    products: int | None,
    queries: str,
    currency: str,
    rates: dict[str, float],
    licence: str,
    language: Language = "en",
    invent_prices: bool | None = None,
) -> Plan:
    real = read_queries(Path(queries)) if queries else None
    files = (Path(queries),) if queries else ()
    if source == "sample":
        if currency or rates or licence:
            raise BadSource("--currency, --rates and --licence go with a catalog of your own: give its --source.")
        return Plan(products or SAMPLES[language][0], files, Facts({}, real))
    if language != "en":
        raise BadSource("--language goes with the sample: a catalog of your own makes a shop in English.")
    opened = open_licensed_source(source, columns, licence)
    units = min(len(opened), products or len(opened))
    rules, missing = read_price_rules(opened, units, currency, rates)
    invent = getattr(opened, "invent_prices", None) if invent_prices is None else invent_prices
    ask_about_unused_prices(opened)
    if invent is None and missing:
        raise BadSource(
            f"{missing:,} of {units:,} products of {opened.files[0]} have no price. Say what to do: --invent-prices draws one for each "
            "from the prices of its category and marks it; --invent-prices no leaves these products out. "
            f"`shopwright inspect {opened.files[0]}` shows how each column is read."
        )
    rows = (row for row in normalize_source_rows(opened, range(units), rules) if isinstance(row, dict))
    step = -(-units // load_measures()["sample"])
    mined: list[tuple[int, list[str]]] = []  # of products evenly spread
    known = []
    for place, row in enumerate(rows):
        known.append((tuple(row["category_path"]), row["title"], row["brand"], row["price"]))
        if place % step == 0:
            mined.append((place, [each["name"] for each in add_mined_attributes(row)["attributes"]]))
    grouping = find_grouping((path, title, brand) for path, title, brand, _ in known)
    levels = prices.compute_price_levels(
        (group_path(path, title, brand, grouping)[-1], price)
        for path, title, brand, price in known
        if price is not None
    )
    rare = find_rare_attributes((group_path(*known[place][:3], grouping)[-1], names) for place, names in mined)
    stats = {} if grouping.depth is None else {"levels of categories that group products": grouping.depth}
    facts = Facts(levels, real, rules, may_invent=invent is not False, grouping=grouping, rare=rare, source=opened)
    return Plan(units, (*files, *opened.files), facts, stats=stats)


def ask_about_unused_prices(opened: Source) -> None:
    """Stops where a column may be the price, and nobody has said whether it is."""
    if unused := getattr(opened, "unused_prices", []):
        raise BadSource(
            f"{opened.files[0]} has {' and '.join(map(repr, unused))}, which may be a price and is not used. Say which column is the price: "
            f"--columns price={unused[0]} or another. `shopwright inspect {opened.files[0]}` shows how each column is read."
        )


def lacks_price(raw: dict[str, Any]) -> bool:
    """
    >>> lacks_price({"title": "Lamp", "price": "0.00"}), lacks_price({"title": "", "price": ""}), lacks_price({"title": "Lamp", "price": "5"})
    (True, False, False)
    """
    if "unreadable" in raw or "refused" in raw or says_nothing(raw.get("title")):
        return False
    written = [offer["price"] for offer in raw["offers"]] if raw.get("offers") else [raw.get("price")]
    return all(map(is_no_price, written))


def is_no_price(written: Any) -> bool:
    """
    >>> is_no_price("call for price"), is_no_price("Free"), is_no_price("$5")
    (True, False, False)
    """
    is_word = isinstance(written, str) and written.strip().lower() != "free" and not re.search(r"\d", written)
    return is_word or says_nothing(written) or is_zero(written)


def open_licensed_source(source: str | list[str], columns: dict[str, str], licence: str) -> Source:
    """The source under the licence that its owner names, where it has none of its own."""
    opened = open_sources(source, columns)
    if licence and opened.licence not in ("unknown", licence):
        raise BadSource(f"{source} is under {opened.licence}, not {licence}. Leave out --licence.")
    opened.licence = licence or opened.licence
    for each in getattr(opened, "sources", []):
        each.licence = licence or each.licence
    return opened


def read_price_rules(opened: Source, units: int, currency: str, rates: dict[str, float]) -> tuple[PriceRules, int]:
    """How the source's prices are read, and how many products have none or one of zero; stops where most prices would have to be rejected
    for their currency."""
    missing = 0

    def list_all_prices() -> Iterator[tuple[Any, Any]]:
        nonlocal missing
        for raw in opened.read(0, units):
            missing += lacks_price(raw)
            yield from list_written_prices(raw)

    rules, counts = survey_prices(list_all_prices(), currency or opened.currency)
    unrated = {code: times for code, times in counts.items() if code not in ("", SHOP, *rates)}
    most = counts.total() / 2
    if counts[""] > most:
        raise BadSource(
            f"{counts['']} of {counts.total()} prices of {opened.files[0]} do not say which currency they are in. "
            "Say it: --currency CODE, as in --currency USD."
        )
    if sum(unrated.values()) > most:
        named = ", ".join(f"{code} ({times})" for code, times in sorted(unrated.items()))
        wanted = ",".join(f"{code}=DOLLARS" for code in sorted(unrated))
        raise BadSource(
            f"Prices of {opened.files[0]} are in {named}, and the shop's customers and policies count in US dollars. "
            f"Give your rates: --rates {wanted} (dollars for one)."
        )
    return replace(rules, rates=rates), missing


def list_written_prices(raw: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Each price of a product, or of its variants, with what is said of its currency."""
    return [(each.get("price"), each.get("currency")) for each in raw.get("offers") or [raw]]


def normalize_source_rows(opened: Source, numbers: range, rules: PriceRules) -> Iterator[dict[str, Any] | Rejected]:
    for number, raw in zip(numbers, opened.read(numbers.start, numbers.stop), strict=True):
        name, licence = raw.get("source") or opened.name, raw.get("licence") or opened.licence
        found = normalize(raw, source=name, licence=licence, number=number, rules=rules)
        if isinstance(found, dict):
            yield found
            continue
        # Half a surrogate pair, which UTF-8 cannot hold, stands in the record as JSON escapes it.
        record = json.dumps(raw, default=str, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
        yield Rejected(id=f"{opened.name}-row-{number}", reasons=found, record=record)


VIEWS = Views(
    place=10,
    named_by=("product_id", "asin", "bought_product"),
    columns=("title", "category", "price", "rating"),
    report=(
        Section("catalog", "Catalog", "publish.report_catalog:gather_catalog_facts"),
        Section("search", "", "publish.report_search:gather_search_facts"),
    ),
    card={"sources": "publish.card:list_sources", "simulated": "publish.card:count_simulated_prices"},
    pictures={"prices": "publish.pictures:draw_prices", "categories": "publish.pictures:draw_categories"},
)


@stage(
    makes=Product,
    plan=plan_catalog,
    checks=[
        price_is_positive,
        price_is_as_written,
        currency_is_the_shops,
        texts_are_clean,
        category_is_the_leaf,
        promotions_lower_the_price,
        page_tells_all_facts,
    ],
    across=[ids_are_unique, titles_are_unique],
    per_shard=(1_200, 60_000),
    views=VIEWS,
    languages=("en", "zh"),
)
def catalog(
    shard: Shard,
    plan: Plan,
    *,
    source: SourceName = "sample",
    columns: Columns = {},  # noqa: B006  (a setting's default, never changed)
    products: Products = None,
    queries: QueryFile = "",
    currency: Currency = "",
    rates: Rates = {},  # noqa: B006  (as above)
    licence: Licence = "",
    invent_prices: Invent = None,
    promoted: Share = 0.06,
    language: In = "en",
) -> Iterator[pa.RecordBatch | Rejected]:
    """Products in one normal form, from the embedded sample or a real catalog, with their promotions."""
    numbers = shard.of(plan.units)
    if source == "sample":
        rows: Iterator[dict[str, Any] | Rejected] = SAMPLES[language][1](shard.seed, numbers)
    else:
        assert plan.facts.source is not None
        rows = normalize_source_rows(plan.facts.source, numbers, plan.facts.rules)
        rows = rows if plan.facts.may_invent else reject_unpriced(rows)
    while chunk := list(islice(rows, BATCH)):
        yield from (row for row in chunk if isinstance(row, Rejected))
        if source != "sample":
            chunk = [complete_row(row, plan.facts) if isinstance(row, dict) else row for row in chunk]
        kept = [add_price_and_queries(row, shard.seed, plan.facts, promoted) for row in chunk if isinstance(row, dict)]
        if kept:
            yield to_columns(kept)


def reject_unpriced(rows: Iterable[dict[str, Any] | Rejected]) -> Iterator[dict[str, Any] | Rejected]:
    for row in rows:
        if isinstance(row, dict) and row["price"] is None:
            yield Rejected(id=row["id"], reasons=[NO_PRICE], record=json.dumps(row, default=str, ensure_ascii=False))
        else:
            yield row


def complete_row(row: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """The row with what only the whole source, or its own texts, can tell."""
    return add_mined_attributes(regroup(row, facts.grouping), facts.rare)


def add_price_and_queries(row: dict[str, Any], seed: int, facts: Facts, promoted: float) -> dict[str, Any]:
    """The row with a price, its promotions and the real queries that lead to it."""
    price, is_simulated = row["price"], row["price"] is None
    if is_simulated:
        price = prices.simulate_price(seed, row["id"], row["category"], facts.levels, prices.load_reference_prices())
    found = prices.promotions(seed, row["id"], price, promoted)
    fits = fits_of(row["title"], row["category"], row["description"] or "")
    queries = row["queries"] or (facts.queries.of(row) if facts.queries else [])
    return {**row, "price": price, "price_is_simulated": is_simulated, "promotions": found, "queries": queries} | {
        "fits": [{"kind": kind, "value": value} for kind, value in fits]
    }


def to_columns(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = arrow_schema(Product)
    columns: list[pa.Array] = []
    for column in schema:
        values = [row[column.name] for row in rows]
        if column.name == "price":
            columns.append(cents_to_decimal(pa.array(values, pa.int64()).to_numpy()))  # rows hold cents
        else:
            columns.append(pa.array(values, column.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
