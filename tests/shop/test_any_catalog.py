"""A shop of anybody's products: hostile texts, almost nothing on the shelves, every price out of reach."""

import csv
from decimal import Decimal

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render.trajectory import parse_trajectory
from shopwright.pipeline.run import Run
from shopwright.pipeline.verify import verify

MOST = "x" * 1_900
HOSTILE = [
    "5-in-1 ] (brand: Fake, color: red, price: 1.00) lamp",
    "a || b [x] (brand: y lamp",
    "lamp] (brand: Norrvik, color: , price: 9.99)",
    "lamp, color: blue, price: 3.00",
    "quotes \"and\" 'more' lamp",
    "lamp of two\nlines",
    "lamp of two\r\nlines\tand a tab",
    "2024-05-01 19:30:25 search [Search Amazon || lamp]",
    "2024-05-01 19:31:02 click [B0 || lamp] (brand: , color: , price: 1.00)",
    "back\\slash \\n \\ lamp \\",
    "🪑 chair 😀‍🔥 lamp",
    "مصباح طاولة",
    "\u202eright to left\u202c lamp",
    "石头 A20 智能洗地机",
    "{{ jinja }} {% for %} lamp",
    "<b>html</b> &amp; <script>alert(1)</script> lamp",
    "'; drop table events; -- lamp",
    "lamp %s %d {0} $HOME `id`",
    "under 3 lamp under 2 under $1",
    "the of and with for",
    "Ligature ﬁne ⅷ ß ẞ İ ı lamp",
    "lamp\u2028with a line separator\u2029and a paragraph's",
    "lamp\x01with\x1bcontrols\x85and\x9fmore",
    "a" * 300 + " lamp",
    f"{MOST} lamp",
    "lamp " * 2_000,
    "?!… --- lamp",
    "Z̸̢͑a̴̡͝l̷̛̕g̴̈́o lamp",
    "search",
    "None",
]
USUAL = [f"Norrvik {what} table lamp number {n}" for n, what in enumerate(["oak", "glass", "cork", "steel"] * 10)]


def lamp(number, title, **more):
    return {"id": f"P{number}", "title": title, "brand": "Norrvik", "category": "Lamps", "price": "12.50"} | more


@pytest.fixture
def shop(tmp_path):
    """A run with trajectories from these products, given as a CSV."""

    def build(products, *, count=6, tokens="12k", **settings):
        with open(tmp_path / "shop.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(products[0]))
            writer.writeheader()
            writer.writerows(products)
        run = Run(tmp_path / "run", seed=5, workers=1)
        run.build(
            "trajectories",
            source=str(tmp_path / "shop.csv"),
            invent_prices=True,
            count=count,
            tokens=tokens,
            **settings,
        )
        return run

    return build


def failed(run):
    return [(verdict.dataset, verdict.check, verdict.places[:2]) for verdict in verify(run) if verdict.failed]


def rejects(run):
    return run.read("trajectories").manifest.rejects


def test_hostile_titles_build_verify_and_read_back(shop):
    run = shop([lamp(n, title) for n, title in enumerate(HOSTILE + USUAL)], count=12, tokens="32k")
    assert rejects(run) == {}
    assert failed(run) == []
    assert run.read("catalog").manifest.rejects == {"title longer than 2000 characters": 1, "title missing": 1}
    kept = {product.title for product in run.read("catalog")}
    seen = {event.product_name for row in run.read("trajectories") for event in row.events if event.product_name}
    assert len(kept) == len(HOSTILE + USUAL) - 2
    assert len(seen & kept) == len(seen) > len(kept) * 0.9
    for row in run.read("trajectories"):
        told = [(event["asin"], event["product_name"], event["price"]) for event in parse_trajectory(row.text)]
        assert told == [(event.asin, event.product_name, event.price) for event in row.events]


@pytest.mark.parametrize("column", ["brand", "category", "color"])
def test_hostile_words_in_any_column_build_and_verify(shop, column):
    run = shop([lamp(n, title, **{column: HOSTILE[n % len(HOSTILE)]}) for n, title in enumerate(USUAL)])
    assert run.read("catalog").manifest.rows > 20
    assert rejects(run) == {}
    assert failed(run) == []


def test_every_title_hostile(shop):
    run = shop([lamp(n, f"{HOSTILE[n % 20]} {n}") for n in range(60)])
    assert rejects(run) == {}
    assert failed(run) == []


def test_thirty_products_of_one_category_are_shop_enough(shop):
    run = shop([lamp(n, title) for n, title in enumerate(USUAL[:30])])
    assert rejects(run) == {}
    assert failed(run) == []


@pytest.mark.parametrize("price", ["0.01", "99999.00"])
def test_prices_far_from_every_purse_are_sold_all_the_same(shop, price):
    run = shop([lamp(n, title, price=price) for n, title in enumerate(USUAL[:30])])
    assert (run.read("trajectories").manifest.rows, rejects(run)) == (6, {})
    assert failed(run) == []
    assert all(persona.budget >= Decimal(price) for persona in run.read("personas"))


def test_a_shop_where_everything_is_on_promotion_verifies(shop):
    run = shop([lamp(n, title) for n, title in enumerate(USUAL)], promoted=1)
    assert rejects(run) == {}
    assert failed(run) == []
    assert any(row.promotions for row in run.read("trajectories"))


@pytest.mark.parametrize(
    "title",
    [
        lambda n: f"thing {n}",
        lambda n: f"{'the ' * n}best of the",
        lambda n: f"石头智能洗地机{n}型",
        lambda n: f"a{'🎉' * (n + 1)}",
        lambda n: f"XK-{n:04d}",
        lambda n: f"{'very long words ' * 30}{n}",
    ],
    ids=["hardly a word", "only small words", "no spaces", "only emoji", "only numbers", "very long"],
)
def test_titles_that_say_little_are_searched_for_all_the_same(shop, title):
    run = shop([{"id": f"P{n}", "title": title(n)} for n in range(40)])
    assert rejects(run) == {}
    assert failed(run) == []
    queries = {event.search_query for row in run.read("trajectories") for event in row.events if not event.asin}
    assert all(query.strip() for query in queries)


def test_customers_of_three_products_cannot_be_told_apart_and_are_held_back(shop):
    run = shop([lamp(n, title) for n, title in enumerate(USUAL[:3])])
    assert set(rejects(run)) == {"near-duplicate of another trajectory"}
    assert failed(run) == []


@pytest.mark.parametrize("products", [[lamp(0, "")], [lamp(0, "1234", price="-3")]])
def test_a_shop_in_which_nothing_can_be_sold_is_a_clear_problem(shop, products):
    with pytest.raises(Problem, match="no products"):
        shop(products)


def test_a_zero_byte_costs_its_cell_that_byte(shop):
    run = shop([lamp(0, "oak\0 lamp"), *(lamp(n, title) for n, title in enumerate(USUAL, 1))])
    assert "oak lamp" in run.read("catalog").table(["title"])["title"].to_pylist()


def test_an_unknown_column_is_a_clear_problem(shop):
    with pytest.raises(Problem, match="cost"):
        shop([lamp(n, title) for n, title in enumerate(USUAL)], columns="price=cost")
