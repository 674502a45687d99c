"""Each promise about a persona, broken once; and what the personas of a build are like."""

import copy
from collections import Counter
from decimal import Decimal

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.personas import has_children
from tests.catalog.real_shops import write_shop
from tests.rows import list_faults

STAGE = all_stages()["personas"]
UNKNOWN = "taste for a category that the catalog does not have"
POOR = "budget below the cheapest product of a taste"
SHARE = "tastes are not a share of intents"
BRAND = "prefers a brand that its categories do not have"
DAY = "active hours are not four or more hours of a day"
HOUSEHOLD = "household does not go with the age"
TIER = "spend tier does not go with the income"
ALIKE = "near-duplicate of another persona"
LONG = "a description that is too long"
SILENT = "a description without taste or budget"
FIGURE = "a description with a figure that is no fact"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("personas"), seed=5, workers=1)
    found.build("personas", products=2_400, count=300)
    return found


@pytest.fixture(scope="session")
def people(run):
    return run.read("personas").table().to_pylist()


@pytest.fixture(scope="session")
def catalog(run):
    return run.read("catalog").table().to_pylist()


@pytest.fixture
def persona(people):
    """One with several tastes and preferred makers."""
    return copy.deepcopy(next(one for one in people if len(one["tastes"]) > 2 and one["brands"]))


@pytest.fixture
def why(find_reasons):
    """What the facts are told; the description still tells of those before a change."""
    return lambda *rows: [reasons - {LONG, SILENT, FIGURE} for reasons in find_reasons(*rows)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: {"description": one["description"] + " Very much so." * 80}, LONG),
        (lambda one: {"description": f"Pays at most ${one['budget']} for one thing."}, SILENT),
        (lambda one: {"description": f"Looks for {one['tastes'][0]['category']}."}, SILENT),
        (lambda one: {"description": one["description"] + " Has 1997 pairs of shoes."}, FIGURE),
        (lambda one: {"budget": one["budget"] + 1}, SILENT),
    ],
    ids=["too long", "no taste", "no budget", "a figure of its own", "another budget"],
)
def test_a_description_that_does_not_tell_the_facts_fails(find_reasons, persona, change, reason):
    assert find_reasons(persona) == [set()]
    assert find_reasons(persona | change(persona)) == [{reason}]


def test_the_personas_of_a_build_break_no_promise(run, find_reasons, people):
    assert find_reasons(*people) == [set()] * 300
    assert run.read("personas").manifest.rejected == 0


def test_a_budget_that_buys_nothing_of_a_taste_fails(why, persona, catalog):
    wanted = persona["tastes"][-1]["category"]
    cheapest = min(product["price"] for product in catalog if product["category"] == wanted)
    dearest = max(
        min(product["price"] for product in catalog if product["category"] == taste["category"])
        for taste in persona["tastes"]
    )
    assert cheapest <= dearest
    assert why(persona | {"budget": dearest}) == [set()]
    assert why(persona | {"budget": dearest - Decimal("0.01")}) == [{POOR}]


def test_a_taste_for_what_the_shop_does_not_sell_fails(why, persona):
    persona["tastes"][0] |= {"category": "Unicorns"}
    persona["brands"] = []
    assert why(persona) == [{UNKNOWN}]


@pytest.mark.parametrize(
    "change",
    [lambda tastes: [], lambda tastes: tastes[:1] * 2, lambda tastes: [one | {"weight": 0.9} for one in tastes]],
    ids=["none", "one twice", "more than all"],
)
def test_tastes_that_are_no_share_of_intents_fail(why, persona, change):
    persona |= {"tastes": change(persona["tastes"]), "brands": []}
    assert why(persona) == [{SHARE}]


def test_a_taste_of_less_than_nothing_fails(why, persona):
    persona["tastes"][0]["weight"] -= 1
    persona["tastes"][1]["weight"] += 1
    assert why(persona) == [{SHARE}]


def test_a_maker_of_none_of_its_categories_fails(why, persona):
    assert why(persona | {"brands": [*persona["brands"], "Nobody & Sons"]}) == [{BRAND}]
    assert why(persona | {"brands": []}) == [set()]


def test_a_maker_of_categories_that_are_not_its_own_fails(why, persona, catalog):
    own = {taste["category"] for taste in persona["tastes"]}
    made = {product["brand"] for product in catalog if product["category"] in own}
    other = next(product["brand"] for product in catalog if product["brand"] not in made)
    assert why(persona | {"brands": [other]}) == [{BRAND}]


@pytest.mark.parametrize("hours", [[], [9, 10, 11], [9, 10, 11, 24], [-1, 9, 10, 11], [9, 9, 10, 11], [12, 11, 10, 9]])
def test_hours_that_are_no_day_fail(why, persona, hours):
    assert why(persona | {"active_hours": hours}) == [{DAY}]


def test_a_household_of_another_age_fails(why, persona):
    assert why(persona | {"age_band": "18-24", "household": "a retired couple"}) == [{HOUSEHOLD}]


def test_a_spend_tier_of_another_income_fails(why, persona):
    assert why(persona | {"income": "under 30,000", "spend_tier": "high"}) == [{TIER}]
    assert why(persona | {"income": "a lot"}) == [{TIER}]


# Across all personas


@pytest.fixture
def across(tmp_path):
    return lambda *rows: {(row, reason) for _, row, reason in list_faults(STAGE, tmp_path, rows)}


def test_the_personas_of_a_build_are_distinct(across, people):
    assert across(*people) == set()


def test_a_duplicate_id_fails(across, people):
    assert across(people[0], people[1] | {"id": people[0]["id"]}) == {(1, "duplicate id")}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"region": "Elsewhere"},
        {"budget": Decimal(77)},
        {"device": "abacus"},
        {"active_hours": [1, 2, 3, 4, 5]},
        {"brands": []},
        {"description": "Somebody else altogether."},
        {"weekend_factor": 0.1},
    ],
    ids=lambda change: " ".join(change) or "nothing",
)
def test_one_who_differs_in_a_single_trait_is_a_near_duplicate(across, people, change):
    rows = [*people[:20], people[3] | {"id": "persona-0000999"} | change]
    assert across(*rows) == {(20, ALIKE)}


def test_the_order_of_tastes_does_not_make_another_persona(across, persona):
    other = persona | {"id": "persona-0000999", "tastes": persona["tastes"][::-1]}
    assert across(persona, other) == {(1, ALIKE)}


def test_one_who_differs_in_three_traits_is_another(across, people):
    other = {"id": "persona-0000999", "region": "Elsewhere", "device": "abacus", "budget": Decimal(77)}
    assert across(people[3], people[3] | other) == set()


# What a build gives


def test_a_budget_buys_a_quarter_of_what_each_taste_names(people, catalog):
    prices = {}
    for product in catalog:
        prices.setdefault(product["category"], []).append(product["price"])
    for persona in people:
        for taste in persona["tastes"]:
            found = prices[taste["category"]]
            assert sum(price <= persona["budget"] for price in found) >= len(found) / 4


def test_people_are_of_every_kind(people):
    for trait, least in [("age_band", 6), ("spend_tier", 3), ("device", 3), ("region", 8), ("income", 4)]:
        assert len({persona[trait] for persona in people}) >= least, trait
    assert len({taste["category"] for persona in people for taste in persona["tastes"]}) >= 15
    assert max(Counter(persona["description"] for persona in people).values()) == 1


def test_descriptions_tell_the_facts(people):
    for persona in people:
        said = persona["description"]
        assert persona["age_band"] in said
        assert persona["household"] in said
        assert persona["region"] in said
        assert f"${persona['budget'].quantize(Decimal(1))} " in said
        assert all(taste["category"] in said for taste in persona["tastes"])
        assert all(brand in said for brand in persona["brands"])


def test_the_dearer_tier_pays_more(people):
    mean = {
        tier: sum(p["budget"] for p in people if p["spend_tier"] == tier) / sum(p["spend_tier"] == tier for p in people)
        for tier in ("low", "middle", "high")
    }
    assert mean["low"] < mean["middle"] < mean["high"]


def test_a_persona_is_the_same_whoever_else_is_asked_for(tmp_path, people):
    run = Run(tmp_path, seed=5, workers=1)
    run.build("personas", products=2_400, count=7)
    assert run.read("personas").table().to_pylist() == people[:7]


def test_personas_of_another_seed_are_others(tmp_path, people):
    run = Run(tmp_path, seed=6, workers=1)
    run.build("personas", products=2_400, count=20)
    assert not {one.description for one in run.read("personas")} & {one["description"] for one in people}


def test_a_catalog_in_which_everything_was_rejected_is_a_clear_problem(tmp_path):
    (tmp_path / "shop.csv").write_text("id,title,price\n1,,3.00\n2,,4.00\n")
    with pytest.raises(Problem, match="no products"):
        Run(tmp_path / "run", seed=5, workers=1).build("personas", source=str(tmp_path / "shop.csv"))


@pytest.fixture(scope="module")
def households(tmp_path_factory):
    """Of sixty customers each of a shop of toys and of one of parts, how many live with children."""
    found = {}
    for name in ("one department", "many kinds"):
        folder = tmp_path_factory.mktemp("shop")
        made = Run(folder / "run", seed=3, workers=1)
        made.build("personas", source=str(write_shop(name, folder / "shop.csv")), count=60)
        found[name] = sum(has_children(each.household) for each in made.read("personas"))
    return found


def test_a_shop_of_toys_has_parents(households):
    assert households["one department"] > 1.5 * households["many kinds"] > 0


def test_nobody_without_children_shops_while_they_sleep(run):
    said = [each for each in run.read("personas") if "while the children sleep" in each.description]
    assert said
    assert all(has_children(each.household) for each in said)
