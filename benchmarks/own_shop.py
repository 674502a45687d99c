"""A shop's own file at size: how long it takes to inspect and to build, a packed file's memory, and opening a large catalog for queries.

    python -m benchmarks.own_shop                        # a million rows, 1 GB packed, 1.3 million products: half an hour
    python -m benchmarks.own_shop --only csv --rows 100000
    python -m benchmarks.own_shop --only packed --gb 5
    python -m benchmarks.own_shop --only open --run data/runs/mine   # a shop that is there
    python -m benchmarks.own_shop --goals FILE --run data/runs/mine  # what of people's instructions the shop's attributes know

Beside the build stands what Arrow needs to read the same CSV and to write it as Parquet; beside the packed file, what gzip needs to unpack it.
Seconds are on the clock; those of CPU are of all processes of a step. Figures go into benchmarks/README.md.
"""

import argparse
import gzip
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter, process_time

import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.steps import measured
from benchmarks.trajectories import machine, write
from shopwright.pipeline.catalog.sources import open_source
from shopwright.pipeline.catalog.wishes import find_unwished_names
from shopwright.pipeline.checks.shopping import Offers
from shopwright.pipeline.commands import inspect
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.instruction_comparison import parse_instruction, read_instructions
from shopwright.pipeline.words import content_words

ROWS, GB, LARGE = 1_000_000, 1.0, 1_300_000
HEADER = "id,title,category,brand,price,description\n"
THINGS = "desk lamp,oak shelf,wool rug,stone mug,pine stool,linen curtain,steel hook,glass vase".split(",")
PARTS = ("csv", "packed", "open")


def list_lines(letters: int) -> Iterator[str]:
    """Rows of an endless shop, each with so many letters of description."""
    random, words = Random(1), " ".join(THINGS)
    for number in range(1 << 60):
        thing, brand = random.choice(THINGS), f"Maker{random.randrange(97)}"
        about = (words * (1 + letters // len(words)))[:letters]
        price = f"{random.randrange(4, 400)}.{random.randrange(100):02}"
        yield f"P{number},{brand} {thing} model {number},Home > {thing.title()}s,{brand},{price},{about}\n"


def write_csv(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(HEADER)
        file.writelines(islice(list_lines(0), rows))


def write_packed(path: Path, size: float) -> int:
    """A packed CSV of so many bytes unpacked; the number of its rows."""
    written = rows = 0
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        file.write(HEADER)
        for line in list_lines(1000):
            if written > size:
                return rows
            file.write(line)
            written += len(line)
            rows += 1
    raise AssertionError("it has no end")


# Steps: each in a process of its own


def read_with_arrow(path: str) -> dict[str, float]:
    begun = process_time()
    table = pyarrow.csv.read_csv(path)
    read = process_time() - begun
    pq.write_table(table, f"{path}.parquet", compression="zstd")
    return {"rows": len(table), "read": read, "stored": process_time() - begun}


def inspect_file(path: str) -> dict[str, float]:
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        inspect.run([path], json=False, write=None, rows=inspect.COUNTED)
    return {}


def build_catalog(path: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        made = Run(folder, seed=1, workers=len(os.sched_getaffinity(0))).build("catalog", source=path)
        return {"rows": made.rows, "rejected": made.rejected}


def unpack(path: str) -> dict[str, float]:
    with gzip.open(path) as file:
        return {"bytes": sum(map(len, iter(lambda: file.read(1 << 20), b"")))}


def open_packed(path: str) -> dict[str, float]:
    source = open_source(path)
    (last,) = source.read(len(source) - 1, len(source))
    assert last["title"]
    return {"rows": len(source)}


def open_offers(folder: str) -> dict[str, float]:
    run = Run(folder)
    begun, cpu = perf_counter(), process_time()
    offers = Offers(run.read("catalog"), run.read("variants"))
    opened = perf_counter() - begun, process_time() - cpu
    need = {"fact": "price", "op": "at most", "value": "20.00"}
    begun = perf_counter()
    for leaf in offers.categories[:10]:
        offers.few([{"category": leaf, "needs": [need]}], 0)
    asked = (perf_counter() - begun) / min(10, len(offers.categories))
    sizes = {"products": len(offers.products), "variants": len(offers.variants), "categories": len(offers.categories)}
    return {"open": opened[0], "open_cpu": opened[1], "category": asked, **sizes}


STEPS = {
    step.__name__: step for step in (read_with_arrow, inspect_file, build_catalog, unpack, open_packed, open_offers)
}


# Words of people


def list_shop_words(run: Run) -> dict[str, set[str]]:
    """The content words of its attributes and options, of which somebody may wish; and with those of titles and descriptions, too."""
    catalog = run.read("catalog")
    unwished = find_unwished_names(catalog.table(["attributes"])["attributes"])
    wished, told = set[str](), set[str]()
    for product in catalog:
        facts = [f"{each.name} {each.value}" for each in product.attributes if each.name not in unwished]
        facts += [f"{each.name} {value}" for each in product.options for value in each.values]
        wished.update(content_words(" ".join([*facts, product.color or ""])))
        told.update(content_words(f"{product.title} {product.description or ''} {' '.join(product.bullets)}"))
    return {"attributes": wished, "attributes, titles and descriptions": wished | told}


def words_table(goals: Path, run: str) -> str:
    theirs: Counter[str] = Counter()
    for text in read_instructions(goals):
        wishes = (
            each.said for each in parse_instruction(text).constraints if each.kind in ("color", "size", "feature")
        )
        theirs.update(word for said in wishes for word in content_words(said) if word.isalpha())
    made = Run(run)
    lines = [
        f"`python -m benchmarks.own_shop --goals {goals.name} --run RUN`: {theirs.total():,} words ({len(theirs):,} different ones) of colors, sizes",
        f"and features in people's instructions; the catalog has {len(made.read('catalog')):,} products of {made.read('catalog').head(1)[0].source}",
        "",
        "| known to | of all words | of different ones | commonest unknown |",
        "| --- | --- | --- | --- |",
    ]
    for what, known in list_shop_words(made).items():
        of_all = sum(count for word, count in theirs.items() if word in known) / theirs.total()
        strange = [word for word, _ in theirs.most_common() if word not in known]
        different = 1 - len(strange) / len(theirs)
        lines.append(f"| {what} | {of_all:.0%} | {different:.0%} | {', '.join(strange[:12])} |")
    return "\n".join([*lines, "", machine()])


def measure(step: str, path: Path) -> dict[str, float]:
    return measured("benchmarks.own_shop", "--step", step, str(path))


# Tables


def csv_table(folder: Path, rows: int) -> str:
    path = folder / "shop.csv"
    write_csv(path, rows)
    arrow, told, made = (measure(step, path) for step in ("read_with_arrow", "inspect_file", "build_catalog"))
    lines = [
        f"`python -m benchmarks.own_shop --only csv --rows {rows}`: a CSV of {rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB",
        "",
        "| step | seconds | CPU seconds | most MB of a process | times Arrow's CPU |",
        "| --- | --- | --- | --- | --- |",
        f"| peer: pyarrow reads it | | {arrow['read']:.1f} | {arrow['mb']:,.0f} | |",
        f"| peer: pyarrow reads it and writes Parquet | | {arrow['stored']:.1f} | {arrow['mb']:,.0f} | 1 |",
    ]
    steps = (("`shopwright inspect`", told), ("`build catalog`, with its checks", made))
    for what, found in steps:
        ratio = f"{found['cpu'] / arrow['stored']:.0f}"
        lines.append(f"| {what} | {found['seconds']:.0f} | {found['cpu']:.0f} | {found['mb']:,.0f} | {ratio} |")
    return "\n".join([*lines, "", f"Rows: {made['rows']:,} used, {made['rejected']:,} rejected. {machine()}"])


def packed_table(folder: Path, gb: float) -> str:
    lines = ["| GB unpacked | rows | gzip alone, CPU seconds | opened, CPU seconds | most MB of a process |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    os.environ["XDG_CACHE_HOME"] = str(folder)
    for size in (gb / 4, gb):
        path = folder / f"shop-{size}.csv.gz"
        rows = write_packed(path, size * 1e9)
        alone, opened = measure("unpack", path), measure("open_packed", path)
        assert opened["rows"] == rows
        lines.append(f"| {size:g} | {rows:,} | {alone['cpu']:.1f} | {opened['cpu']:.1f} | {opened['mb']:,.0f} |")
        path.unlink()
    return "\n".join([f"`python -m benchmarks.own_shop --only packed --gb {gb:g}`", "", *lines, "", machine()])


def open_table(folder: Path, run: str | None, products: int) -> str:
    place = Path(run) if run else folder / "run"
    if Run(place).read("variants").manifest is None:
        Run(place, seed=0, workers=len(os.sched_getaffinity(0))).build("variants", products=products)
    found = measure("open_offers", place)
    sizes = ", ".join(f"{found[name]:,.0f} {name}" for name in ("products", "variants", "categories"))
    lines = [
        f"`python -m benchmarks.own_shop --only open`: {sizes}",
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| seconds to open the catalog for queries (of CPU) | {found['open']:.1f} ({found['open_cpu']:.1f}) |",
        f"| seconds until the first question of a category is answered, mean of ten | {found['category']:.2f} |",
        f"| most MB | {found['mb']:,.0f} |",
    ]
    return "\n".join([*lines, "", machine()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="one of its parts")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"of the CSV (default: {ROWS:,})")
    parser.add_argument("--gb", type=float, default=GB, help=f"of the packed file, unpacked (default: {GB:g})")
    parser.add_argument("--products", type=int, default=LARGE, help=f"of the large catalog (default: {LARGE:,})")
    parser.add_argument("--run", help="a folder with a catalog and its variants, or the place where they are built")
    parser.add_argument("--goals", type=Path, help="people's instructions, as a list in JSON; with --run")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.goals:
        print(words_table(options.goals, options.run))
        return
    if options.step:
        print(json.dumps(STEPS[options.step[0]](options.step[1])))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {
            "csv": lambda: csv_table(folder, options.rows),
            "packed": lambda: packed_table(folder, options.gb),
            "open": lambda: open_table(folder, options.run, options.products),
        }
        for part in [options.only] if options.only else PARTS:
            text = tables[part]()
            print(text)
            write(f"own_shop {part}", text)


if __name__ == "__main__":
    main()
