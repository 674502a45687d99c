"""How long a catalog of any size takes to build, index and open, how fast search is, what it finds, and how near its
index comes to looking at every vector.

    python -m benchmarks.search                     # 10,000 products
    python -m benchmarks.search --products 2000000  # some 500 processor seconds to build and index
    python -m benchmarks.search --products 2000000 --run FOLDER   # keeps the run; stopped, it goes on where it was
    python -m benchmarks.search --growth 1600000    # a sixteenth, a quarter and all of so many, and how the time grows

Every step runs in processes of its own, whose memory is the most that any one of them held, mapped files in it. A time
by filter is the best of five, so that it tells of the code and not of what else the machine does; the thousand searches
are each made once. Figures go into benchmarks/README.md.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.steps import measured, on_disk
from benchmarks.trajectories import best, machine, write
from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.nearest import import_faiss
from shopwright.pipeline.catalog.search import Search, open_search
from shopwright.pipeline.dataset import Dataset, ShardWriter
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.words import content_words
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.schemas.shop import Variant

SEARCHES = 1_000
ASKED = 200
LIMIT = 200
TRIES = 5
CHUNK = 50_000
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


def queries(store: Store, count: int) -> list[tuple[str, int]]:
    """Two to five words of a product's title, in any order, and its row."""
    random, found = Random(1), []
    for _ in range(count):
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


def recall(search: Search, embeddings: Dataset[Any], texts: list[str]) -> dict[str, float]:
    """Share of the ten that are found that are among the ten nearest of all vectors, ties in; and so to a thousandth."""
    near = search.nearest
    assert near is not None
    vectors = np.stack([near.vector(text) for text in texts])
    rows = [search.rows[near.find(vector, 10)] for vector in vectors]
    top, found = exact(embeddings, vectors, rows)
    bar = top.min(axis=1, keepdims=True)
    return {"recall": float((found >= bar - 1e-6).mean()), "near": float((found >= bar - 0.001).mean())}


def exact(embeddings: Dataset[Any], vectors: np.ndarray, rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The ten best cosines of each of these vectors among all in the dataset, and those of the rows found for it."""
    top = np.full((len(vectors), 10), -2, np.float32)
    found, first = np.full((len(vectors), 10), -2, np.float32), 0
    for batch in embeddings.batches(["vector"]):
        here = batch["vector"].flatten().to_numpy().reshape(len(batch), -1).astype(np.float32)
        cosines = vectors @ here.T
        top = -np.partition(-np.concatenate([top, cosines], axis=1), 9, axis=1)[:, :10]
        for place, each in enumerate(rows):
            inside = np.flatnonzero((each >= first) & (each < first + len(batch)))
            found[place, inside] = cosines[place, each[inside] - first]
        first += len(batch)
    return top, found


def typed(run: Run, rows: list[int]) -> list[tuple[str, int]]:
    """Maker, thing and details of these products, as somebody types who knows what it wants."""
    stock = run.read("catalog").once(CatalogColumns)
    said = [(stock.speech(row), row) for row in rows]
    return [
        (f"{words.brand} {words.head} {' '.join(words.details[first : first + 2])}", row)
        for words, row in said
        for first in (0, 1)
    ]


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


def once(find: Callable[[str], Any], texts: list[str]) -> list[float]:
    """Milliseconds of each, after a few to begin with: the median and the 99th percentile."""
    for text in texts[:20]:
        find(text)
    taken = []
    for text in texts:
        started = perf_counter()
        find(text)
        taken.append(1_000 * (perf_counter() - started))
    return [float(np.quantile(taken, at)) for at in (0.5, 0.99)]


def scanned(search: Search, texts: list[str]) -> dict[str, Any]:
    """The peer: every vector, a byte a number, looked at for each query."""
    faiss, near = import_faiss(), search.nearest
    assert near is not None
    flat = faiss.IndexScalarQuantizer(near.codes.shape[1], faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    for begin in range(0, len(near.codes), CHUNK):
        some = near.codes[begin : begin + CHUNK] * near.scales[begin : begin + CHUNK, None]
        if not flat.is_trained:
            flat.train(np.concatenate([some, -some]))
        flat.add(some.astype(np.float32))
    return {"scan": once(lambda text: flat.search(near.vector(text)[None], 10), texts)}


STEPS: dict[str, Callable[[Path, int], dict[str, Any]]] = {}


def step(work: Callable[[Path, int], dict[str, Any]]) -> Callable[[Path, int], dict[str, Any]]:
    STEPS[work.__name__] = work
    return work


@step
def catalog(folder: Path, products: int) -> dict[str, Any]:
    return {"rows": Run(folder, seed=0).build("catalog", products=products).rows}


@step
def embeddings(folder: Path, products: int) -> dict[str, Any]:
    return {"rows": Run(folder, seed=0).build("embeddings").rows}


@step
def index(folder: Path, products: int) -> dict[str, Any]:
    store = store_of(Run(folder))
    began = perf_counter()
    open_search(folder, store)
    return {"index": perf_counter() - began}


@step
def opening(folder: Path, products: int) -> dict[str, Any]:
    store = store_of(Run(folder))
    began = perf_counter()
    found = open_search(folder, store).find("blue lamp", limit=10)
    return {"again": perf_counter() - began, "found": len(found)}


@step
def searching(folder: Path, products: int) -> dict[str, Any]:
    """All figures of search itself."""
    run = Run(folder)
    store = store_of(run)
    both = open_search(folder, store)
    plain = Search(store, both.lists)
    asked = queries(store, ASKED)
    rows = sorted({row for _, row in asked})
    said = typed(run, rows)
    titles = [(" ".join(content_words(store.titles[row].as_py())), row) for row in rows]
    few = telling(plain, said)
    many = [
        text
        for text, _ in [*queries(store, SEARCHES), *typed(run, sorted({row for _, row in queries(store, SEARCHES)}))]
    ]
    texts = Random(2).sample(many, SEARCHES)
    lists = sum(getattr(both.lists, name).nbytes for name in ("hashes", "edges", "places"))
    times = {
        name: [float(np.quantile(milliseconds(find, asked), at)) for find in (one, two) for at in (0.5, 0.9)]
        for (name, one), two in zip(ways(plain, store).items(), ways(both, store).values(), strict=True)
    }
    return {
        "rows": len(store),
        "categories": len(store.leaves),
        "filters": times,
        "hits": {
            "all words of a title find it among ten": [hits(each, titles) for each in (plain, both)],
            "what is typed for a product finds it among ten": [hits(each, said) for each in (plain, both)],
            f"of it, queries that fit ten products at most ({len(few) / len(said):.0%})": [
                hits(each, few) for each in (plain, both)
            ],
        },
        "words": once(lambda text: plain.find(text, limit=LIMIT), texts),
        "both": once(lambda text: both.find(text, limit=LIMIT), texts),
        "typed": recall(both, run.read("embeddings"), [text for text, _ in said]),
        "of titles": recall(both, run.read("embeddings"), [text for text, _ in asked]),
        "bytes": [held(both), lists / len(store)],
        **scanned(both, texts[:50]),
    }


def a_step(name: str, folder: Path, products: int) -> list[str]:
    return ["benchmarks.search", "--step", name, "--run", str(folder), "--products", str(products)]


def floor(dataset: Dataset[Any]) -> float:
    """Seconds that pyarrow needs to write all its rows, already in memory as Arrow, on one core."""
    some = [batch for batch, _ in zip(dataset.batches(), range(20), strict=False)]

    def written() -> None:
        with tempfile.TemporaryDirectory() as place:
            writer = ShardWriter(Path(place) / "part-00000.parquet", dataset.makes)
            for batch in some:
                writer.write(batch)
            writer.commit()

    return best(written) / sum(map(len, some)) * len(dataset)


def all_measured(folder: Path, products: int) -> dict[str, dict[str, Any]]:
    """Every step; kept beside the folder, so that a measurement that was stopped goes on."""
    kept = Path(f"{folder}.figures.json")
    steps: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in STEPS:
        if name not in steps:
            steps[name] = measured(*a_step(name, folder, products))
            kept.write_text(json.dumps(steps))
    return steps


def table(folder: Path, products: int, how: str) -> str:
    steps = all_measured(folder, products)
    run, found = Run(folder), steps["searching"]
    lines = [
        f"`{how}`: {found['rows']:,} products, {found['categories']} categories, {os.cpu_count()} workers",
        "",
        "| step | seconds | processor seconds | most MB of a process | pyarrow writes the same in | GB on disk |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, what in WHAT.items():
        one = steps[name]
        least = f"{floor(run.read(name)):.1f} s" if name in ("catalog", "embeddings") else ""
        disk = {"index": "search", "opening": ""}.get(name, name)
        size = f"{on_disk(folder / disk):.2f}" if disk else ""
        lines.append(f"| {what} | {one['seconds']:.0f} | {one['cpu']:.0f} | {one['mb']:.0f} | {least} | {size} |")
    lines += ["", *of_search(steps, found), "", machine()]
    return "\n".join(lines)


WHAT = {
    "catalog": "catalog, with its checks",
    "embeddings": "embeddings, with their checks",
    "index": "index: the store read, words' lists and cells made",
    "opening": "opening: the store read, the index mapped, a search",
}


def of_search(steps: dict[str, dict[str, Any]], found: dict[str, Any]) -> list[str]:
    made, again = steps["index"]["index"], steps["opening"]["again"]
    lines = ["| 1,000 searches, 200 results each | median ms | 99 % |", "| --- | --- | --- |"]
    for what, key in (
        ("words", "words"),
        ("words and vectors", "both"),
        ("peer: a scan of all vectors on one core, 10 results", "scan"),
    ):
        lines.append(f"| {what} | {found[key][0]:.2f} | {found[key][1]:.2f} |")
    lines += ["", "| recall@10 of the index against all vectors | ties in | to a thousandth |", "| --- | --- | --- |"]
    for what, key in (("what is typed for a product", "typed"), ("two to five words of a title", "of titles")):
        lines.append(f"| {what} | {found[key]['recall']:.3f} | {found[key]['near']:.3f} |")
    lines += [
        "",
        f"| filter, {ASKED} queries of two to five words | words: median ms | 90 % | words and vectors: median ms | 90 % |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, times in found["filters"].items():
        lines.append(f"| {name} | {' | '.join(f'{each:.2f}' for each in times)} |")
    lines += ["", "| what | words | words and vectors |", "| --- | --- | --- |"]
    for name, (one, two) in found["hits"].items():
        lines.append(f"| {name} | {one:.1%} | {two:.1%} |")
    columns, lists = found["bytes"]
    return [
        *lines,
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| bytes a product in memory: columns, words' lists | {columns:.0f}, {lists:.0f} |",
        f"| seconds to make the index (0 where it was there), and to open it again beside a store that is read | {made:.1f}, {again:.1f} |",
    ]


def growth(products: int, folder: Path) -> str:
    sizes = [products // 16, products // 4, products]
    lines = [
        f"`python -m benchmarks.search --growth {products}`: processor seconds, and the most MB of a process",
        "",
        f"| step | {' | '.join(f'{size:,}' for size in sizes)} | exponent |",
        "| --- | --- | --- | --- | --- |",
    ]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ("catalog", "embeddings", "index")}
    for size in sizes:
        for name, steps in found.items():
            steps.append(measured(*a_step(name, folder / str(size), size)))
    for name, steps in found.items():
        cells = " | ".join(f"{one['cpu']:.1f} s, {one['mb']:.0f} MB" for one in steps)
        power = np.polyfit(np.log(sizes), np.log([one["cpu"] for one in steps]), 1)[0]
        lines.append(f"| {name} | {cells} | {power:.2f} |")
    return "\n".join([*lines, "", machine()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=10_000, help="default: 10,000")
    parser.add_argument("--run", type=Path, help="where the run is, which is kept then")
    parser.add_argument("--growth", type=int, help="so many products, and fewer")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(STEPS[options.step](options.run, options.products)))
        return
    with tempfile.TemporaryDirectory() as place:
        folder = options.run or Path(place) / "run"
        if options.growth:
            section, text = "search --growth", growth(options.growth, folder)
        else:
            section = f"search --products {options.products}"
            text = table(folder, options.products, f"python -m benchmarks.{section}")
    print(text)
    write(section, text)


if __name__ == "__main__":
    main()
