"""Search: filters that are exact, the best first, harmless whatever is typed."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog import embed, nearest, search
from shopwright.pipeline.catalog.embed import HashedEmbedder, open_embedder
from shopwright.pipeline.catalog.search import Search, open_search, search_with_vectors, weight
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.words import content_words
from shopwright.schemas.shop import Product, Variant
from tests.folders import checksums

KINDS = ["Desk Lamps", "Rugs", "Mugs", "Bath Rugs"]
THINGS = ["desk lamp", "wool rug", "stone mug", "bath rug"]
COLORS = ["gray", "oak", "blue", None, "sage"]
HOSTILE = [
    *("", " ", "\0\x1b[31m\n", "the of and", "?!…", "x" * 10_000, "rug " * 2_500, "rug \udcff", "under $5"),
    *("石头 🪨", "under $" + "9" * 300, " ".join(f"w{n}" for n in range(2_000)), "rug'; drop table products; --"),
    "ſtraße İ",
]
MAKERS = ["Lumo", "Vessel & Co", "arbor", None]


def product(number, random, **facts):
    kind = random.randrange(len(KINDS))
    color, maker = random.choice(COLORS), random.choice(MAKERS)
    said = [maker, random.choice(["Ridge", "Fable", "Isle"]), color, THINGS[kind], f"{random.randint(8, 40)} in"]
    return {
        "id": f"P{number:05d}",
        "title": " ".join(filter(None, said)),
        "brand": maker,
        "category_path": ["Home", KINDS[kind]],
        "category": KINDS[kind],
        "color": color,
        "price": Decimal(random.randint(300, 9_000)) / 100,
        "price_is_simulated": False,
        "promotions": [],
        "attributes": [{"name": "finish", "value": random.choice(["matte", "glossy"]), "number": None, "unit": None}],
        "options": [],
        "description": None,
        "bullets": [],
        "rating": random.choice([None, 3.1, 4.0, 4.65]),
        "review_count": random.choice([None, 0, 12, 900]),
        "shipping_days": random.choice([None, 2, 5, 9]),
        "queries": [],
        "repairs": [],
        "source": "test",
        "source_licence": "none",
        **facts,
    }


def store_of(products):
    variants = [
        {"id": f"{row['id']}-v", "product_id": row["id"], "choices": [], "stock": 1, "is_title": True}
        | {"price": row["price"]}
        for row in products
    ]
    return Store(
        *(pa.Table.from_pylist(rows, arrow_schema(kind)) for rows, kind in ((products, Product), (variants, Variant)))
    )


def products_of(count, seed=1):
    random = Random(seed)
    return [product(number, random) for number in range(count)]


@pytest.fixture(scope="module")
def store():
    return store_of(products_of(1_500))


@pytest.fixture(scope="module")
def searches():
    """Each search of `found`, once it was made."""
    return {}


@pytest.fixture(params=["words", "blocks", "vectors", "cells"])
def found(store, request, monkeypatch, searches):
    """The same promises with one block or many, without vectors or with them, looked at all or by cells."""
    if request.param == "blocks":
        monkeypatch.setattr(search, "BLOCK", 64)
        monkeypatch.setattr(search, "CHUNK", 400)
    if request.param == "cells":
        monkeypatch.setattr(nearest, "FLAT", 100)
    if request.param not in searches:
        searches[request.param] = (
            search_with_vectors(store, "hashed") if request.param in ("vectors", "cells") else Search(store)
        )
    return searches[request.param]


def fits(item, category="", brand="", least=None, most=None, rating=None, days=None):
    return (
        (not category or item.category.lower() == category.lower())
        and (not brand or (item.brand or "").lower() == brand.lower())
        and (least is None or item.cents >= least)
        and (most is None or item.cents <= most)
        and (rating is None or (item.rating is not None and item.rating >= rating))
        and (days is None or (item.shipping_days is not None and item.shipping_days <= days))
    )


def words_of(item):
    values = " ".join(each.value for each in item.attributes)
    return set(content_words(f"{item.title} {item.brand or ''} {item.color or ''} {item.category} {values}"))


def draw_query(random, store):
    """A query and filters, each there or not."""
    item = store.item(random.randrange(len(store)))
    filters = {
        "category": random.choice(["", item.category, item.category.upper()]),
        "brand": random.choice(["", item.brand or "", "LUMO"]),
        "least": random.choice([None, item.cents // 2]),
        "most": random.choice([None, item.cents, 400]),
        "rating": random.choice([None, 4.0, 4.65]),
        "days": random.choice([None, 2, 5]),
    }
    typed = sorted(words_of(item))
    return " ".join(random.sample(typed, random.randint(0, 3))), filters


def test_filters_hold_for_all_that_is_found_and_a_category_or_brand_is_found_whole(found, store):
    random, whole = Random(2), 0
    for _ in range(150):
        text, filters = draw_query(random, store)
        rows = found.find(text, limit=len(store), **filters).tolist()
        fitting = {row for row in range(len(store)) if fits(store.item(row), **filters)}
        assert set(rows) <= fitting
        assert len(rows) == len(set(rows))
        if filters["category"] or filters["brand"] or not text:
            whole += len(fitting) > 1
            assert set(rows) == fitting
        else:
            wanted = set(content_words(text))
            assert set(rows) >= {row for row in fitting if wanted & words_of(store.item(row))}
    assert whole > 30


def test_by_words_alone_the_scores_are_the_best_that_there_are(store, monkeypatch):
    """Held against a plain sum over all products; blocks that were not looked at have nothing better."""
    monkeypatch.setattr(search, "BLOCK", 64)
    monkeypatch.setattr(search, "CHUNK", 400)
    found, random = Search(store), Random(3)
    have = [words_of(store.item(row)) for row in range(len(store))]
    worth = {word: weight(sum(word in each for each in have), len(store)) for word in set().union(*have)}
    for _ in range(150):
        text, filters = draw_query(random, store)
        text = text or "gray rug"
        wanted = set(content_words(text))
        scores = [sum(worth[word] for word in wanted & each) for each in have]
        fitting = [score for row, score in enumerate(scores) if fits(store.item(row), **filters)]
        narrow = filters["category"] or filters["brand"]
        best = sorted((score for score in fitting if score or narrow), reverse=True)[:25]
        assert [scores[row] for row in found.find(text, limit=25, **filters)] == best


def test_among_equals_the_more_popular_one_comes_first(store):
    rows = Search(store).find("", limit=40, category="Rugs")
    fame = search.popularity(store.ratings, store.reviews)[rows]
    assert (np.diff(fame) <= 0).all()
    assert fame[0] > fame[-1]


def test_no_words_and_no_filters_give_what_is_popular(found, store):
    rows = found.find("", limit=30)
    fame = search.popularity(store.ratings, store.reviews)
    assert sorted(fame[rows].tolist(), reverse=True) == sorted(fame.tolist(), reverse=True)[:30]
    assert found.find("the best of", limit=30).tolist() == rows.tolist()


def test_one_good_review_makes_nothing_popular():
    one, many, none = search.popularity(np.array([5.0, 4.5, np.nan]), np.array([1.0, 900.0, np.nan])).tolist()
    assert many > one > none == search.USUAL


def test_a_price_at_the_end_of_a_query_is_a_limit(found, store):
    rows = found.find("rug under $20", limit=500)
    assert len(rows) > 10
    assert max(store.cents[rows]) <= 2_000
    assert max(store.cents[found.find("rug under 20", limit=500, most=1_000)]) <= 1_000
    assert max(store.cents[found.find("rug", limit=500)]) > 2_000


@pytest.mark.parametrize(
    "filters", [{"category": "Zithers"}, {"brand": "Nobody"}, {"category": "Rugs", "brand": "Nobody"}]
)
def test_a_category_or_brand_that_there_is_not_finds_nothing(found, filters):
    assert found.find("rug", limit=10, **filters).tolist() == []


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_text_is_harmless(found, text):
    for filters in ({}, {"category": "Rugs"}, {"most": 2_000}):
        rows = found.find(text, limit=20, **filters)
        assert len(rows) <= 20
    assert len(found.rank(text, np.arange(5))) == 5


def test_words_that_no_product_has_find_nothing_by_words_alone(store):
    assert Search(store).find("zither", limit=10).tolist() == []
    assert len(Search(store).find("zither", limit=10, category="Rugs")) == 10


def test_a_misspelt_word_is_found_by_vectors(store):
    near, plain = search_with_vectors(store, "hashed"), Search(store)
    assert plain.find("lapm vesel", limit=10).tolist() == []
    assert all("lamp" in store.item(row).title for row in near.find("desk lampp", limit=10))
    assert all(store.item(row).brand == "Vessel & Co" for row in near.find("vessell", limit=10))


@pytest.mark.parametrize("flat", [100, 4_000])
def test_near_ones_keep_to_filters_that_hardly_anything_fits(store, monkeypatch, flat):
    """Nothing has the word, and none of the nearest fits the limit: the nearest of those that fit are found all the same."""
    monkeypatch.setattr(nearest, "FLAT", flat)
    near = search_with_vectors(store, "hashed")
    most = int(np.sort(store.cents)[2])
    rows = near.find("vessell", limit=10, most=most)
    assert set(rows) == set(np.flatnonzero(store.cents <= most))


def test_rank_puts_the_best_first_and_loses_none(found, store):
    rows = found.find("gray desk lamp", limit=40)
    mixed = np.array(Random(4).sample(rows.tolist(), len(rows)) + found.find("mug", limit=9, category="Mugs").tolist())
    ranked = found.rank("gray desk lamp", mixed)
    assert sorted(ranked) == sorted(mixed)
    assert {"gray", "desk", "lamp"} <= words_of(store.item(int(ranked[0])))
    assert all("mug" in store.item(int(row)).title for row in ranked[-9:])
    assert len(found.rank("lamp", np.zeros(0, np.int64))) == 0


def test_the_order_of_words_and_letter_case_do_not_matter(found):
    one, other = (found.find(text, limit=200).tolist() for text in ("Gray WOOL rugs", "rug wool gray"))
    assert one == other


def test_another_process_has_the_same_search(store):
    products = products_of(60)
    for make in (Search, lambda store: search_with_vectors(store, "hashed")):
        one = make(store_of(products))
        one.store.origin = (store_of, (products,))
        other = pickle.loads(pickle.dumps(one))
        assert other.find("gray rugg", limit=20).tolist() == one.find("gray rugg", limit=20).tolist()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_shop_of_hardly_anything_can_be_searched(count):
    products = products_of(count)
    for made in (Search(store_of(products)), search_with_vectors(store_of(products), "hashed")):
        assert made.find(products[0]["title"], limit=5)[0] == 0
        assert len(made.find("", limit=5)) == count


def test_a_catalog_without_brands_ratings_or_days_can_be_searched():
    nothing = dict.fromkeys(("brand", "color", "rating", "review_count", "shipping_days")) | {"attributes": []}
    store = store_of([row | nothing for row in products_of(50)])
    for made in (Search(store), search_with_vectors(store, "hashed")):
        assert len(made.find("rug", limit=50)) > 3
        assert made.find("rug", limit=50, rating=1.0).tolist() == []
        assert made.find("rug", limit=50, brand="Lumo").tolist() == []


# Vectors


def test_hashed_vectors_have_length_1_and_know_how_words_are_written():
    lamp, bent, rug, nothing = HashedEmbedder().vectors(["desk lamp", "desk lmap", "wool rug", "the of"])
    assert np.allclose([np.linalg.norm(each) for each in (lamp, bent, rug)], 1, atol=1e-6)
    assert lamp @ bent > 0.5 > abs(lamp @ rug) + 0.2
    assert not nothing.any()


def test_hashed_vectors_are_the_same_everywhere():
    """By value: a release in which they change makes every index anew."""
    vector = HashedEmbedder().vectors(["oak desk lamp"])[0]
    strongest = np.argsort(-np.abs(vector))[:4].tolist()
    assert [(at, round(float(vector[at]), 3)) for at in strongest] == [
        (240, 0.348),
        (3, 0.234),
        (243, 0.226),
        (9, -0.174),
    ]


@pytest.mark.parametrize("kept", [0, 3, 100_000])
def test_a_hashed_vector_is_the_sum_of_its_different_words_whatever_was_asked_before(kept):
    texts = [
        "this lamp, those lamps: LAMP",
        "",
        "of the",
        "glass glasses gas",
        "石头 🪨 ſtraße rug’s",
        "a—b 12 in",
        "x" * 300 + "s",
    ]
    model = HashedEmbedder(kept)
    for _ in range(2):
        for text, made in zip(texts, model.vectors(texts), strict=True):
            wanted = sum(
                map(embed.word_vector, dict.fromkeys(content_words(text))), np.zeros(embed.DIMENSIONS, np.float32)
            )
            assert made.tolist() == (wanted / (np.sqrt((wanted * wanted).sum()) or 1)).tolist()


def test_more_words_than_there_is_room_for_are_all_known():
    texts = [f"word{n} other{n}" for n in range(1_500)]
    assert (HashedEmbedder().vectors(texts)[1_490:] == HashedEmbedder().vectors(texts[1_490:])).all()


def test_threads_may_share_an_embedder():
    texts, model = [f"word{n % 97} other{n}" for n in range(1_200)], HashedEmbedder(500)
    parts = [texts[begin::4] for begin in range(4)]
    with ThreadPoolExecutor(4) as threads:
        for part, made in zip(parts, threads.map(model.vectors, parts), strict=True):
            assert (made == HashedEmbedder().vectors(part)).all()


def test_cells_find_nearly_all_that_looking_at_everything_finds(monkeypatch):
    vectors = np.float16(HashedEmbedder().vectors([row["title"] for row in products_of(3_000)]))
    whole = nearest.nearest_in(vectors, HashedEmbedder())
    monkeypatch.setattr(nearest, "FLAT", 100)
    cells = nearest.nearest_in(vectors, HashedEmbedder())
    assert type(whole.index) is not type(cells.index)
    for text in ("gray wool rug", "arbor lamp 12 in", "mug"):
        vector = whole.vector(text)
        exact = np.sort(vectors.astype(np.float32) @ vector)[-10:]
        for one in (whole, cells):
            near = one.find(vector, 10)
            assert np.abs(np.sort(one.cosines(vector, near)) - exact).max() < 0.02


@pytest.mark.parametrize("name", ["", "word2vec", "sentence-transformers:", "model2vec:", "hashed:3"])
def test_an_embedder_that_there_is_not_is_a_clear_problem(name):
    with pytest.raises(Problem, match="There is no embedder"):
        open_embedder(name)


@pytest.mark.parametrize("name", ["sentence-transformers:x", "model2vec:x"])
def test_a_package_that_is_not_installed_is_a_clear_problem(name, monkeypatch):
    for package in ("sentence_transformers", "model2vec"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(Problem, match="pip install"):
        open_embedder(name)


class Backwards:
    """A model that is loaded by name and whose vectors have any length."""

    def __init__(self, name):
        if name == "gone":
            raise OSError("no such repository\nand a long story")

    def encode(self, texts, **_):
        return [[len(text), 1.0, 0.0] for text in texts]


def test_a_model_of_another_kind_is_used_the_same_way(monkeypatch):
    import sys
    from types import SimpleNamespace

    made = SimpleNamespace(from_pretrained=Backwards)
    monkeypatch.setitem(sys.modules, "model2vec", SimpleNamespace(StaticModel=made))
    vectors = embed.Static("there").vectors(["a", "bb"])
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    with pytest.raises(Problem, match=r"gone cannot be loaded: no such repository\. Give"):
        embed.Static("gone")


# A store


def in_pieces(table, size):
    return pa.concat_tables([table.slice(begin, size) for begin in range(0, len(table), size)])


@pytest.mark.parametrize("size", [1, 7, 40])
def test_a_shop_that_is_read_in_pieces_is_the_same(size):
    random = Random(6)
    choices = [{"name": "size", "value": value} for value in "SML"]
    products = [
        row | {"attributes": row["attributes"] * random.randint(0, 2), "category_path": [f"All {row['category']}"]}
        for row in sorted(products_of(40), key=lambda row: row["category"])
    ]
    variants = [
        {
            "id": f"{row['id']}-{number}",
            "product_id": row["id"],
            "choices": choices[number : number + random.randint(0, 1)],
        }
        | {"price": row["price"] + number, "stock": number, "is_title": number == 0}
        for row in products
        for number in range(3)
    ]
    tables = [
        pa.Table.from_pylist(rows, arrow_schema(kind)) for rows, kind in ((products, Product), (variants, Variant))
    ]
    whole, pieces = Store(*tables), Store(*(in_pieces(table, size) for table in tables))
    for row in range(40):
        assert pieces.item(row) == whole.item(row)
        assert pieces.options(row) == whole.options(row)
    assert (pieces.leaves, pieces.row("P00007")) == (whole.leaves, whole.row("P00007"))
    assert pieces.groups == whole.groups == [f"All {leaf}" for leaf in whole.leaves]
    for one, other in zip(Search(pieces).texts(), Search(whole).texts(), strict=True):
        assert one.equals(other)


def test_a_product_is_found_by_all_that_is_known_of_it():
    rows = [
        row | {"attributes": [{"name": n, "value": v, "number": None, "unit": None} for n, v in said]}
        for row, said in zip(
            products_of(3), [[("legs", "oak"), ("seat", "red wool")], [], [("legs", "steel")]], strict=True
        )
    ]
    found = Search(store_of(rows))
    assert [found.find(text, limit=3).tolist() for text in ("oak wool", "steel")] == [[0], [2]]


# What a run keeps


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("search"), seed=3, workers=1)
    run.build("embeddings", products=1_200)
    return run


def of(run):
    return store_of(run.read("catalog").table().to_pylist())


def test_title_words_find_their_product(run):
    """Figures for larger shops are in benchmarks/search.py."""
    store = of(run)
    found, rows = Search(store), range(0, len(store), 7)
    hits = [row in found.find(store.item(row).title, limit=10) for row in rows]
    assert sum(hits) >= 0.95 * len(hits)


def test_a_run_is_searched_with_its_vectors_and_made_only_once(run):
    store = of(run)
    one = open_search(run.folder, store)
    kept = {path: path.stat().st_mtime_ns for path in (run.folder / "search").rglob("*")}
    other = open_search(run.folder, store)
    assert {path: path.stat().st_mtime_ns for path in (run.folder / "search").rglob("*")} == kept
    assert sorted(checksums(run.folder / "search")) == sorted(
        f"{next((run.folder / 'search').iterdir()).name}/{name}"
        for name in ("codes.npy", "edges.npy", "hashes.npy", "nearest.faiss", "places.npy", "scales.npy")
    )
    fresh = search_with_vectors(store, "hashed")
    for text in ("desk lmap", "coffee maker", "steel bottle under 30"):
        assert one.find(text, limit=50).tolist() == other.find(text, limit=50).tolist()
        assert set(one.find(text, limit=10)) == set(fresh.find(text, limit=10))


@pytest.mark.parametrize("hurt", ["codes.npy", "nearest.faiss", "places.npy", "sums.json"])
def test_an_index_of_which_one_bit_was_flipped_is_told_and_made_again(run, capfd, hurt):
    store = of(run)
    want = open_search(run.folder, store).find("lamp", limit=50).tolist()
    (folder,) = (run.folder / "search").iterdir()
    before = checksums(run.folder / "search")
    content = bytearray((folder / hurt).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / hurt).write_bytes(content)
    assert open_search(run.folder, store).find("lamp", limit=50).tolist() == want
    assert f"{folder}: {hurt} was damaged" in capfd.readouterr().err
    assert checksums(run.folder / "search") == before


def test_without_embeddings_a_run_is_searched_by_words(tmp_path):
    run = Run(tmp_path / "run", seed=3, workers=1)
    run.build("catalog", products=1_200)
    store = of(run)
    assert (
        open_search(run.folder, store).find("lamp", limit=50).tolist() == Search(store).find("lamp", limit=50).tolist()
    )


def test_embeddings_of_another_catalog_are_a_clear_problem(run, tmp_path):
    import shutil

    other = Run(shutil.copytree(run.folder, tmp_path / "other"), workers=1)
    other.build("catalog", products=1_201, rebuild=True)
    with pytest.raises(Problem, match="of another catalog"):
        open_search(other.folder, of(other))


def test_a_folder_without_a_catalog_is_a_clear_problem(tmp_path, store):
    with pytest.raises(Problem, match="has no catalog"):
        open_search(tmp_path, store)


def test_vectors_stand_at_the_places_of_their_products_and_one_that_is_missing_is_zero(run, tmp_path):
    ids = run.read("catalog").table(["id"])["id"].combine_chunks()
    more = pa.concat_arrays([pa.array(["first", "second"]), ids])
    place_of = np.array(Random(5).sample(range(len(more)), len(more)))
    nearest.write_nearest(tmp_path, run.read("embeddings"), more, place_of)
    made = nearest.Nearest.read(tmp_path, HashedEmbedder())
    assert not made.codes[place_of[:2]].any()
    for number, row in enumerate(run.read("embeddings").head(3)):
        assert made.find(np.array(row.vector, np.float32), 1).tolist() == [place_of[2 + number]]


def test_without_a_single_vector_it_says_so(run, tmp_path):
    with pytest.raises(Problem, match="no vectors"):
        nearest.write_nearest(tmp_path, Run(tmp_path).read("embeddings"), pa.array(["a"]), np.zeros(1, np.int64))


def test_a_word_that_no_product_has_is_corrected(store):
    found = Search(store)
    assert found.correct("gary desk lanp under $40") == "gray desk lamp under $40"
    assert found.correct("glosy Lumoo") == "glossy lumo"
    assert (
        found.find(found.correct("gary desk lanp"), limit=10).tolist()
        == found.find("gray desk lamp", limit=10).tolist()
    )


@pytest.mark.parametrize("text", ["desk lamp", "Wool rugs for me", "zebra xylophone", "arm", "rgu", *HOSTILE])
def test_what_is_known_short_or_far_from_all_words_stays(store, text):
    assert Search(store).correct(text) == text


def test_titles_are_corrected_to_nothing_else(store):
    found = Search(store)
    assert all(found.correct(title) == title for title in store.titles.to_pylist())
