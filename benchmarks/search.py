"""How fast search is, what it finds, and how near its index comes to looking at every vector.

    python -m benchmarks.search                     # 10,000 products
    python -m benchmarks.search --products 1000000  # ten minutes, most of them for the vectors
    python -m benchmarks.search --run FOLDER        # a run that has embeddings already

Each time is the best of five, so that it tells of the code and not of what else the machine does. Figures go into
benchmarks/README.md.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.trajectories import machine, write
from pipeline.arrow import arrow_schema
from pipeline.catalog.search import Search, opened
from pipeline.run import Run
from pipeline.shop.kinds import Kinds
from pipeline.shop.repertoire import Repertoire
from pipeline.shop.store import Store
from pipeline.words import content_words
from schemas.shop import Variant

ASKED = 200
LIMIT = 200
TRIES = 5
FACTS = ["id", "title", "brand", "color", "category", "category_path", "attributes", "description", "price", "rating"]
Find = Callable[[str, int], np.ndarray]


def store_of(run: Run) -> Store:
    """With one variant for each product, which search does not look at."""
    catalog = run.read("catalog").table([*FACTS, "review_count", "shipping_days"]).combine_chunks()
    count = len(catalog)
    column: dict[str, Any] = {
        "id": pc.binary_join_element_wise(catalog["id"], pa.scalar("v"), "-"),
        "product_id": catalog["id"],
        "choices": pa.array([[]] * count, arrow_schema(Variant).field("choices").type),
        "price": catalog["price"],
        "stock": pa.array(np.ones(count, np.int64)),
        "is_title": pa.array(np.ones(count, bool)),
    }
    return Store(catalog, pa.table(column))


def queries(store: Store) -> list[tuple[str, int]]:
    """Two to five words of a product's title, in any order, and its row."""
    random, found = Random(1), []
    for _ in range(ASKED):
        row = random.randrange(len(store))
        words = list(content_words(store.titles[row].as_py()))
        found.append((" ".join(random.sample(words, min(len(words), random.randint(2, 5)))), row))
    return found


def ways(search: Search, store: Store) -> dict[str, Find]:
    def leaf(row: int) -> str:
        return store.leaves[store.leaf_of[row]]

    def brand(row: int) -> str:
        return store.brands[row].as_py() or ""

    def price(row: int) -> int:
        return int(store.cents[row])

    return {
        "no filter": lambda text, row: search.find(text, limit=LIMIT),
        "price": lambda text, row: search.find(text, limit=LIMIT, most=price(row)),
        "half the price": lambda text, row: search.find(text, limit=LIMIT, most=price(row) // 2),
        "category": lambda text, row: search.find(text, limit=LIMIT, category=leaf(row)),
        "category, price": lambda text, row: search.find(text, limit=LIMIT, category=leaf(row), most=price(row)),
        "brand": lambda text, row: search.find(text, limit=LIMIT, brand=brand(row)),
        "brand, rating": lambda text, row: search.find(text, limit=LIMIT, brand=brand(row), rating=4.0),
        "no words, price": lambda text, row: search.find("", limit=LIMIT, most=price(row)),
    }


def milliseconds(find: Find, asked: list[tuple[str, int]]) -> np.ndarray:
    found = np.full(len(asked), np.inf)
    for place, (text, row) in enumerate(asked):
        for _ in range(TRIES):
            started = perf_counter()
            find(text, row)
            found[place] = min(found[place], 1_000 * (perf_counter() - started))
    return found


def recall(search: Search, asked: list[tuple[str, int]]) -> float:
    """Share of the ten that the index finds that are as near as the ten nearest of all, to a thousandth."""
    near = search.nearest
    assert near is not None
    vectors = np.stack([near.vector(text) for text, _ in asked])
    cosines = np.zeros((len(asked), len(near.codes)), np.float32)
    for begin in range(0, len(near.codes), 50_000):
        end = begin + 50_000
        cosines[:, begin:end] = (near.codes[begin:end].astype(np.float32) @ vectors.T).T * near.scales[begin:end]
    bar = -np.partition(-cosines, 9, axis=1)[:, 9] - 0.001
    found = [near.find(vector, 10) for vector in vectors]
    return float(np.mean([(cosines[row, places] >= bar[row]).sum() / 10 for row, places in enumerate(found)]))


def typed(run: Run, rows: list[int]) -> list[tuple[str, int]]:
    """What people type for these products (`pipeline.shop.repertoire`), who know what they want."""
    repertoire = Repertoire(run.read("catalog").once(Kinds))
    repertoire.learn(np.array(rows))
    return [(repertoire.texts[at], row) for row in rows for at in repertoire.accurate[repertoire.slot[row]][:2]]


def hits(search: Search, asked: list[tuple[str, int]]) -> float:
    return float(np.mean([row in search.find(text, limit=10) for text, row in asked]))


def telling(search: Search, asked: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those queries whose words at most ten products have all: the others cannot be expected to find this very one."""
    few = []
    for text, row in asked:
        terms = search.terms(text)
        scores = search.scores(np.arange(len(search.rows)), terms)
        if (scores == sum(worth for worth, _ in terms)).sum() <= 10:
            few.append((text, row))
    return few


def held(search: Search) -> float:
    """Bytes a product of search's own columns, without the words' lists and the index."""
    columns = [value for value in vars(search).values() if isinstance(value, np.ndarray)]
    return sum(column.nbytes for column in columns) / len(search.rows)


def table(folder: Path, products: int | None, how: str) -> str:
    run = Run(folder, seed=0)
    started = perf_counter()
    if products:
        run.build("embeddings", products=products)
    built = perf_counter() - started
    store = store_of(run)
    started = perf_counter()
    opened(folder, store)
    made = perf_counter() - started
    started = perf_counter()
    both = opened(folder, store)
    again = perf_counter() - started
    plain = Search(store, both.lists)
    asked = queries(store)
    rows = sorted({row for _, row in asked})
    said = typed(run, rows)
    few = telling(plain, said)
    titles = [(" ".join(content_words(store.titles[row].as_py())), row) for row in rows]
    lists = sum(getattr(both.lists, name).nbytes for name in ("hashes", "edges", "places"))
    on_disk = sum(path.stat().st_size for path in (folder / "search").rglob("*") if path.is_file())
    lines = [
        f"`{how}`: {len(store):,} products, {len(store.leaves)} categories, {ASKED} queries of two to five words, {LIMIT} results",
        "",
        "| filter | words: median ms | 90 % | words and vectors: median ms | 90 % |",
        "| --- | --- | --- | --- | --- |",
    ]
    for (name, one), two in zip(ways(plain, store).items(), ways(both, store).values(), strict=True):
        figures = [f"{np.quantile(milliseconds(find, asked), at):.2f}" for find in (one, two) for at in (0.5, 0.9)]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    lines += [
        "",
        "| what | words | words and vectors |",
        "| --- | --- | --- |",
        f"| all words of a title find it among ten | {hits(plain, titles):.1%} | {hits(both, titles):.1%} |",
        f"| what is typed for a product finds it among ten | {hits(plain, said):.1%} | {hits(both, said):.1%} |",
        f"| of it, queries that fit ten products at most ({len(few) / len(said):.0%}) | {hits(plain, few):.1%} | {hits(both, few):.1%} |",
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| recall@10 of the index against all vectors | {recall(both, asked):.3f} |",
        f"| bytes a product: columns, words' lists | {held(both):.0f}, {lists / len(store):.0f} |",
        f"| bytes a product on disk, mapped: lists, codes and index | {on_disk / len(store):.0f} |",
        f"| seconds to build catalog and vectors (0 where they were there) | {built:.0f} |",
        f"| seconds to make the index, and to open it again | {made:.0f}, {again:.1f} |",
        "",
        machine(),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=10_000, help="default: 10,000")
    parser.add_argument("--run", type=Path, help="a run that has embeddings")
    options = parser.parse_args()
    how = "python -m benchmarks.search " + (f"--run {options.run}" if options.run else f"--products {options.products}")
    with tempfile.TemporaryDirectory() as place:
        text = table(options.run or Path(place) / "run", None if options.run else options.products, how)
    print(text)
    write("search --run" if options.run else f"search --products {options.products}", text)


if __name__ == "__main__":
    main()
