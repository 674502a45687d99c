"""What search finds: by words, by vectors and by both, beside looking at every vector, on some of the catalog."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np
import pyarrow.compute as pc

from shopwright.pipeline.catalog.embed import HASHED, open_embedder
from shopwright.pipeline.catalog.nearest import Nearest, import_faiss, nearest_in
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.realism.shop import make_plain_variants
from shopwright.pipeline.extras import explain_missing
from shopwright.pipeline.publish.report_sample import rows_at
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.words import content_words
from shopwright.schemas.shop import Embedding, Product

PRODUCTS = 2_000
ASKED = 60
# Places of the catalog that the products are taken from, each with its neighbours.
PARTS = 8
TEN = 10
FACTS = ["id", "title", "brand", "color", "category", "category_path", "attributes", "description", "price", "rating"]
FACTS += ["review_count", "shipping_days"]
ELSEWHERE = "python -m benchmarks.search --run FOLDER"


def gather_search_facts(run: Run, catalog: Dataset[Product], embeddings: Dataset[Embedding]) -> dict[str, Any] | None:
    """None without vectors; `why` in words where what they find is not measured."""
    shop, vectors = catalog.manifest, embeddings.manifest
    if not (shop and vectors and shop.rows and vectors.rows):
        return None
    name = vectors.recipe.settings["embedder"]
    if vectors.recipe.inputs.get(catalog.name) != shop.fingerprint:
        return {"why": "The vectors are of an earlier catalog. Build embeddings again, with --rebuild."}
    if name != HASHED:
        return {"why": f"The vectors are {name}'s, a model that a report does not load. To measure: {ELSEWHERE}"}
    if missing := explain_missing("faiss", "To measure it"):
        return {"why": missing}
    return measure_recall(run, shop.rows)


def measure_recall(run: Run, total: int) -> dict[str, Any]:
    """Shares of the ten nearest by exact cosine that each way has among its ten, and of products that their own words find."""
    store, vectors = load_sample_shop(run, total)
    words = Search(store)
    known = vectors[words.rows]
    both = Search(store, words.lists, nearest_in(known.astype(np.float16), open_embedder(HASHED)))
    near = both.nearest
    assert near is not None
    asked = draw_title_queries(store)
    ways: dict[str, Callable[[str], Any]] = {
        "index of vectors": lambda text: [int(words.rows[place]) for place in near.find(near.vector(text), TEN)],
        "words and vectors": lambda text: both.find(text, limit=TEN),
        "words alone": lambda text: words.find(text, limit=TEN),
    }
    with one_thread():
        found = {}
        for way, find in ways.items():
            found[way] = [list(map(int, find(text))) for text, _ in asked]
    exact = [nearest_of(near, known, text) for text, _ in asked]
    hits = []
    for way, rows in found.items():
        # Queries whose own product is among what was found.
        right = sum(own in each for (_, own), each in zip(asked, rows, strict=True))
        hits.append((way, right / len(asked)))
    return {
        "why": "",
        "recall": [(way, shares(rows, exact, words)) for way, rows in found.items()],
        "hits": hits,
        "asked": len(asked),
        "products": len(store),
        "total": total,
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """For so little work FAISS's threads wait for one another longer than they work."""
    faiss = import_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def load_sample_shop(run: Run, total: int) -> tuple[Store, np.ndarray]:
    """Products with their vectors, float32 [products, dimensions]: a shop of their own, with one variant for each."""
    ranges = split_ranges(total)
    facts = rows_at(run.read("catalog"), ranges, FACTS)
    given = rows_at(run.read("embeddings"), ranges, ["id", "vector"])
    facts = facts.filter(pc.is_in(facts["id"], value_set=given["id"].combine_chunks()))
    rows = pc.index_in(facts["id"], value_set=given["id"].combine_chunks()).combine_chunks().to_numpy()
    vectors = given["vector"].combine_chunks().flatten().to_numpy().reshape(len(given), -1)
    return Store(facts.combine_chunks(), make_plain_variants(facts)), vectors[rows].astype(np.float32)


def split_ranges(total: int) -> list[range]:
    """
    >>> split_ranges(1_000), len(split_ranges(10**6)), split_ranges(10**6)[1]
    ([range(0, 1000)], 8, range(125000, 125250))
    """
    if total <= PRODUCTS:
        return [range(total)]
    begins = (total * part // PARTS for part in range(PARTS))
    return [range(begin, begin + PRODUCTS // PARTS) for begin in begins]


def draw_title_queries(store: Store) -> list[tuple[str, int]]:
    """Two to five words of a product's title, in any order, and its row."""
    random, found = Random(1), []
    for _ in range(ASKED):
        row = random.randrange(len(store))
        words = list(content_words(store.titles[row].as_py()))
        if words:
            found.append((" ".join(random.sample(words, min(len(words), random.randint(2, 5)))), row))
    return found


def nearest_of(near: Nearest, vectors: np.ndarray, text: str) -> tuple[np.ndarray, float]:
    """The cosine of each place, and the least that is as near as the ten nearest, to a thousandth."""
    cosines = vectors @ near.vector(text)
    count = min(TEN, len(cosines))
    return cosines, float(-np.partition(-cosines, count - 1)[count - 1]) - 0.001


def shares(found: Sequence[list[int]], exact: Sequence[tuple[np.ndarray, float]], words: Search) -> float:
    """Of ten, those that are as near as the ten nearest."""
    right = []
    for rows, (cosines, bar) in zip(found, exact, strict=True):
        near = sum(cosines[words.place_of[row]] >= bar for row in rows)
        right.append(near / min(TEN, len(cosines)))
    return sum(right) / len(right) if right else 0.0
