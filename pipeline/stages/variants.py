"""What can be bought of each product: choices, price and stock."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from shopwright.pipeline.arrow import arrow_schema, cents_to_decimal, decimal_to_cents
from shopwright.pipeline.catalog.normalize import RESERVED
from shopwright.pipeline.catalog.rows import index_product_ids
from shopwright.pipeline.catalog.variants import (
    Values,
    collect_values_by_leaf,
    draw_variant_offers,
    find_value_in_title,
    list_natural_options,
    list_page_options,
    list_plausible_values,
    list_stated_values,
    normalize_option_name,
    normalize_option_value,
)
from shopwright.pipeline.checks.titles import DENIED as AGAINST
from shopwright.pipeline.checks.titles import find_denied_choice
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.stage import Fault, Section, Shard, Views, stage
from shopwright.schemas.shop import Product, Variant

COLUMNS = [
    *(
        "id",
        "title",
        "brand",
        "category_path",
        "category",
        "color",
        "price",
        "attributes",
        "options",
        "variants",
        "source",
    ),
]
# Products whose variants are one batch.
TOGETHER = 12_000
# The unit separator of ASCII, which stands in no value.
BETWEEN = "\x1f"
STRANGER = "no such product in the catalog"
NOTHING = "no choice to tell it by"
UNFIT = "a choice that its kind of thing does not come in"
DENIED = "the title variant says what the product denies"
OTHER_PRICE = "the title variant has another price than the product"
OTHERWISE = "another variant than the source has"
SAME = "the same choices as another variant of the product"
RAGGED = "other options than the product's other variants"
COUNT = "a product without its title variant or two others"

SoldOut = Annotated[float, Field(ge=0, le=0.9, description="share of variants that are sold out")]


def price_and_stock_are_real(batch: pa.RecordBatch) -> list[str | None]:
    price, stock = decimal_to_cents(batch["price"]), batch["stock"].to_numpy()
    return [
        "price is not positive" if wrong else "stock below nothing" if short else None
        for wrong, short in zip((price <= 0).tolist(), (stock < 0).tolist(), strict=True)
    ]


def variants_fit_their_product(batch: pa.RecordBatch, catalog: Dataset[Product]) -> list[str | None]:
    """The product exists; it comes in such values; its title variant is what the title says, at the product's price."""
    known = catalog.once(collect_values_by_leaf)
    products = read_variant_product_facts(catalog, batch["product_id"])
    stocks = [
        None if is_drawn else pieces
        for pieces, is_drawn in zip(batch["stock"].to_pylist(), batch["stock_is_simulated"].to_pylist(), strict=True)
    ]
    rows = zip(
        batch["product_id"].to_pylist(),
        pair_names_and_values(batch["choices"]),
        decimal_to_cents(batch["price"]).tolist(),
        batch["is_title"].to_pylist(),
        batch["is_simulated"].to_pylist(),
        stocks,
        strict=True,
    )
    return [explain_variant(products.get(product), *row, known=known) for product, *row in rows]


def explain_variant(
    product: "ProductFacts | None",
    choices: list[tuple[str, str]],
    price: int,
    is_title: bool,
    is_simulated: bool,
    stock: int | None,
    *,
    known: Values,
) -> str | None:
    if product is None:
        return STRANGER
    if product.offers or not is_simulated:
        offers = product.offers or [((), product.cents, None)]
        if is_simulated or (tuple(choices), price, stock) not in offers:
            return OTHERWISE
        return OTHER_PRICE if is_title and price != product.cents else None
    return find_variant_fault(product, choices, price, is_title, known)


# Choices, cents and pieces; none where the source does not count them.
SourceOffer = tuple[tuple[tuple[str, str], ...], int, int | None]


class ProductFacts(NamedTuple):
    """What a product's variants are held against."""

    nameless: str
    """The title without the maker, whose name may be a color's."""
    category: str
    path: tuple[str, ...]
    cents: int
    says: dict[str, str]
    options: dict[str, list[str]]
    offers: Sequence[SourceOffer] = ()
    """Its variants as the source has them."""


def pair_names_and_values(choices: pa.ListArray) -> Iterator[list[tuple[str, str]]]:
    """Name and value of each choice, variant by variant."""
    flat = pc.list_flatten(choices)
    both = zip(flat.field("name").to_pylist(), flat.field("value").to_pylist(), strict=True)
    return (list(islice(both, count)) for count in pc.list_value_length(choices).to_pylist())


def find_variant_fault(
    product: ProductFacts, choices: list[tuple[str, str]], price: int, is_title: bool, known: Values
) -> str | None:
    if not choices:
        return NOTHING
    here = known.get(product.category, {})
    for name, value in choices:
        own, values = product.says.get(name), product.options.get(name)
        if name in RESERVED or (values is None and name not in list_natural_options(product.path)):
            return UNFIT
        if value != own and value not in (values or ()) and value not in list_plausible_values(name, here):
            return UNFIT
        if is_title:
            stated = own or find_value_in_title(product.nameless, values or list_plausible_values(name, here))
            if stated is not None and normalize_option_value(stated) != normalize_option_value(value):
                return DENIED
    if find_denied_choice(product.nameless, choices):
        return AGAINST
    return OTHER_PRICE if is_title and price != product.cents else None


def read_variant_product_facts(catalog: Dataset[Product], ids: pa.Array) -> dict[str, ProductFacts]:
    """The products of these ids, which stand near one another; without those that the catalog has not."""
    wanted = catalog.once(index_product_ids).of(ids.unique())
    wanted = wanted[wanted >= 0]
    if not len(wanted):
        return {}
    near = range(int(wanted.min()), int(wanted.max()) + 1)
    kept = set(wanted.tolist())
    products = chain.from_iterable(map(with_cents, catalog.slices(near, COLUMNS)))
    return {
        product["id"]: collect_variant_product_facts(product)
        for row, product in zip(near, products, strict=True)
        if row in kept
    }


def collect_variant_product_facts(product: dict[str, Any]) -> ProductFacts:
    path = tuple(product["category_path"])
    title = product["title"]
    nameless = title.replace(product["brand"], "", 1) if product["brand"] else title
    return ProductFacts(
        nameless,
        product["category"],
        path,
        product["cents"],
        list_stated_values(product),
        list_page_options(product),
        list_source_offers(product),
    )


def list_source_offers(product: dict[str, Any]) -> list[SourceOffer]:
    return [
        (
            tuple((normalize_option_name(each["name"]), each["value"]) for each in offer["choices"]),
            int(offer["price"] * 100),
            offer["stock"],
        )
        for offer in product["variants"] or ()
    ]


def with_cents(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows, their price in cents, without the numbers in their attributes."""
    price, attributes = decimal_to_cents(batch["price"]).tolist(), batch["attributes"]
    fields = [pc.list_flatten(attributes).field(name) for name in ("name", "value")]
    edges = np.append(0, np.cumsum(pc.list_value_length(attributes).to_numpy())).astype(np.int32)
    # Arrow cannot drop a field within a list: the list is built anew around the others.
    said = pa.ListArray.from_arrays(edges, pa.StructArray.from_arrays(fields, ["name", "value"]))
    rows = batch.drop_columns(["price", "attributes"]).append_column("attributes", said).to_pylist()
    return [row | {"cents": one} for row, one in zip(rows, price, strict=True)]


def variants_of_a_product_differ(batch: pa.RecordBatch) -> list[str | None]:
    """No two have the same choices, and all have choices for the same options."""
    names, values = (join_choice_texts(batch["choices"], field) for field in ("name", "value"))
    products = batch["product_id"].to_pylist()
    options: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    found: list[str | None] = []
    for product, options_named, chosen in zip(products, names, values, strict=True):
        ragged = options.setdefault(product, options_named) != options_named or has_repeated_option(options_named)
        found.append(RAGGED if ragged else SAME if (product, chosen) in seen else None)
        seen.add((product, chosen))
    return found


def join_choice_texts(choices: pa.ListArray, field: str) -> list[str]:
    """The names, or the values, of each variant's choices as one text in lower case."""
    flat = pc.utf8_lower(pc.list_flatten(choices).field(field))
    edges = np.append(0, np.cumsum(pc.list_value_length(choices).to_numpy())).astype(np.int32)
    found: list[str] = pc.binary_join(pa.ListArray.from_arrays(pa.array(edges), flat), BETWEEN).to_pylist()
    return found


@lru_cache(4_096)
def has_repeated_option(names: str) -> bool:
    found = names.split(BETWEEN)
    return len(set(found)) < len(found)


def products_have_a_title_and_others(variants: Dataset[Variant]) -> Iterable[Fault]:
    """Each has exactly one title variant, and two others at least where they are invented."""
    rows = variants.sql(
        "select filename, file_row_number from rows semi join (select product_id from rows group by product_id "
        "having sum(is_title::int) <> 1 or (count(*) < 3 and bool_or(is_simulated))) using (product_id) order by all"
    )
    return [Fault(file, row, COUNT) for file, row in rows]


VIEWS = Views(
    place=11,
    named_by=("variant_id", "bought_variant"),
    report=(Section("variants", "Variants", "publish.report_shop:gather_variant_facts"),),
)


@stage(
    makes=Variant,
    checks=[price_and_stock_are_real, variants_fit_their_product, variants_of_a_product_differ],
    across=[ids_are_unique, products_have_a_title_and_others],
    per_shard=(1_200, 60_000),
    views=VIEWS,
    languages=("en", "zh"),
)
def variants(catalog: Dataset[Product], shard: Shard, *, sold_out: SoldOut = 0.08) -> Iterator[pa.RecordBatch]:
    """What can be bought of each product: one choice for each of its options, with price and stock."""
    known = catalog.once(collect_values_by_leaf)
    waiting: list[pa.RecordBatch] = []
    for batch in catalog.slices(shard.of(len(catalog)), COLUMNS):
        waiting.append(batch)
        if sum(map(len, waiting)) >= TOGETHER:
            yield build_variant_batch(waiting, known, shard, sold_out)
            waiting = []
    if waiting:
        yield build_variant_batch(waiting, known, shard, sold_out)


def build_variant_batch(
    batches: Iterable[pa.RecordBatch], known: Values, shard: Shard, sold_out: float
) -> pa.RecordBatch:
    """The variants of these products, side by side; the dice are the product's own, wherever it stands."""
    ids: list[str] = []
    owners: list[str] = []
    names: list[str] = []
    values: list[str] = []
    widths: list[int] = []
    prices: list[int] = []
    pieces: list[int] = []
    is_title: list[bool] = []
    is_simulated: list[bool] = []
    stock_is_simulated: list[bool] = []
    for product in chain.from_iterable(map(with_cents, batches)):  # a few at a time: objects that stay cost time
        options, made = draw_variant_offers(product, known, Random(f"{shard.seed}/variants/{product['id']}"), sold_out)
        for number, offer in enumerate(made, 1):
            ids.append(f"{product['id']}-{number}")
            names += options
            values += offer.choices
            prices.append(offer.cents)
            pieces.append(offer.stock)
            is_title.append(offer.is_title)
            is_simulated.append(offer.is_simulated)
            stock_is_simulated.append(offer.stock_is_simulated)
        owners += [product["id"]] * len(made)
        widths += [len(options)] * len(made)
    schema = arrow_schema(Variant)
    kind = schema.field("choices").type
    choice = pa.StructArray.from_arrays(
        [pa.array(names, pa.string()), pa.array(values, pa.string())], fields=list(kind.value_type)
    )
    edges = pa.array(np.append(0, np.cumsum(widths)).astype(np.int32))
    columns = {
        "id": pa.array(ids, pa.string()),
        "product_id": pa.array(owners, pa.string()),
        "choices": pa.ListArray.from_arrays(edges, choice, type=kind),
        "price": cents_to_decimal(np.array(prices, dtype=np.int64)),
        "stock": pa.array(pieces, pa.int64()),
        "is_title": pa.array(is_title, pa.bool_()),
        "is_simulated": pa.array(is_simulated, pa.bool_()),
        "stock_is_simulated": pa.array(stock_is_simulated, pa.bool_()),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
