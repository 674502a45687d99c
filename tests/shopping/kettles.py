"""A shop of a few kettles and a pillow, a task for one of them, and visits to it step by step."""

from datetime import date
from decimal import Decimal

from shopwright.pipeline.shop.store import Item, Option
from shopwright.pipeline.shopping.error_taxonomy import StepEffect, label_errors
from shopwright.pipeline.shopping.facts import ProductVariant
from shopwright.pipeline.shopping.score import score_typed_match
from shopwright.schemas.shop import Attribute, Choice
from shopwright.schemas.shopping import (
    Demographics,
    Habits,
    Interests,
    Need,
    Profile,
    ShoppingTask,
    Step,
    Transaction,
    Weighted,
)

KETTLES = "Electric Kettles"


def item(row, title, *, brand="Pellworth", category=KETTLES, cents=3500, color=None, **facts):
    attributes = tuple(Attribute(name=name, value=value) for name, value in facts.items())
    return Item(row, f"p{row}", title, brand, color, category, "Home", cents, 4.5, 10, 2, "A thing.", attributes)


def things(item, *options):
    """The product's variants, from (color, cents, stock)."""
    made = [
        ProductVariant(
            item, Option(f"{item.id}-{color}", item.id, (Choice(name="color", value=color),), cents, stock, False)
        )
        for color, cents, stock in options
    ]
    return made or [ProductVariant(item, None)]


SHOP = {
    "p0": things(item(0, "Pellworth tea kettle", body="double-wall", capacity="1.7 L"),
                 ("red", 3500, 5), ("blue", 4500, 5)),
    "p1": things(item(1, "Pellworth kettle", body="steel", capacity="1.7 L"), ("red", 3500, 5)),
    "p2": things(item(2, "Norrvik kettle", brand="Norrvik", body="double-wall", capacity="1 L"),
                 ("red", 3500, 5), ("blue", 3500, 5)),
    "p3": things(item(3, "Down pillow", category="Pillows", filling="goose down", body="double-wall", capacity="1.7 L")),
    "p4": things(item(4, "Gold kettle", body="double-wall", capacity="1.7 L"), ("red", 9900, 5)),
    "p5": things(item(5, "Rare kettle", body="double-wall", capacity="1.7 L"), ("red", 3500, 0)),
    "p6": things(item(6, "Norrvik double-wall kettle, 1.7 L", brand="Norrvik", handle="cork grip", weight="2 lb"), ("red", 3900, 1)),
    "p7": things(item(7, "Twin kettle", body="oak", handle="oak"), ("red", 3500, 5)),
    "p8": things(item(8, "Metric kettle", body="steel", capacity="1700 ml"), ("red", 3500, 5)),
    "p9": things(item(9, "Plain kettle", body="double-wall", capacity="1.7 L")),
    "p10": things(item(10, "Steel kettle with a cork handle", body="steel", handle="cork")),
    "p11": things(item(11, "Kettle warmer, goose down", filling="goose down")),
}  # fmt: skip


def look(product):
    return SHOP.get(product, [])


def need(fact, value, kind="attribute", *, op="is", number=None, unit=None, known="stated", said=""):
    return Need(fact=fact, op=op, value=value, number=number, unit=unit, kind=kind, known=known, said=said or value)


BODY = need("body", "double-wall", said="walls that stay cool")
CAPACITY = need("capacity", "1.7 L", number=1.7, unit="L", said="room for seven mugs")
COLOR = need("color", "red", "option")
LIMIT = need("price", "40.00", "price", op="at most", number=40.0, unit="dollars", said="no more than 40 dollars")
BRAND = need("brand", "Pellworth", known="profile")


def task(*needs, **more):
    needs = needs or (BODY, CAPACITY, COLOR, LIMIT)
    facts = {
        "id": "task",
        "product_id": "p0",
        "variant_id": "p0-red",
        "category": KETTLES,
        "language": "en",
        "instruction": "Something to boil water, please.",
        "simple_instruction": "I need something for tea.",
        "options": [Choice(name=each.fact, value=each.value) for each in needs if each.kind == "option"],
        "attributes": [each.value for each in needs if each.kind == "attribute"],
        "price_limit": Decimal("40.00"),
        "needs": list(needs),
        "grade": 1,
        "wording": "descriptive",
        "phrases": [],
        "profile_id": "",
        "reason_keys": [],
        "acceptable": "{}",
        "nearest_miss": "{}",
        "title_overlap": 0.0,
        "split": "test",
    }
    return ShoppingTask(**(facts | more))


def profile(**interests):
    lists = ("brands", "categories", "colors", "materials", "styles", "functions")
    liked = {name: [Weighted(name=each, level="high") for each in interests.get(name, [])] for name in lists}
    return Profile(
        id="persona-1",
        transaction=Transaction(
            coupon_use=0.0, repurchase_rate=0.0, mean_order_value=Decimal(1), payment="card",
            promotion_sensitivity="low", spend=Decimal(1), spend_days=30, orders=1, orders_days=30,
        ),
        demographics=Demographics(member_level="none", age_band="25-34", gender="not told", spend_tier="low"),
        interests=Interests(price_range="20-60", sizes=interests.get("sizes", []), **liked),
        region="North",
        registered=date(2024, 1, 1),
        habits=Habits(
            device="phone", days=14, daily_minutes=1.0, followed_shops=0, carts=0, searches=[], favourites=0, active_hours=[], visits=1
        ),
    )  # fmt: skip


class Visit:
    """What an agent did, one step after another."""

    def __init__(self, scenario="single", task=None, profile=None):
        self.scenario, self.profile, self.task = scenario, profile, task or globals()["task"]()
        self.steps, self.seen, self.bought = [], [], None
        self.product, self.chosen = "", ()

    def add(self, action, observation="", fault="", **seen):
        step = Step(thought="", action=action, observation=observation, clickables=[], can_search=True, fault=fault)
        self.steps.append(step)
        self.seen.append(StepEffect(product=self.product, chosen=self.chosen, **seen))
        return self

    def search(self, query, *shown, fault=""):
        self.product, self.chosen = ("", ()) if not fault else (self.product, self.chosen)
        return self.add(f"search[{query}]", fault=fault, shown=shown)

    def opens(self, product):
        self.product, self.chosen = product, ()
        return self.add(f"click[{product}]")

    def reads(self, tab="description"):
        return self.add(f"click[{tab}]", details=True)

    def picks(self, value, name="color"):
        others = tuple(each for each in self.chosen if each.name != name)
        self.chosen = (*others, Choice(name=name, value=value))
        return self.add(f"click[{value}]")

    def clicks(self, what, fault=""):
        return self.add(f"click[{what}]", fault=fault)

    def asks(self, question, answer="", *, told=(), **seen):
        return self.add(f"ask[{question}]", answer, told=tuple(told), **seen)

    def buys(self, variant=0):
        self.bought = look(self.product)[variant]
        self.product, self.chosen = "", ()
        return self.add("click[buy now]")

    def found(self):
        """The errors by name, and the step that shows each."""
        match = score_typed_match(self.task.needs, self.task.category, self.task.product_id, self.bought)
        made = label_errors(
            self.task, self.scenario, self.steps, match, self.seen, look=look, bought=self.bought, profile=self.profile
        )
        assert len({each.name for each in made}) == len(made)
        return {each.name: each.step for each in made}
