"""A small shop in memory, tasks drawn for it, and a customer with tastes."""

from datetime import date
from decimal import Decimal
from functools import cache
from random import Random

from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.envs.load_world import NUMBER_COLUMNS, SHOWN_COLUMNS
from shopwright.pipeline.evaluate.situation import play_offline
from shopwright.pipeline.gym import build_dataset_in_memory
from shopwright.pipeline.languages import LANGUAGES
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shopping import wording
from shopwright.pipeline.shopping.chinese_wording import ChineseWriter
from shopwright.pipeline.shopping.draw import ProfileDemands, draft_task
from shopwright.pipeline.shopping.facts import VariantTables, compute_price_ceiling
from shopwright.pipeline.shopping.play import Play, ShopResources, make_episode
from shopwright.pipeline.shopping.players import PLAYERS
from shopwright.pipeline.shopping.short_wording import ShortText
from shopwright.pipeline.stages import upstream
from shopwright.schemas.shopping import (
    Demographics,
    Habits,
    Interests,
    Need,
    Profile,
    ShoppingTask,
    Transaction,
    Weighted,
)

PRODUCTS = 600


@cache
def shop(language="en"):
    have, given = {}, {"catalog": {"products": PRODUCTS, "language": language}}
    for name in upstream("variants"):
        have[name] = build_dataset_in_memory(name, have, given.get(name, {}), 0)
    facts = have["catalog"].table([*SHOWN_COLUMNS, *NUMBER_COLUMNS])
    store = Store(facts, have["variants"].table(), (), language=LANGUAGES[language])
    return ShopResources(store, Search(store))


@cache
def counters(language="en"):
    return VariantTables(shop(language).store)


def word_in_english(found, random, personal):
    needs = [
        each.model_copy(update={"said": wording.phrase_need(each, found.category, random)}) for each in found.needs
    ]
    text = wording.phrase_instruction(found.category, needs, random, usual=personal)
    return ShortText(text, wording.phrase_vague_opening(found.category, random), "", needs, [], [])


def word_in_chinese(found, random, personal):
    store = shop("zh").store
    table = counters("zh").of(store.place_of_leaf[found.category])
    return ChineseWriter(table, found.thing.item.title, "train", random).write(found.needs, usual=personal)


WORDINGS = {"en": word_in_english, "zh": word_in_chinese}


def task(row, language="en", *, personal=False):
    """What is wanted of the product at a row, or None; `personal`: its brand is in a profile instead."""
    store = shop(language).store
    carried = ProfileDemands({"brand": store.brands[row].as_py()}) if personal else ProfileDemands({})
    found = draft_task(counters(language), row, Random(row), carried=carried)
    if found is None:
        return None
    worded = WORDINGS[language](found, Random(row), personal)
    if worded is None:
        return None
    needs = worded.needs
    variant = found.thing.option.id if found.thing.option else ""
    return ShoppingTask(
        id=f"{variant or found.thing.item.id}-{language}{'-p1' if personal else ''}",
        product_id=found.thing.item.id,
        variant_id=variant,
        category=found.category,
        language=language,
        instruction=worded.text,
        simple_instruction=worded.opening,
        purpose="",
        options=[],
        attributes=[],
        price_limit=next((compute_price_ceiling(each) for each in needs if each.kind == "price"), None),
        needs=needs,
        grade=found.grade,
        wording="descriptive",
        phrases=[],
        profile_id="p1" if personal else "",
        reason_keys=[each.fact for each in needs if each.known == "profile"],
        right=found.right,
        acceptable=found.acceptable,
        nearest_miss=found.nearest_miss,
        title_overlap=0.0,
        split="test",
    )


@cache
def tasks(count=12, language="en", personal=False):
    """So many, all over the shop."""
    rows = range(0, PRODUCTS, max(1, PRODUCTS // (2 * count)))
    return [found for row in rows if (found := task(row, language, personal=personal))][:count]


def toy(*needs, language="en", personal=False):
    """A task of a vacuum flask's kind, as the shopper knows it, whether or not a shop has it."""
    return ShoppingTask(
        id="toy",
        product_id="flask",
        variant_id="",
        category="Flasks",
        language=language,
        instruction="Please get me a flask.",
        simple_instruction="I am looking for something to drink from.",
        options=[],
        attributes=[],
        price_limit=None,
        needs=list(needs),
        grade=1,
        wording="descriptive",
        phrases=[],
        profile_id="p1" if personal else "",
        reason_keys=[],
        acceptable="{}",
        nearest_miss="{}",
        title_overlap=0.0,
        split="test",
    )


def need(fact, value, said, **more):
    facts = {"op": "at most" if fact == "price" else "is", "kind": "price" if fact == "price" else "attribute"}
    return Need(**{"fact": fact, "value": value, "said": said, "known": "stated", **facts, **more})


def customer(*brands):
    liked = [Weighted(name=brand, level="high") for brand in brands]
    return Profile(
        id="p1",
        transaction=Transaction(
            coupon_use=0.1,
            repurchase_rate=0.2,
            mean_order_value=Decimal("40.00"),
            payment="card",
            promotion_sensitivity="low",
            spend=Decimal("120.00"),
            spend_days=30,
            orders=4,
            orders_days=30,
        ),
        demographics=Demographics(member_level="gold", age_band="30-39", gender="female", spend_tier="middle"),
        interests=Interests(
            brands=liked,
            categories=[],
            price_range="20-60",
            colors=[],
            sizes=[],
            materials=[],
            styles=[],
            functions=[],
        ),
        region="north",
        registered=date(2023, 5, 1),
        habits=Habits(
            days=14,
            device="phone",
            daily_minutes=12.5,
            followed_shops=1,
            carts=2,
            searches=[],
            favourites=1,
            active_hours=[20],
            visits=6,
        ),
    )


def profile_of(one):
    """The customer that a task is for, if any."""
    brands = [each.value for each in one.needs if each.known == "profile" and each.fact == "brand"]
    return customer(*brands) if one.profile_id else None


def begin_task(one, scenario):
    return Play(shop(one.language), one, scenario, profile_of(one))


def play_task(one, scenario, player="solver"):
    return make_episode(play_offline(begin_task(one, scenario), PLAYERS[player], player))
