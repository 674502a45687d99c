from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.gym import world
from shopwright.pipeline.render.pages import (
    format_price_range,
    list_clickables,
    map_names_to_labels,
    render_page_html,
    render_page_text,
)
from shopwright.pipeline.shop.browser import Browser, Day
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.shop import Product, Variant

PLAIN = {
    "brand": None,
    "category_path": ["Home", "Stools"],
    "category": "Stools",
    "color": None,
    "price": 45,
    "price_is_simulated": False,
    "promotions": [],
    "attributes": [],
    "options": [],
    "description": "It stands.",
    "bullets": [],
    "rating": 4.5,
    "review_count": 12,
    "shipping_days": 3,
    "queries": [],
    "repairs": [],
    "source": "test",
    "source_licence": "none",
}
STOOLS = 170
HOSTILE_TITLE = '<script>x</script> [SEP] click[buy now] "evil"\nthing'
VARIANTS = {
    "plain": [],
    "single": [({"size": "one size", "color": "red"}, 12, 3)],
    "two": [
        ({"color": "red", "size": "S"}, 10, 3),
        ({"color": "red", "size": "M"}, 11, 0),
        ({"color": "blue", "size": "M"}, 12, 1),
    ],
    "gone": [({"color": "red"}, 10, 0), ({"color": "blue"}, 12, 0)],
    "gone-single": [({"color": "red"}, 10, 0)],
    "evil": [({"color": "Buy Now"}, 10, 3), ({"color": "a] click[b"}, 11, 3), ({"color": "[SEP] <b>"}, 12, 3)],
    "again": [({"color": "red"}, 10, 0), ({"color": "red"}, 11, 3)],
    "alike": [({"color": "Red"}, 10, 3), ({"color": "red"}, 11, 3)],
}
"""By product: choices, dollars and pieces of each variant."""


class Words:
    """Finds the products whose title holds all words, in the catalog's order."""

    def __init__(self, store):
        self.titles = [title.lower() for title in store.titles.to_pylist()]

    def find(self, text, *, limit, **filters):
        words = text.lower().split()
        return np.array([row for row, title in enumerate(self.titles) if all(word in title for word in words)][:limit])


def shop_of(products, variants):
    tables = (
        pa.Table.from_batches([to_batch(kind, rows)]) for kind, rows in ((Product, products), (Variant, variants))
    )
    return Store(*tables)


@pytest.fixture(scope="module")
def store():
    products = [PLAIN | {"id": f"stool-{n}", "title": f"Norrvik oak stool, tall - no. {n}"} for n in range(STOOLS)]
    products += [PLAIN | {"id": name, "title": f"special {name} thing"} for name in VARIANTS if name != "evil"]
    products.append(PLAIN | {"id": "evil", "title": HOSTILE_TITLE})
    variants = [
        {"id": f"{name}-{number}", "product_id": name, "price": price, "stock": pieces, "is_title": number == 0}
        | {"choices": [{"name": key, "value": value} for key, value in choices.items()]}
        for name, offers in VARIANTS.items()
        for number, (choices, price, pieces) in enumerate(offers)
    ]
    return shop_of(products, variants)


@pytest.fixture
def visit(store):
    """`visit("search[stool]", ...)` is a browser that has done so, with success; header=True for a shop with one."""

    def visit(*actions, **settings):
        browser = Browser(store, Words(store), **settings)
        assert [browser.act(action) for action in actions] == [""] * len(actions)
        return browser

    return visit


def at(visit, product, *actions, **settings):
    return visit("search[thing]", f"click[{product}]", *actions, **settings)


def shown(browser):
    return render_page_text(browser.page).split(" [SEP] ")


def test_a_walk_to_a_purchase_by_text_and_by_names_gives_the_same_pages(visit):
    walk = ["search_button", "results.next_page", "results.previous_page", "norrvik_oak_stool_tall_no_3.view_product"]
    walk += ["nav.previous", "nav.back_to_search", "search[special two]", "special_two_thing.view_product"]
    walk += ["tabs.features", "nav.previous", "tabs.description", "nav.previous", "tabs.reviews", "nav.previous"]
    walk += ["options.color.blue", "options.size.m", "cart.buy_now"]
    words = ["click[Search]", "click[Next >]", "click[< Prev]", "click[stool-2]", "click[< Prev]"]
    words += ["click[Back to Search]", "search[special two]", "click[two]", "click[Features]", "click[< Prev]"]
    words += ["click[Description]", "click[< Prev]", "click[Reviews]", "click[< Prev]", "click[blue]", "click[M]"]
    named, spoken = visit(), visit(*words, "click[Buy Now]")
    for name in walk:
        assert named.act(name if "[" in name else f"click[{map_names_to_labels(named.page)[name]}]") == ""
    assert [step.page for step in named.history] == [step.page for step in spoken.history]
    assert [render_page_html(step.page) for step in named.history] == [
        render_page_html(step.page) for step in spoken.history
    ]
    assert named.bought == spoken.bought == ("two", "two-2")
    kinds = ["results"] * 3 + ["product", "results", "home", "results", "product", "features", "product"]
    kinds += ["description", "product", "reviews", "product", "product", "product", "bought"]
    assert [step.page.kind for step in named.history] == kinds


def test_everything_clickable_works_wherever_one_gets(store):
    """Walks at random through a shop with a cart; of all that is listed only buying can be refused."""
    seen = set()
    for seed in range(60):
        random, browser = Random(seed), Browser(store, Words(store), header=True)
        for _ in range(30):
            choices = [f"click[{label}]" for label in list_clickables(browser.page)]
            if browser.page.kind in ("home", "bought"):
                choices += ["search[thing]"] * 4
            action = random.choice(choices)
            fault = browser.act(action)
            seen.add((browser.page.kind, bool(fault)))
            assert not fault or action in ("click[buy now]", "click[add to cart]")
    assert {kind for kind, _ in seen} == {
        *("home", "results", "product", "description"),
        *("features", "reviews", "cart", "bought"),
    }


def test_nothing_else_can_be_clicked(visit):
    pages = [visit(), visit("search[stool]"), at(visit, "two"), at(visit, "two", "click[features]")]
    everything = {label for browser in pages for label in list_clickables(browser.page)} | {
        "stool-30",
        "green",
        "",
        "checkout",
    }
    for browser in pages:
        for label in sorted(everything - set(list_clickables(browser.page))):
            before = browser.page
            assert browser.act(f"click[{label}]") == f"There is no button '{label}' on this page."
            assert browser.page is before


@pytest.mark.parametrize("action", ["search[oak stool]", "search[]"])
@pytest.mark.parametrize("before", [["search[stool]"], ["search[stool]", "click[stool-0]"]])
def test_without_a_search_box_there_is_no_search(visit, before, action):
    browser = visit(*before)
    page = browser.page
    assert browser.act(action) == "There is no search box on this page."
    assert browser.page is page


NO_ACTION = [
    "",
    " ",
    "buy now",
    "click",
    "click[",
    "click[buy now",
    "click buy now]",
    "[buy now]",
    "think[x]",
    "]",
    "[[[",
]
NO_ACTION += [
    "searching[x]",
    "click[buy now] please",
    "click(buy now)",
    "click【buy now】",
    "search[mug]\nclick[next >]",
]


@pytest.mark.parametrize("action", NO_ACTION)
def test_what_is_no_action_is_told(visit, action):
    browser = visit()
    page = browser.page
    assert browser.act(action) == "An action is search[words] or click[thing], and nothing else."
    assert browser.page is page
    assert browser.history == [(action, "An action is search[words] or click[thing], and nothing else.", page)]


@pytest.mark.parametrize(
    "action",
    [
        " CLICK[ Back  to SEARCH ] ",
        "click［back to search］",
        "ｃｌｉｃｋ[ｂａｃｋ　ｔｏ　ｓｅａｒｃｈ]",
        "click [back\nto search]\n",
    ],
)
def test_case_space_and_width_do_not_matter(visit, action):
    assert visit("search[stool]", action).page.kind == "home"


HOSTILE = ["\0", "click[\0]", "click[[[buy now]]]", "search[\ud800 \0]", "click[" + "a" * 10_000 + "]", "[" * 10_000]
HOSTILE += ["search[" + "]" * 10_000 + "x ", "search[under $999999999999999999999]", "click[" + "﷽ﷺ" * 5_000 + "]"]


@given(st.sampled_from(HOSTILE) | st.text() | st.text().map("click[{}]".format) | st.text().map("search[{}]".format))
@example("search[" + "stool " * 2_000 + "]")
def test_no_text_breaks_a_visit(found, action):
    for before in ([], ["search[lamp]"]):
        browser = Browser(found.store, found.finder)
        assert [browser.act(each) for each in before] == [""] * len(before)
        fault = browser.act(action)
        assert len(fault) < 200
        assert fault.isprintable()
        assert render_page_html(browser.page).encode()
        assert render_page_text(browser.page).encode()


@pytest.fixture(scope="module")
def found():
    """The sample catalog with its own search."""
    return world(products=600, customers=8)


def test_the_sample_shops_names_are_unique_on_every_page(found):
    """Siblings of a leaf have nearly the same title."""
    store = found.store
    for first in range(0, len(store), 120):
        browser = Browser(store, found.finder, header=True)
        browser.act(f"search[{store.item(first).category}]")
        while "next >" in list_clickables(browser.page):
            assert (
                len(map_names_to_labels(browser.page))
                == len(list_clickables(browser.page))
                == len(set(list_clickables(browser.page)))
            )
            browser.act("click[next >]")
    for row in range(len(store)):
        browser = Browser(store, found.finder, header=True)
        browser.act(f"search[{store.item(row).title}]")
        assert browser.act(f"click[{store.item(row).id}]") == ""
        assert (
            len(map_names_to_labels(browser.page))
            == len(list_clickables(browser.page))
            == len(set(list_clickables(browser.page)))
        )


def test_every_variant_in_stock_can_be_bought_and_no_other(found):
    store = found.store
    for row in range(0, len(store), 7):
        for option in store.options(row):
            browser = Browser(store, found.finder)
            browser.act(f"search[{store.item(row).title}]")
            browser.act(f"click[{store.item(row).id}]")
            for choice in option.choices:
                label = next(
                    label
                    for label in list_clickables(browser.page)
                    if browser.page.clicks[label] == ("choose", choice.name, choice.value)
                )
                assert browser.act(f"click[{label}]") == ""
            assert f"Price: ${option.cents / 100:.2f}" in shown(browser)
            assert ("In stock" in shown(browser)) == (option.stock > 0)
            browser.act("click[buy now]")
            assert browser.bought == ((store.item(row).id, option.id) if option.stock else None)


def test_at_most_150_results_are_shown_20_a_page(visit):
    browser, pages = visit("search[stool]"), []
    while True:
        pages.append([label for label in list_clickables(browser.page) if label.startswith("stool-")])
        assert f"Page {len(pages)} (Total results: 150)" in shown(browser)
        if "next >" not in list_clickables(browser.page):
            break
        browser.act("click[next >]")
    assert [len(page) for page in pages] == [20] * 7 + [10]
    assert [label for page in pages for label in page] == [f"stool-{n}" for n in range(150)]
    assert "150." in shown(browser)
    assert browser.act("click[stool-0]") == "There is no button 'stool-0' on this page."
    assert browser.act("click[stool-149]") == ""
    assert "Norrvik oak stool, tall - no. 149" in shown(browser)


def test_a_search_that_finds_nothing_says_so_and_leads_back(visit):
    browser = visit("search[submarine]")
    assert "Page 1 (Total results: 0)" in shown(browser)
    assert list_clickables(browser.page) == ["back to search"]
    assert browser.act("click[back to search]") == ""
    assert browser.act("search[stool]") == ""


def test_the_search_button_without_words_shows_what_is_popular(visit):
    assert visit("click[search]").page == visit("search[]").page
    assert "Most popular" in shown(visit("click[search]"))


def test_going_back_leads_where_one_came_from(visit):
    browser = visit("search[stool]", "click[next >]", "click[stool-25]", "click[reviews]", "click[< prev]")
    assert browser.page.kind == "product"
    browser.act("click[< prev]")
    assert "Page 2 (Total results: 150)" in shown(browser)
    browser.act("click[< prev]")
    assert "Page 1 (Total results: 150)" in shown(browser)


def test_a_product_without_variants_is_bought_as_it_is(visit):
    browser = at(visit, "plain")
    assert {"Price: $45.00", "In stock"} <= set(shown(browser))
    assert browser.act("click[buy now]") == ""
    assert browser.bought == ("plain", "")


def test_an_option_with_one_value_needs_no_choice(visit):
    assert at(visit, "single", "click[buy now]").bought == ("single", "single-0")
    assert at(visit, "single", "click[one size]", "click[buy now]").bought == ("single", "single-0")


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [
        ([], "Choose color and size first."),
        (["red"], "Choose size first."),
        (["m"], "Choose color first."),
        (["red", "m"], "This is sold out."),
        (["blue", "s"], "What is chosen is not offered in this combination."),
    ],
)
def test_what_cannot_be_bought_is_told(visit, chosen, fault):
    browser = at(visit, "two", *(f"click[{value}]" for value in chosen))
    page = browser.page
    assert browser.act("click[buy now]") == fault
    assert browser.page is page
    assert browser.bought is None


@pytest.mark.parametrize("product", ["gone", "gone-single"])
def test_a_product_that_is_sold_out_is_told_so_at_once(visit, product):
    assert f"{product}" in shown(visit("search[thing]"))
    results = shown(visit("search[thing]"))
    assert "Sold out" in results[results.index(product) : results.index(product) + 5]
    browser = at(visit, product)
    assert "Sold out" in shown(browser)
    assert browser.act("click[buy now]") == "This is sold out."


def test_only_products_without_any_piece_are_sold_out_in_the_results(visit):
    assert shown(visit("search[thing]")).count("Sold out") == 2


def test_price_and_stock_are_those_of_what_is_chosen(visit):
    assert "$10.00 to $12.00" in shown(visit("search[special two]"))
    said = {
        (): {"Price: $10.00 to $12.00", "In stock"},
        ("red",): {"Price: $10.00 to $11.00", "In stock"},
        ("red", "s"): {"Price: $10.00", "In stock", "red (chosen)", "S (chosen)"},
        ("red", "m"): {"Price: $11.00", "Sold out"},
        ("blue", "m"): {"Price: $12.00", "In stock"},
        ("blue", "s"): {"Not offered in this combination"},
    }
    for chosen, words in said.items():
        browser = at(visit, "two", *(f"click[{value}]" for value in chosen))
        assert words <= set(shown(browser))
        assert sum(word in ("In stock", "Sold out", "Not offered in this combination") for word in shown(browser)) == 1
    assert not any(word.startswith("Price") for word in shown(browser))


def test_a_value_replaces_another_of_its_option_and_stays_when_clicked_again(visit):
    browser = at(visit, "two", "click[red]", "click[red]")
    assert "red (chosen)" in shown(browser)
    browser.act("click[blue]")
    assert {"red", "blue (chosen)"} <= set(shown(browser))
    assert browser.view.chosen == {"color": "blue"}


def test_what_is_chosen_stays_on_the_products_pages_and_is_gone_when_it_is_opened_again(visit):
    browser = at(visit, "two", "click[red]", "click[features]", "click[< prev]", "click[s]")
    assert browser.view.chosen == {"color": "red", "size": "S"}
    browser.act("click[< prev]")
    browser.act("click[two]")
    assert not any("(chosen)" in word for word in shown(browser))


def test_values_that_differ_in_case_only_are_two(visit):
    assert [label for label in list_clickables(at(visit, "alike").page) if "red" in label] == ["red", "color: red"]
    assert at(visit, "alike", "click[red]", "click[buy now]").bought == ("alike", "alike-0")
    assert at(visit, "alike", "click[color: red]", "click[buy now]").bought == ("alike", "alike-1")


def test_of_variants_that_nothing_tells_apart_one_in_stock_is_bought(visit):
    assert at(visit, "again", "click[buy now]").bought == ("again", "again-1")


def test_hostile_words_on_a_page_are_clicked_like_others(visit):
    browser = at(visit, "evil")
    assert browser.act("click[buy now]") == "Choose color first."
    bought = [
        at(visit, "evil", f"click[{value}]", "click[buy now]").bought for value in list_clickables(browser.page)[2:5]
    ]
    assert bought == [("evil", "evil-0"), ("evil", "evil-1"), ("evil", "evil-2")]
    assert list_clickables(browser.page)[2:5] == ["color: buy now", "a] click[b", "(sep) <b>"]


def test_a_purchase_is_the_end(visit):
    browser = at(visit, "single", "click[buy now]")
    page = browser.page
    for action in ("search[mug]", "click[back to search]", "", "click[buy now]"):
        assert browser.act(action) == "The purchase is made, and nothing more can be done."
    assert browser.page is page
    assert browser.bought == ("single", "single-0")


def test_a_visit_is_remembered_with_what_failed(visit):
    browser = visit("search[special]")
    browser.act("click[nothing]")
    steps = [(step.action, step.fault, step.page.kind) for step in browser.history]
    assert steps == [
        ("search[special]", "", "results"),
        ("click[nothing]", "There is no button 'nothing' on this page.", "results"),
    ]


def test_visits_at_the_same_time_know_nothing_of_each_other(visit):
    one, other = at(visit, "two", "click[red]", header=True), at(visit, "two", "click[blue]", header=True)
    one.act("click[s]")
    one.act("click[add to cart]")
    other.act("click[m]")
    assert other.view.chosen == {"color": "blue", "size": "M"}
    other.act("click[view cart]")
    assert "The cart is empty" in shown(other)


def test_a_cart_is_filled_emptied_and_bought(visit):
    browser = at(visit, "single", "click[add to cart]", "click[< prev]", "click[add to cart]", header=True)
    assert "2 x $12.00" in shown(browser)
    browser = at(visit, "single", "click[add to cart]", header=True)
    for action in ("search[special]", "click[plain]", "click[add to cart]"):
        assert browser.act(action) == ""
    assert "Total: $57.00" in shown(browser)
    browser.act("click[remove single-0]")
    assert "Total: $45.00" in shown(browser)
    assert browser.act("click[checkout]") == ""
    assert browser.bought == ("plain", "")
    assert [(line.product_id, line.pieces) for line in browser.ordered] == [("plain", 1)]


def test_one_piece_is_bought_from_the_cart_and_the_visit_goes_on(visit):
    browser = at(visit, "single", "click[add to cart]", "click[< prev]", "click[add to cart]", header=True)
    assert browser.act("click[buy single-0]") == ""
    assert [(line.variant_id, line.pieces) for line in browser.ordered] == [("single-0", 1)]
    assert browser.act("click[view cart]") == ""
    assert "1 x $12.00" in shown(browser)
    assert browser.act("search[special]") == ""


def test_a_visit_begins_with_what_is_left_in_the_cart(visit):
    browser = visit(
        "click[view cart]", header=True, cart=[("single", "single-0"), ("single", "single-0"), ("not there", "")]
    )
    assert "2 x $12.00" in shown(browser)
    assert "Total: $24.00" in shown(browser)


def test_a_price_of_the_day_is_that_of_all_variants_everywhere(visit, store):
    row = store.row("two")
    whole = [option.cents for option in store.options(row)]
    day = Day(lambda at: int(store.cents[at]) // (2 if at == row else 1))
    browser = at(visit, "two", header=True, day=day)
    assert [option.cents for option in browser.options(row)] == [(cents + 1) // 2 for cents in whole]
    assert f"Price: {format_price_range(min(whole) // 2, max(whole) // 2)}" in shown(browser)
    assert format_price_range(min(whole) // 2, max(whole) // 2) in shown(visit("search[thing]", header=True, day=day))


def test_what_was_there_on_the_day_can_be_bought(visit, store):
    gone = next(each for each in map(store.option, range(len(store.variant_ids))) if each.stock == 0)
    item, row = gone.product_id, store.row(gone.product_id)
    chosen = [f"click[{choice.value}]".lower() for choice in gone.choices]
    today = {"header": True, "day": Day(lambda at: int(store.cents[at]), frozenset([gone.id]), frozenset([row]))}
    assert at(visit, item, *chosen, "click[add to cart]", **today).lines.keys() == {(item, gone.id)}


def test_results_can_be_refined_and_shown_whole_again(found):
    browser, store = Browser(found.store, found.finder, header=True), found.store
    assert browser.submit("search_input", "") == ""
    whole = list(browser.view.rows)
    ways = [name for name in browser.page.deeds if name.startswith("refinements.")]
    assert ways
    for name in ways:
        assert browser.press(name) == ""
        assert 0 < len(browser.view.rows) < len(whole)
        fits = store.ratings >= 4 if "reviews" in name else store.cents <= 100 * int(name.rpartition("_")[2])
        assert browser.view.rows == [row for row in whole if fits[row]]
        assert browser.press(name) == ""
        assert browser.view.rows == whole


def test_acting_by_name_is_refused_where_there_is_no_such_name(visit):
    browser = visit(header=True)
    assert browser.press("cart.add_to_cart") == (
        "Nothing on this page that can be clicked has the name 'cart.add_to_cart'."
    )
    assert browser.press("search_input") != ""
    assert browser.submit("search_button", "stool") == (
        "Nothing on this page that can be typed into has the name 'search_button'."
    )
    assert browser.submit("search_input", "stool") == ""


def test_a_cart_leads_back_and_holds_no_more_than_there_is(visit):
    chosen = ["click[blue]", "click[m]", "click[add to cart]", "click[< prev]"]
    browser = at(visit, "two", *chosen, header=True)
    assert browser.page.kind == "product"
    assert browser.act("click[add to cart]") == "No more than 1 of it can be bought."
    assert browser.act("click[view cart]") == ""
    assert "1 x $12.00" in shown(browser)
    assert browser.act("click[remove two-2]") == ""
    assert "The cart is empty" in shown(browser)
    assert browser.act("click[< prev]") == ""
    assert browser.page.kind == "product"


def test_a_cart_takes_only_what_can_be_bought(visit):
    browser = at(visit, "two", header=True)
    assert browser.act("click[add to cart]") == "Choose color and size first."
    assert browser.lines == {}
    browser = at(visit, "plain", header=True)
    for _ in range(100):
        assert (browser.act("click[add to cart]"), browser.act("click[< prev]")) == ("", "")
    assert browser.act("click[add to cart]") == "No more than 100 of it can be bought."


def test_bullets_are_shown_where_they_are_given(store, visit):
    browser = at(visit, "plain", "click[features]", bullets=lambda row: [f"Made of {store.item(row).id}"])
    assert "Made of plain" in shown(browser)


def test_the_same_actions_give_the_same_pages(found):
    walk = ["search[black shoes]", "click[next >]"]
    one, other = Browser(found.store, found.finder), Browser(found.store, found.finder)
    for action in walk:
        assert one.act(action) == other.act(action)
        assert render_page_html(one.page) == render_page_html(other.page)
