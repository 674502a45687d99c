"""`shopwright inspect`: what a file of products is, how each column is read and why, and what would become of its rows."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from shopwright.pipeline.catalog.exports.columns import is_fact
from shopwright.pipeline.catalog.exports.systems import Export, is_listed, list_systems
from shopwright.pipeline.catalog.exports.values import says
from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.repair.money import PriceRules, survey_prices
from shopwright.pipeline.catalog.sources import BadSource, open_source
from shopwright.pipeline.catalog.sources.file import Catalog
from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.commands.output import print_json
from shopwright.pipeline.problem import Problem, harmless

# Products that are shown.
SHOWN = 20
# Rows by which columns are described.
SEEN = 1_000
# Characters of titles by which a language is known.
ENOUGH = 1_000
# Rows that are read to the end for counts; of a larger file the first.
COUNTED = 200_000


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "inspect", [as_json])
    options.add_argument("files", nargs="+", metavar="FILE", help="a file, folder, pattern, address or mapping")
    options.add_argument("--write", metavar="FILE.toml", help="write the mapping, to be edited and given as --source")
    options.add_argument(
        "--rows", type=int, default=COUNTED, metavar="N", help=f"rows that are counted (default: {COUNTED:,}; 0: all)"
    )


def run(files: list[str], json: bool, write: str | None, rows: int) -> int:
    found = [inspect_source(file, rows) for file in files]
    if write:
        if len(files) > 1:
            raise Problem("--write makes the mapping of one file: inspect them one by one.")
        write_mapping(files[0], write)
    if json:
        print_json(found)
        return 0
    for facts in found:
        print(harmless("\n".join(describe(facts))))
    if write:
        print(f"\nmapping    {write}\nBuild by it: shopwright build catalog --source {write}")
    return 0


def inspect_source(text: str, most: int) -> dict[str, Any]:
    source = open_source(text)
    if not isinstance(source, Catalog):
        raise BadSource(f"{text} is no file of your own, and its columns are known.")
    count = len(source)
    counted = min(count, most or count)
    written = chain.from_iterable(
        [(each.get("price"), each.get("currency")) for each in raw.get("offers") or [raw]]
        for raw in source.read(0, counted)
    )
    rules, currencies = survey_prices(written, source.currency)
    table = source.rows or source.table
    sample = [row for row in table.read(0, SEEN) if "unreadable" not in row]
    rejects, repairs, shown, totals = count_rows(source, counted, rules)
    return {
        "file": text,
        "system": source.name,
        "about": next(
            (system.about for system in list_systems() if system.name == source.name), "a file of no known system"
        ),
        "rows": len(table),
        "products": count,
        "counted": counted,
        "used": totals["used"],
        "mended": totals["mended"],
        "rejected": totals["rejected"],
        "without_price": totals["without price"],
        "variants": totals["variants"],
        "currency": dict(currencies),
        "language": find_language(sample, source.export),
        "columns": [describe_column(name, sample, source) for name in table.columns],
        "questions": list_questions(source, totals["without price"]),
        "rejects": dict(rejects.most_common()),
        "repairs": dict(repairs.most_common()),
        "examples": shown,
    }


def count_rows(
    source: Catalog, counted: int, rules: PriceRules
) -> tuple[Counter[str], Counter[str], list[dict[str, Any]], Counter[str]]:
    """Reasons of rejection, repairs, the first products, and how many were used, mended and rejected."""
    rejects: Counter[str] = Counter()
    repairs: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    shown: list[dict[str, Any]] = []
    seen: dict[str, set[str]] = {"id": set(), "title": set()}
    # A price in another currency is one; the build asks for its rate.
    open_rules = PriceRules(rules.currency, rules.named, rules.decimal, AnyRate())
    for number, raw in enumerate(source.read(0, counted)):
        found = normalize(raw, source=source.name, licence=source.licence, number=number, rules=open_rules)
        reasons = found if isinstance(found, list) else list(find_repeats(found, seen))
        rejects.update(reasons)
        if reasons or isinstance(found, list):
            totals["rejected"] += 1
            continue
        repairs.update(found["repairs"])
        totals["mended" if found["repairs"] else "used"] += 1
        totals["without price"] += found["price"] is None
        totals["variants"] += len(found["variants"])
        if len(shown) < SHOWN:
            shown.append(show_product(found))
    return rejects, repairs, shown, totals


class AnyRate(dict[str, float]):
    """One for one, so that prices of any currency are read and none is converted."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> float:
        return 1.0


def find_repeats(product: dict[str, Any], seen: dict[str, set[str]]) -> Iterator[str]:
    for name, known in seen.items():
        value = product[name].lower() if name == "title" else product[name]
        if value in known:
            yield f"duplicate {name}"
    for name, known in seen.items():
        known.add(product[name].lower() if name == "title" else product[name])


def show_product(product: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "title", "brand", "category_path", "color", "price_written")
    return {name: product[name] for name in kept} | {
        "variants": [
            ", ".join(f"{each['name']} {each['value']}" for each in offer["choices"])
            + f" {offer['price']} ({offer['stock']})"
            for offer in product["variants"][:5]
        ],
        "attributes": {each["name"]: each["value"] for each in product["attributes"][:8]},
    }


def describe_column(name: str, rows: list[dict[str, Any]], source: Catalog) -> dict[str, Any]:
    """How a column is read, why, and what stands in it."""
    export = source.export
    texts = [
        says(row.get(name)) if not isinstance(row.get(name), dict | list) else json.dumps(row[name], default=str)
        for row in rows
    ]
    filled = [text for text in texts if text]
    role, why = find_role(name, export, source)
    return {
        "column": name,
        "read_as": role,
        "why": why,
        "filled": len(filled),
        "of": len(texts),
        "values": [text[:60] for text in dict.fromkeys(islice(filled, 200))][:3],
    }


def find_role(name: str, export: Export, source: Catalog) -> tuple[str, str]:
    because = f"a column of {export.name}" if export.name else "by its name"
    for ours, theirs in export.columns.items():
        if any(way == name or way.startswith(f"{name}.") for way in theirs):
            place = f", {theirs.index(name) + 1}. of {len(theirs)}" if name in theirs and len(theirs) > 1 else ""
            return ours, because + place
    if name in source.unused_prices:
        return "not used", "may be a price: say whether it is, --columns price=NAME"
    options = export.options
    if options and name in (*options.names, *options.values, *options.columns, *options.text):
        return "variant option", because
    join = export.join
    if join and name in (join.parent, join.inside, *join.by, *join.otherwise, *join.below):
        return "rows of one product", because
    if name in export.sold:
        return "for sale or not", because
    if is_listed(name, export.other):
        return "another price", "not what a shopper pays"
    reader = getattr(source.product, "__self__", None)
    if reader is not None and name in reader.facts:
        return "attribute", "nothing else names it"
    if is_listed(name, export.ignore) or not is_fact(name):
        return "plumbing", "tells about the record or the shop, and not about the product"
    return "not used", "no fact of a product"


def find_language(rows: list[dict[str, Any]], export: Export) -> str:
    """The language of the titles, as far as their letters and their frequency tell it."""
    from charset_normalizer import from_bytes

    titles = [says(row.get(name)) for row in rows[:500] for name in export.columns.get("title", [])[:1]]
    text = "\n".join(filter(None, titles))
    best = from_bytes(text.encode(), cp_isolation=["utf_8"]).best() if len(text) >= ENOUGH else None
    return str(best.language) if best is not None else "too little text"


def list_questions(source: Catalog, missing: int) -> list[str]:
    """What a build stops for, and what to type."""
    found = [f"{name!r} may be a price and is not used: --columns price={name}" for name in source.unused_prices]
    if missing:
        found.append(
            f"{missing:,} products have no price: --invent-prices draws one for each, --invent-prices no leaves them out"
        )
    return found


def describe(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['file']}: {facts['about']}, {facts['rows']:,} rows, {facts['products']:,} products"
    money = ", ".join(f"{code or 'unclear'} ({times:,})" for code, times in facts["currency"].items()) or "none"
    yield f"currency   {money}\nlanguage   {facts['language']}"
    yield f"\n{'column':30} {'read as':20} {'filled':>7}  why; values"
    for column in facts["columns"]:
        share = f"{column['filled'] / max(column['of'], 1):.0%}"
        values = " | ".join(column["values"])
        yield f"{column['column'][:30]:30} {column['read_as']:20} {share:>7}  {column['why']}; {values[:90]}"
    rest = f" (of the first {facts['counted']:,})" if facts["counted"] < facts["products"] else ""
    yield f"\n{facts['used']:,} used as they are + {facts['mended']:,} mended + {facts['rejected']:,} rejected{rest}; {facts['variants']:,} variants"
    for kind, counts in (("rejected", facts["rejects"]), ("mended", facts["repairs"])):
        for reason, times in counts.items():
            yield f"  {kind} {times:,}: {reason}"
    yield "\nproducts as they would be"
    for product in facts["examples"]:
        path = " > ".join(product["category_path"])
        yield f"  {product['id']}: {product['title'][:70]} | {product['brand'] or '-'} | {path} | {product['price_written'] or 'no price'}"
        for variant in product["variants"]:
            yield f"      {variant}"
    for question in facts["questions"]:
        yield f"\nquestion: {question}"


def write_mapping(file: str, target: str) -> None:
    source = open_source(file)
    assert isinstance(source, Catalog)
    try:
        with open(target, "x", encoding="utf-8") as new:
            new.write("\n".join(list_mapping_lines(source, file, Path(target))) + "\n")
    except FileExistsError:
        raise Problem(f"{target} is there already, and stays as it is. Name another file.") from None
    except OSError as error:
        raise Problem(f"Cannot write {target}: {error.strerror}.") from None


def list_mapping_lines(source: Catalog, file: str, target: Path) -> Iterator[str]:
    """The mapping as TOML, in the words of data/reference/exports.toml."""
    path = Path(file).expanduser()
    where = (
        str(path.resolve())
        if path.exists() and path.resolve().parent != target.resolve().parent
        else path.name
        if path.exists()
        else file
    )
    yield f"# How {path.name} is read. Edit it, then: shopwright build catalog --source {target.name}"
    yield f"source = {as_toml(where)}"
    reader = getattr(source.product, "__self__", None)
    export = source.export.model_copy(update={"attributes": list(reader.facts) if reader else None, "needs": []})
    told = export.model_dump(by_alias=True, exclude_defaults=True, exclude={"columns", "about"})
    told.setdefault("licence", "")
    for name, value in told.items():
        yield f"{name} = {as_toml(value)}"
    yield "# invent_prices = true   # draws a price for products without one; false leaves them out"
    yield "\n[columns]   # our field = their columns, the first that says something counts"
    for ours, theirs in export.columns.items():
        yield f"{ours} = {as_toml(theirs)}"


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{json.dumps(name, ensure_ascii=False)} = {as_toml(each)}" for name, each in value.items())
            + " }"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
