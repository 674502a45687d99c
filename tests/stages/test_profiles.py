"""Each promise about a profile, broken once; what a log adds up to; and what an agent is told."""

import copy
import re
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import Dataset, ShardWriter
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping import profile as about
from shopwright.pipeline.shopping.profile import DAY, Act, Fact, Log, describe_profile
from shopwright.pipeline.stage import Shard, reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.profiles import (
    HOURS,
    NO_LOG,
    NOT_DRAWN,
    OTHER_HABITS,
    OTHER_INTERESTS,
    OTHER_PERSON,
    OTHER_TRANSACTION,
    TYPED,
    UNORDERED,
    Facts,
)
from shopwright.schemas.samples import DatedPrice
from shopwright.schemas.shop import Choice, Line, Order, Persona, Product
from shopwright.schemas.shopping import Profile

STAGE = all_stages()["profiles"]
LISTS = ("brands", "categories", "colors", "materials", "styles", "functions")
NOON = 20_000 * DAY + 12 * 3600
"""Of a day in 2024."""


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("profiles"), seed=5, workers=1)
    found.build("profiles", products=2_400, count=60, tokens="4k,24k", promoted=0.4)
    return found


@pytest.fixture(scope="session")
def logs(run):
    """The longest of each customer."""
    return {log["persona_id"]: log for log in run.read("trajectories").table().to_pylist() if log["budget"] == "24k"}


@pytest.fixture(scope="session")
def find_reasons(run):
    have = {name: run.read(name) for name in STAGE.reads}
    return lambda *rows: reasons_against(STAGE, to_batch(Profile, rows), have)


@pytest.fixture
def row(rows):
    """One with something of everything."""
    return copy.deepcopy(next(one for one in rows if is_rich(one)))


def is_rich(row):
    likes = row["interests"]
    return all(len(likes[name]) > 1 for name in (*LISTS, "sizes")) and row["demographics"]["member_level"] != "none"


def test_each_customer_with_a_log_has_one_profile_and_none_is_rejected(run, rows, logs):
    assert [one["id"] for one in rows] == list(logs)
    assert run.read("profiles").manifest.rejected == 0


def test_one_shard_or_five_make_the_same(run):
    have = [run.read(name) for name in STAGE.needs[:5]]
    plan = STAGE.plan({"trajectories": have[3]}, {})
    one, five = (
        [found for index in range(total) for found in STAGE.function(*have, Shard(index, total, 9), plan)]
        for total in (1, 5)
    )
    assert one == five
    assert [found.model_dump() for found in one] == run.read("profiles").table().to_pylist()


def test_money_and_carts_are_those_of_the_longest_log(rows, logs):
    for one in rows:
        events = logs[one["id"]]["events"]
        end = events[-1]["timestamp"]
        paid = [
            event["price"]
            for event in events
            if event["action_type"] == "purchase" and event["timestamp"] > end - timedelta(days=30)
        ]
        carts = [
            event
            for event in events
            if event["action_type"] == "add to Cart" and event["timestamp"] > end - timedelta(days=14)
        ]
        assert one["transaction"]["spend"] == sum(paid)
        assert one["habits"]["carts"] == len(carts)


def test_a_strongly_preferred_brand_is_the_personas_own_and_was_taken_twice(run, rows, logs):
    people = {one.id: one for one in run.read("personas")}
    strong = [
        (one["id"], brand["name"]) for one in rows for brand in one["interests"]["brands"] if brand["level"] == "high"
    ]
    assert len(strong) > len(rows) / 2
    for person, brand in strong:
        taken = [event for event in logs[person]["events"] if event["action_type"] in ("add to Cart", "purchase")]
        assert brand in people[person].brands
        assert sum(event["brand"] == brand for event in taken) >= 2


def test_a_promotion_that_was_used_shows(rows):
    assert max(one["transaction"]["coupon_use"] for one in rows) > 0


def test_sizes_are_those_of_variants_in_the_orders(run, rows):
    variants = {one.id: one for one in run.read("variants")}
    for one in rows:
        ordered = [order for order in run.read("orders") if order.persona_id == one["id"]]
        bought = {
            f"{choice.name}: {choice.value}"
            for order in ordered
            for line in order.lines
            for choice in variants[line.variant_id].choices
        }
        assert {size["value"] for size in one["interests"]["sizes"]} <= bought


def test_searches_are_categories(run, rows):
    sold = {product.category for product in run.read("catalog")}
    assert all(set(one["habits"]["searches"]) <= sold for one in rows)
    assert all(one["habits"]["searches"] for one in rows)


def other(text, *texts):
    return next(each for each in texts if each != text)


def deal(one, **change):
    return {"transaction": one["transaction"] | change}


def who(one, **change):
    return {"demographics": one["demographics"] | change}


def likes(one, **change):
    return {"interests": one["interests"] | change}


def uses(one, **change):
    return {"habits": one["habits"] | change}


def first(one, kind, **change):
    """The first of a kind of liking, changed."""
    return likes(one, **{kind: [one["interests"][kind][0] | change, *one["interests"][kind][1:]]})


CHANGES = {
    "no such persona": (lambda one: {"id": "persona-9999999"}, NO_LOG),
    "region": (lambda one: {"region": "Atlantis"}, OTHER_PERSON),
    "age band": (lambda one: who(one, age_band=other(one["demographics"]["age_band"], "25-34", "65+")), OTHER_PERSON),
    "tier": (lambda one: who(one, spend_tier=other(one["demographics"]["spend_tier"], "low", "high")), OTHER_PERSON),
    "device": (lambda one: uses(one, device=other(one["habits"]["device"], "phone", "tablet")), OTHER_PERSON),
    "member": (lambda one: who(one, member_level="none"), OTHER_PERSON),
    "sensitivity": (
        lambda one: deal(one, promotion_sensitivity=other(one["transaction"]["promotion_sensitivity"], "low", "high")),
        OTHER_PERSON,
    ),
    "gender": (lambda one: who(one, gender=other(one["demographics"]["gender"], "male", "female")), NOT_DRAWN),
    "payment": (lambda one: deal(one, payment=other(one["transaction"]["payment"], "card", "wallet")), NOT_DRAWN),
    "registered": (lambda one: {"registered": one["registered"] + timedelta(days=1)}, NOT_DRAWN),
    "coupons": (lambda one: deal(one, coupon_use=one["transaction"]["coupon_use"] + 0.01), OTHER_TRANSACTION),
    "repurchases": (
        lambda one: deal(one, repurchase_rate=one["transaction"]["repurchase_rate"] - 0.01),
        OTHER_TRANSACTION,
    ),
    "mean order": (
        lambda one: deal(one, mean_order_value=one["transaction"]["mean_order_value"] + Decimal("0.01")),
        OTHER_TRANSACTION,
    ),
    "spent": (lambda one: deal(one, spend=one["transaction"]["spend"] + Decimal("0.01")), OTHER_TRANSACTION),
    "orders": (lambda one: deal(one, orders=one["transaction"]["orders"] - 1), OTHER_TRANSACTION),
    "days of spending": (lambda one: deal(one, spend_days=one["transaction"]["spend_days"] + 1), OTHER_TRANSACTION),
    "days of orders": (lambda one: deal(one, orders_days=90), OTHER_TRANSACTION),
    "days of habits": (lambda one: {"habits": one["habits"] | {"days": one["habits"]["days"] + 1}}, OTHER_HABITS),
    **{
        f"{name} missing": (lambda one, name=name: likes(one, **{name: one["interests"][name][1:]}), OTHER_INTERESTS)
        for name in LISTS
    },
    **{f"{name} unknown": (lambda one, name=name: first(one, name, name="Nowhere"), OTHER_INTERESTS) for name in LISTS},
    **{
        f"{name} level": (
            lambda one, name=name: first(one, name, level=other(one["interests"][name][0]["level"], "high", "medium")),
            OTHER_INTERESTS,
        )
        for name in LISTS
    },
    "price range": (lambda one: likes(one, price_range="1-2"), OTHER_INTERESTS),
    "size": (lambda one: first(one, "sizes", value="size: XXXXS"), OTHER_INTERESTS),
    "sizes turned": (lambda one: likes(one, sizes=one["interests"]["sizes"][::-1]), OTHER_INTERESTS),
    "minutes": (lambda one: uses(one, daily_minutes=one["habits"]["daily_minutes"] + 0.2), OTHER_HABITS),
    "shops": (lambda one: uses(one, followed_shops=one["habits"]["followed_shops"] + 1), OTHER_HABITS),
    "carts": (lambda one: uses(one, carts=one["habits"]["carts"] + 1), OTHER_HABITS),
    "favourites": (lambda one: uses(one, favourites=one["habits"]["favourites"] + 1), OTHER_HABITS),
    "visits": (lambda one: uses(one, visits=one["habits"]["visits"] - 1), OTHER_HABITS),
    "a category not searched in": (
        lambda one: uses(one, searches=[*one["habits"]["searches"][1:], "Nowhere"]),
        OTHER_HABITS,
    ),
    "searches turned": (lambda one: uses(one, searches=one["habits"]["searches"][::-1]), OTHER_HABITS),
    "an hour less": (lambda one: uses(one, active_hours=one["habits"]["active_hours"][1:]), OTHER_HABITS),
    "hour 24": (lambda one: uses(one, active_hours=[*one["habits"]["active_hours"], 24]), HOURS),
    "hour -1": (lambda one: uses(one, active_hours=[-1, *one["habits"]["active_hours"]]), HOURS),
    "hours twice": (lambda one: uses(one, active_hours=one["habits"]["active_hours"] * 2), HOURS),
    "no hours": (lambda one: uses(one, active_hours=[]), HOURS),
    "more minutes than a day has": (lambda one: uses(one, daily_minutes=1441.0), HOURS),
    **{
        f"{name} out of order": (
            lambda one, name=name: likes(
                one, **{name: [{"name": "A", "level": "low"}, {"name": "B", "level": "high"}]}
            ),
            UNORDERED,
        )
        for name in LISTS
    },
    "the same twice": (lambda one: likes(one, colors=one["interests"]["colors"][:1] * 2), UNORDERED),
    "six of a kind": (lambda one: likes(one, colors=[{"name": str(n), "level": "low"} for n in range(6)]), UNORDERED),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_broken_promise_is_seen(broken, name):
    assert CHANGES[name][1] in broken[name]


@pytest.fixture(scope="module")
def broken(find_reasons, rows):
    """What the checks have against each change, asked at once; and nothing against the row itself."""
    one = next(row for row in rows if is_rich(row))
    assert find_reasons(one) == [[]]
    changed = [one | change(one) for change, _ in CHANGES.values()]
    return dict(zip(CHANGES, find_reasons(*changed), strict=True))


def long_search(log):
    return next(
        event["search_query"]
        for event in log["events"]
        if event["search_query"] and len(about.split_profile_words(event["search_query"])) > 3
    )


@pytest.mark.parametrize("place", ["region", "searches", "materials", "sizes"])
def test_what_the_customer_typed_is_seen_wherever_it_stands(find_reasons, row, logs, place):
    typed = f"({long_search(logs[row['id']]).title()}, of course)"
    change = {
        "region": {"region": typed},
        "searches": uses(row, searches=[typed]),
        "materials": first(row, "materials", name=typed),
        "sizes": first(row, "sizes", value=typed),
    }[place]
    assert TYPED in find_reasons(row | change)[0]


def test_what_was_typed_in_a_shorter_log_is_seen_as_well(find_reasons, rows, run):
    short = next(log for log in run.read("trajectories") if log.budget == "4k")
    one = next(row for row in rows if row["id"] == short.persona_id)
    assert TYPED in find_reasons(one | {"region": long_search(short.model_dump())})[0]


def test_no_profile_holds_a_long_search(rows, logs):
    for one in rows:
        said = " / ".join(" ".join(about.split_profile_words(text)) for text in about.find_texts(one))
        typed = {event["search_query"] for event in logs[one["id"]]["events"] if event["search_query"]}
        kinds = {event["product_types"] for event in logs[one["id"]]["events"] if event["product_types"]}
        found = {text for text in about.long_searches(typed) if f" {text} " in f" {said} "}
        assert found <= {" ".join(about.split_profile_words(kind)) for kind in kinds}


# what a log adds up to


def act(action, minutes=0, *, days=0, product="a", category="Pens", brand="Osko", color=None, cents=1000, typed=None):
    """At noon and so many minutes and days."""
    second = NOON + 60 * minutes + DAY * days
    if action == "search":
        return Act(second, action, None, None, None, None, 0, typed or "pens")
    return Act(second, action, product, category, brand, color, cents, None)


def click(*where, **what):
    return act("click", *where, **what)


def cart(*where, **what):
    return act("add to Cart", *where, **what)


def buy(*where, **what):
    return act("purchase", *where, **what)


def search(*where, **what):
    return act("search", *where, **what)


@pytest.fixture
def person():
    return Persona(
        id="persona-0000001", age_band="25-34", household="living alone", region="Piedmont", income="under 30,000",
        spend_tier="low", budget=Decimal(50), price_sensitivity=0.4, tastes=[], brands=["Osko", "Pell"],
        active_hours=[1, 2, 3, 4], weekend_factor=1.0, device="phone", exploration=2.0, description="",
    )  # fmt: skip


def order(days, *variants, total="10"):
    lines = [
        Line(
            line_id=f"{days}-{place}",
            product_id=f"product {one}",
            variant_id=one,
            title="",
            quantity=1,
            price=Decimal(1),
        )
        for place, one in enumerate(variants)
    ]
    placed = datetime(1970, 1, 1) + timedelta(seconds=NOON + DAY * days)
    return Order(
        id=f"order {days}", persona_id="persona-0000001", trajectory_id="log", rows=[], lines=lines, placed=placed,
        shipped=None, delivered=None, cancelled=None, total=Decimal(total),
    )  # fmt: skip


def test_a_purchase_below_the_list_price_counts_on_the_days_of_its_promotion():
    day = date(1970, 1, 1) + timedelta(days=20_001)
    low = DatedPrice(
        asin="a", first_day=day, last_day=day + timedelta(days=1), price=Decimal(10), list_price=Decimal("10.01")
    )
    bought = [buy(days=days) for days in range(4)]
    assert about.coupon_use(bought, [low]) == 0.5
    assert about.coupon_use(bought, [low.model_copy(update={"list_price": Decimal(10)})]) == 0
    assert about.coupon_use(bought, [low.model_copy(update={"asin": "b"})]) == 0
    assert about.coupon_use([], []) == 0


def test_a_repeat_is_of_the_product_or_of_its_brand_in_its_category():
    assert about.repurchase_rate([buy(), buy(product="b", category="Ink")]) == 0
    assert about.repurchase_rate([buy(), buy(product="b", brand="Pell")]) == 0
    assert about.repurchase_rate([buy(), buy(product="b")]) == 0.5
    assert about.repurchase_rate([buy(brand=None), buy(product="b", brand=None)]) == 0
    assert about.repurchase_rate([buy(brand=None), buy(brand=None)]) == 0.5


def test_spending_is_of_30_days_and_orders_of_90(person):
    acts = [buy(days=0), buy(days=65, cents=150), buy(days=66, cents=25), click(days=95)]
    log = Log(acts, orders=[order(5, total="4"), order(6, total="10.01")])
    found = about.build_profile(person, log, member=True)
    assert (found.transaction.spend, found.transaction.spend_days) == (Decimal("0.25"), 30)
    assert (found.transaction.orders, found.transaction.orders_days) == (1, 90)
    assert found.transaction.mean_order_value == Decimal("7.00")
    assert found.demographics.member_level == "silver"


@pytest.mark.parametrize(
    ("days", "shown"), [(1, (1, 1, 1)), (12, (12, 12, 12)), (30, (30, 30, 14)), (31, (30, 31, 14)), (120, (30, 90, 14))]
)
def test_no_figure_is_of_more_days_than_the_log_has(person, days, shown):
    found = about.build_profile(person, Log([click(days=0), click(days=days - 1)]), member=True)
    assert (found.transaction.spend_days, found.transaction.orders_days, found.habits.days) == shown
    assert not {each for each in re.findall(r"last (\d+) days", describe_profile(found)) if int(each) > days}


def test_who_bought_nothing_has_a_profile_too(person):
    found = about.build_profile(person, Log([search(), click(1)]), member=False)
    assert found.transaction.mean_order_value == found.transaction.spend == found.transaction.repurchase_rate == 0
    assert found.interests.price_range == ""
    assert found.interests.sizes == []
    assert describe_profile(found)
    assert describe_profile(found, "zh")


def test_registration_is_before_the_first_day_and_not_for_everyone_the_same():
    day = date(2024, 5, 1)
    ages = [(day - about.draw_registration_day(f"persona-{n}", day)).days / 365.25 for n in range(300)]
    assert 0.19 < min(ages) < 0.5
    assert 5.5 < max(ages) <= 6
    assert about.draw_registration_day("persona-1", day) == about.draw_registration_day("persona-1", day)


def test_payment_and_gender_are_each_drawn_once_in_their_shares():
    people = [f"persona-{n}" for n in range(1_000)]
    payments, genders = (Counter(map(draw, people)) for draw in (about.draw_payment, about.draw_gender))
    assert set(payments) == {"card", "wallet", "instalments", "bank transfer"}
    assert 480 < payments["card"] < 610
    assert 400 < genders["female"] < 500
    assert 60 < genders["not told"] < 140
    assert len({(about.draw_payment(one), about.draw_gender(one)) for one in people}) == 12


def test_a_purchase_says_more_than_a_cart_and_a_cart_more_than_a_click():
    log = Log([click(color="red"), cart(color="blue"), buy(color="green"), search()])
    assert about.weigh_likings(log)["colors"] == {"red": 1, "blue": 3, "green": 5}


def test_likings_are_shares_of_all_the_most_liked_first_and_ties_by_name():
    weights = {"b": 25, "a": 25, "c": 10, "d": 9, "e": 9, "f": 9}
    assert [(one.name, one.level) for one in about.rank_likings(weights, 100)] == [
        ("a", "high"), ("b", "high"), ("c", "medium"), ("d", "low"), ("e", "low"),
    ]  # fmt: skip


def test_only_a_preferred_brand_taken_twice_is_high_and_it_stands_first(person):
    loved = [click(brand="Loved")] * 40
    once, twice = [cart(brand="Pell"), click(brand="Pell")], [cart(), buy()]
    found = about.summarize_interests(person, Log([*loved, *once, *twice])).brands
    assert [(one.name, one.level) for one in found] == [("Osko", "high"), ("Loved", "medium"), ("Pell", "low")]


def test_materials_styles_and_functions_are_what_the_products_liked_are_made_of(person):
    facts = {"a": [Fact("materials", "oak")], "b": [Fact("styles", "slim fit"), Fact("functions", "waterproof")]}
    found = about.summarize_interests(person, Log([click(), buy(product="b"), click(product="c")], facts=facts))
    assert [one.name for one in found.materials] == ["oak"]
    assert [one.name for one in found.styles] == ["slim fit"]
    assert [one.name for one in found.functions] == ["waterproof"]


def test_a_measure_is_no_material_and_a_name_is_read_however_it_is_written(tmp_path):
    product = {"id": "a", "attributes": [
        {"name": "Outer_Material", "value": "oak"}, {"name": "lining", "value": "2 mm", "number": 2.0, "unit": "mm"},
        {"name": "weight", "value": "light"}, {"name": "special feature", "value": "folds"},
    ]}  # fmt: skip
    lots = [{"id": "z", "attributes": []}, product, {"id": "b", "attributes": [{"name": "style", "value": "plain"}]}]
    writer = ShardWriter(tmp_path / "catalog" / "part-00000.parquet", Product)
    for batch in (lots[:2], lots[2:]):
        writer.write(to_batch(Product, batch))
    writer.commit()
    facts = Facts(Dataset(tmp_path, "catalog", Product))
    assert facts.of("a") == [Fact("materials", "oak"), Fact("functions", "folds")]
    assert facts.of("b") == [Fact("styles", "plain")]
    assert facts.of("z") == facts.of("none such") == []


def test_a_value_that_repeats_a_long_search_is_left_out_but_a_categorys_name_is_not(person):
    facts = {
        "a": [Fact("materials", "full-grain calf leather"), Fact("materials", "calf leather"), Fact("styles", "slim")]
    }
    typed = ["Full grain calf leather", "slim", "deep sea green", "loose leaf tea", "fine old pens"]
    acts = [search(typed=text) for text in typed]
    bought = buy(category="Loose Leaf Tea", color="deep sea green", brand="Fine Old Pens")
    log = Log(
        [*acts, bought],
        facts=facts,
        orders=[order(0, "v")],
        choices={"v": [Choice(name="size", value="loose leaf tea")]},
    )
    found = about.summarize_interests(person, log)
    assert [one.name for one in found.materials] == ["calf leather"]
    assert [one.name for one in found.styles] == ["slim"]
    assert [one.name for one in found.categories] == ["Loose Leaf Tea"]
    assert found.colors == found.brands == found.sizes == []


def test_the_price_range_is_of_what_was_put_in_the_cart(person):
    acts = [click(cents=100_000), *(cart(cents=cents) for cents in (100, 1950, 2210, 9900)), buy(cents=100_000)]
    assert about.summarize_interests(person, Log(acts)).price_range == "1-23"


def test_a_size_is_the_latest_of_its_kind_and_six_are_told():
    choices = {f"v{n}": [Choice(name="size", value=str(n)), Choice(name="color", value="red")] for n in range(9)}
    choices["v0"] = [Choice(name="Fits_Up_To", value="9 in"), Choice(name="size", value="0")]
    bought = [buy(product=f"product v{n}", category=f"kind {n}") for n in range(7)]
    bought += [buy(product=f"product v{n}", category="kind 6") for n in (7, 8)]
    orders = [order(0, "v0", "v1"), order(1, "v2", "v3"), order(2, "v4", "v5"), order(3, "v6"), order(4, "v7", "v8")]
    found = about.list_bought_sizes(Log(bought, orders=orders, choices=choices))
    assert [(one.name, one.value) for one in found] == [
        ("kind 6", "size: 8"), ("kind 5", "size: 5"), ("kind 4", "size: 4"),
        ("kind 3", "size: 3"), ("kind 2", "size: 2"), ("kind 1", "size: 1"),
    ]  # fmt: skip
    few = about.list_bought_sizes(Log(bought, orders=orders[:1], choices=choices))
    assert [one.value for one in few] == ["size: 1", "Fits_Up_To: 9 in", "size: 0"]


def test_a_visit_ends_with_half_an_hour_without_an_event(person):
    found = about.summarize_habits(person, Log([click(), click(30), click(61), click(62)]))
    assert found.visits == 2
    assert found.daily_minutes == 31.0


def test_minutes_are_a_days_of_the_last_two_weeks(person):
    later = [click(days=20), click(20, days=20)]
    assert about.summarize_habits(person, Log([click(), click(20), *later])).daily_minutes == round(20 / 14, 1)
    assert about.summarize_habits(person, Log([click(days=19), click(20, days=19), *later])).daily_minutes == 20.0


def test_only_the_last_two_weeks_count_for_habits_but_all_clicks_for_shops(person):
    old = [search(category="Ink"), click(1, category="Ink"), cart(2), *(click(3 + n) for n in range(4))]
    found = about.summarize_habits(person, Log([*old, search(days=30), click(1, days=30), cart(2, days=30)]))
    assert (found.carts, found.visits, found.searches) == (1, 1, ["Pens"])
    assert found.followed_shops == 1
    assert about.summarize_habits(person, Log([*old[:3], *old[4:]])).followed_shops == 0


def test_a_search_counts_by_the_click_right_after_it_the_latest_first():
    acts = [
        search(), click(category="Ink"), search(), search(), click(category="Pens"), click(category="Mugs"),
        search(), cart(category="Tea"), search(), click(category="Ink"), search(),
    ]  # fmt: skip
    assert about.list_searched_categories(acts) == ["Ink", "Pens"]
    many = [each for n in range(12) for each in (search(), click(category=str(n)))]
    assert about.list_searched_categories(many) == [str(n) for n in range(11, 1, -1)]


def test_a_favourite_is_looked_at_on_two_days_and_not_bought():
    both = [click(), click(days=1)]
    assert about.count_favourites(both) == 1
    assert about.count_favourites([click(), click(5)]) == 0
    assert about.count_favourites([*both, buy(days=1)]) == 0
    assert about.count_favourites([*both, buy(days=1, product="b"), search(), search(days=1)]) == 1


def test_active_hours_have_their_fair_share():
    acts = [click(60 * n) for n in range(24)]
    assert about.active_hours(acts) == list(range(24))
    assert about.active_hours([*acts, click()]) == [12]


# what an agent is told


@pytest.fixture
def known():
    """One in which no two figures are alike."""
    likes = {
        name: [{"name": name.upper(), "level": "high"}, {"name": f"other {name}", "level": "low"}] for name in LISTS
    }
    return Profile.model_validate(
        {
            "id": "persona-0000001",
            "transaction": {
                "coupon_use": 0.021, "repurchase_rate": 0.314, "mean_order_value": "26.09", "payment": "wallet",
                "promotion_sensitivity": "medium", "spend": "589.80", "spend_days": 29,
                "orders": 24, "orders_days": 31,
            },
            "demographics": {"member_level": "gold", "age_band": "65+", "gender": "male", "spend_tier": "middle"},
            "interests": likes | {"price_range": "13-20", "sizes": [{"name": "Socks", "value": "size: XL"}]},
            "region": "Piedmont",
            "registered": "2021-04-17",
            "habits": {
                "device": "tablet", "days": 13, "daily_minutes": 36.5, "followed_shops": 15, "carts": 32,
                "searches": ["Socks", "Pens"], "favourites": 19, "active_hours": [8, 22], "visits": 18,
            },
        }
    )  # fmt: skip


def test_an_agent_is_told_every_group_in_english(known):
    assert describe_profile(known) == (
        "Transactions: usually pays by wallet; 2% of purchases below the list price; 31% of purchases are repeats; "
        "mean order $26.09; promotion sensitivity medium; $589.80 spent in the last 29 days; "
        "orders in the last 31 days: 24\n"
        "Customer: gold member; age 65+; gender male; spend tier middle\n"
        "Region: Piedmont\n"
        "Registered: 2021-04-17\n"
        "Interests:\n"
        "- brands: BRANDS (high), other brands (low)\n"
        "- categories: CATEGORIES (high), other categories (low)\n"
        "- price range: $13-20\n"
        "- colors: COLORS (high), other colors (low)\n"
        "- sizes: Socks (size: XL)\n"
        "- materials: MATERIALS (high), other materials (low)\n"
        "- styles: STYLES (high), other styles (low)\n"
        "- functions: FUNCTIONS (high), other functions (low)\n"
        "Habits: mostly on a tablet; 36.5 minutes a day; shops followed: 15; active at 8, 22 h\n"
        "Last 13 days: visits: 18; added to the cart: 32; favourites: 19; searched in Socks, Pens"
    )


def test_an_agent_is_told_every_group_in_chinese(known):
    assert describe_profile(known, "zh") == (
        "交易：常用电子钱包；2%的购买低于标价；31%的购买为复购；平均每单26.09元；促销敏感度中；近29天消费589.80元；近31天24单\n"
        "用户：金卡会员；年龄65+；性别男；消费水平中\n"
        "地区：Piedmont\n"
        "注册日期：2021-04-17\n"
        "偏好：\n"
        "- 品牌：BRANDS（高）、other brands（低）\n"
        "- 品类：CATEGORIES（高）、other categories（低）\n"
        "- 价格区间：13-20元\n"
        "- 颜色：COLORS（高）、other colors（低）\n"
        "- 尺寸：Socks（size: XL）\n"
        "- 材质：MATERIALS（高）、other materials（低）\n"
        "- 风格：STYLES（高）、other styles（低）\n"
        "- 功能：FUNCTIONS（高）、other functions（低）\n"
        "习惯：常用平板；每天浏览36.5分钟；关注15家店铺；活跃时段8、22点\n"
        "近13天：访问18次；加购32件；收藏19件；搜索过的品类：Socks、Pens"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_not_known_is_not_told(row, language):
    empty = row | likes(row, **{name: [] for name in (*LISTS, "sizes")}, price_range="") | uses(row, searches=[])
    said = describe_profile(Profile.model_validate(empty), language)
    assert len(said.splitlines()) == 7
    assert not any(sign in said for sign in ("- ", "searched", "搜索"))


def test_every_choice_of_words_can_be_told(row):
    one = Profile.model_validate(row)
    for language in ("en", "zh"):
        said = set()
        for payment in about.PAYMENTS:
            for gender in about.GENDERS:
                for level in ("none", "silver", "gold", "platinum"):
                    deal = one.transaction.model_copy(update={"payment": payment})
                    who = one.demographics.model_copy(update={"gender": gender, "member_level": level})
                    said.add(
                        describe_profile(one.model_copy(update={"transaction": deal, "demographics": who}), language)
                    )
        assert len(said) == 48
