"""Shoppers with tastes and budgets drawn from the catalog."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from itertools import accumulate, chain
from random import Random
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.checks.unique import find_rows_alike_but_for_one, ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.languages import ENGLISH, ShopLanguage, find_language
from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import render_messages, render_offline
from shopwright.pipeline.stage import Fault, Plan, Section, Shard, Views, stage
from shopwright.pipeline.world.kinds import find_entry, load_households
from shopwright.pipeline.world.market import Category, Market, index_categories
from shopwright.schemas.record import Rejected
from shopwright.schemas.shop import Persona, Product, Taste

PEOPLE = "people.toml"
# How much a shopper looks at prices, from 0 to 1, by spend tier: least and most.
SENSITIVITY = {"low": (0.55, 1.0), "middle": (0.25, 0.8), "high": (0.0, 0.5)}
DEVICES = {
    "18-24": (8, 1, 1),
    "25-34": (7, 2, 1),
    "35-44": (6, 3, 1),
    "45-54": (5, 4, 1),
    "55-64": (4, 4, 2),
    "65+": (3, 4, 3),
}
SIGNATURE = (
    "age_band",
    "household",
    "region",
    "income",
    "budget",
    "list_sort([taste.category for taste in tastes])::varchar",
    "list_sort(brands)::varchar",
    "active_hours::varchar",
    "device",
    "round(exploration, 1)",
    "round(price_sensitivity, 1)",
)

# How often somebody whose taste is mostly for children lives with some, and until which age they are children.
PARENTS, GROWN = 0.8, 18
NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Characters of a description.
LONGEST = 900

Count = Annotated[int, Field(ge=1, le=100_000_000, description="how many shoppers")]


def budget_buys_the_taste(persona: Persona, catalog: Dataset[Product]) -> str | None:
    known = catalog.once(index_categories)
    for taste in persona.tastes:
        if taste.category not in known:
            return "taste for a category that the catalog does not have"
        if known[taste.category].cheapest > persona.budget * 100:
            return "budget below the cheapest product of a taste"
    return None


def taste_is_a_share(persona: Persona) -> str | None:
    total = sum(taste.weight for taste in persona.tastes)
    names = {taste.category for taste in persona.tastes}
    shares = len(names) == len(persona.tastes) and all(taste.weight > 0 for taste in persona.tastes)
    return None if shares and 0.5 <= total <= 1 else "tastes are not a share of intents"


def brands_belong_to_the_taste(persona: Persona, catalog: Dataset[Product]) -> str | None:
    known = catalog.once(index_categories)
    sold: set[str] = set()
    for taste in persona.tastes:
        if taste.category in known:
            sold.update(known[taste.category].brands)
    return None if set(persona.brands) <= sold else "prefers a brand that its categories do not have"


def hours_are_a_day(persona: Persona) -> str | None:
    hours = persona.active_hours
    ordered = hours == sorted(set(hours)) and all(0 <= hour <= 23 for hour in hours)
    return None if ordered and len(hours) >= 4 else "active hours are not four or more hours of a day"


def person_hangs_together(persona: Persona, catalog: Dataset[Product]) -> str | None:
    known = catalog.once(find_language).load(PEOPLE)
    ages = {age["band"]: age["households"] for age in known["ages"]}
    incomes = {income["band"]: income["tiers"] for income in known["incomes"]}
    if persona.household not in ages[persona.age_band]:
        return "household does not go with the age"
    return None if persona.spend_tier in incomes.get(persona.income, []) else "spend tier does not go with the income"


def description_tells_the_facts(persona: Persona) -> str | None:
    """It names something that the shopper looks for and what it pays, and no figure that is not a fact."""
    said, budget = persona.description, str(persona.budget).removesuffix(".00")
    if len(said) > LONGEST:
        return "a description that is too long"
    figures, words = set(NUMBER.findall(said)), said.lower()
    if budget not in figures or not any(taste.category.lower() in words for taste in persona.tastes):
        return "a description without taste or budget"
    facts = [persona.age_band, persona.household, persona.region, persona.income, budget, *persona.brands]
    facts += [taste.category for taste in persona.tastes] + [str(hour) for hour in persona.active_hours]
    strange = figures.difference(NUMBER.findall("\n".join(facts)))
    return "a description with a figure that is no fact" if strange else None


def personas_are_distinct(personas: Dataset[Persona]) -> Iterable[Fault]:
    """No two alike in all but one of eleven traits."""
    return find_rows_alike_but_for_one(personas, SIGNATURE, "near-duplicate of another persona")


def plan_personas(catalog: Dataset[Product], count: int) -> Plan:
    if not len(catalog):
        raise Problem("The catalog has no products, so nobody can shop. Look at why they were rejected.")
    return Plan(count, rows=count)


VIEWS = Views(
    place=20,
    named_by=("persona_id",),
    columns=("age_band", "household", "region", "budget", "description"),
    report=(Section("people", "", "publish.report_customers:list_people"),),
)


@stage(
    makes=Persona,
    plan=plan_personas,
    checks=[
        budget_buys_the_taste,
        taste_is_a_share,
        brands_belong_to_the_taste,
        hours_are_a_day,
        person_hangs_together,
        description_tells_the_facts,
    ],
    across=[ids_are_unique, personas_are_distinct],
    per_shard=(2_000, 100_000),
    views=VIEWS,
    languages=("en", "zh"),
)
def personas(
    catalog: Dataset[Product], shard: Shard, plan: Plan, writer: Role, *, count: Count = 200
) -> Iterator[Persona | Rejected]:
    """Shoppers whose budget buys what their taste wants, each with hours and habits of its own."""
    market, language = catalog.once(Market), catalog.once(find_language)
    return writer.play(make_persona(number, shard.random(number), market, language) for number in shard.of(plan.units))


class Described(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    description: str


def make_persona(
    number: int, random: Random, market: Market, language: ShopLanguage = ENGLISH
) -> Conversation[Persona | Rejected]:
    """Its facts are drawn, then put into words; words that say something else are sent back."""
    facts, said = draw_persona_facts(random, market, language)
    words = {**facts, **said}
    prompt = Prompt(
        "personas",
        tuple(render_messages("personas", **words)),
        json.dumps({"description": render_offline("personas", **words, language=language.code)}),
        schema_of(Described),
        seed=number,
    )

    def read(reply: Reply) -> Persona:
        description = " ".join(parse_reply_json(reply, Described).description.split())
        found = Persona(id=f"persona-{number:07d}", **facts, description=description)
        if wrong := description_tells_the_facts(found):
            raise InvalidReply(f"{wrong}.")
        return found

    found = yield from ask_until_valid(prompt, read)
    if isinstance(found, Persona):
        return found
    return make_rejected_row(f"persona-{number:07d}", "description", facts, found)


def draw_persona_facts(
    random: Random, market: Market, language: ShopLanguage = ENGLISH
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A shopper's facts, and those that are said in other words."""
    known = language.load(PEOPLE)
    age, income, rhythm = (
        random.choices(known[kind], cum_weights=accumulate_weights(language, kind))[0]
        for kind in ("ages", "incomes", "rhythms")
    )
    tier = random.choice(income["tiers"])
    least, most = known["tiers"][tier]
    # Evenly on a logarithmic scale: half as much is as likely as twice as much.
    budget = round(least * (most / least) ** random.random())
    liked = draw_tastes(random, market, budget * 100)
    # A quarter of the products of each liked category is within it, in whole dollars.
    budget = max(budget, *(-(-category.quarter // 100) for category in liked))
    weights = [random.uniform(1, 4) for _ in liked]
    scale = random.uniform(0.7, 0.9) / sum(weights)  # the rest of what a shopper wants is beyond its tastes
    makers = sorted(set(chain.from_iterable(category.brands[:6] for category in liked)))
    low, high = SENSITIVITY[tier]
    facts = {
        "age_band": age["band"],
        "household": draw_household(random, age["households"], liked),
        "region": random.choice(known["regions"]),
        "income": income["band"],
        "spend_tier": tier,
        "budget": Decimal(budget),
        "price_sensitivity": round(random.uniform(low, high), 2),
        "tastes": [
            Taste(category=category.name, weight=round(weight * scale, 3))
            for category, weight in zip(liked, weights, strict=True)
        ],
        "brands": sorted(random.sample(makers, min(len(makers), random.randint(2, 5)))),
        "active_hours": draw_active_hours(random, rhythm["hours"]),
        "weekend_factor": round(random.uniform(0.6, 2.0), 2),
        "device": random.choices(("phone", "desktop", "tablet"), DEVICES[age["band"]])[0],
        "exploration": round(random.uniform(1.6, 2.4), 2),
    }
    said = rhythm["said"] if has_children(facts["household"]) else rhythm.get("without_children", rhythm["said"])
    return facts, {"tastes": [category.name for category in liked], "rhythm": said}


def draw_household(random: Random, households: list[str], liked: Sequence[Category]) -> str:
    """One of those of an age; where most of what is liked is for children, as a rule one with children."""
    found = random.choice(households)
    young = sum(is_for_children(category.group, category.name) for category in liked)
    parents = [each for each in households if has_children(each)]
    if 2 * young <= len(liked) or has_children(found) or not parents or random.random() >= PARENTS:
        return found
    return random.choice(parents)


@lru_cache(4_096)
def is_for_children(group: str, leaf: str) -> bool:
    """
    >>> is_for_children("Toys", "Dolls"), is_for_children("Office", "Gel Pens")
    (True, False)
    """
    entry = find_entry(leaf, (group, leaf))
    return entry is not None and entry.get("who") in ("baby", "child", "teen")


def has_children(household: str) -> bool:
    """
    >>> has_children("a couple with a baby"), has_children("a retired couple")
    (True, False)
    """
    return any(oldest <= GROWN for _, oldest in load_households().get(household, []))


def draw_tastes(random: Random, market: Market, cents: int) -> list[Category]:
    """Three to six categories that the budget buys, most of them of one kind."""
    affordable = market.affordable(cents)
    near = affordable.of(affordable.draw(random).group)
    wanted = min(random.randint(3, 6), len(affordable.categories))
    found: dict[str, Category] = {}
    for _ in range(50 * wanted):
        pool = near if random.random() < 0.6 else affordable
        category = pool.draw(random)
        found.setdefault(category.name, category)
        if len(found) == wanted:
            break
    return list(found.values())


@cache
def accumulate_weights(language: ShopLanguage, kind: str) -> list[float]:
    return list(accumulate(one["weight"] for one in language.load(PEOPLE)[kind]))


def draw_active_hours(random: Random, usual: list[int]) -> list[int]:
    """The rhythm's hours, less one or two that are not this shopper's."""
    missing = random.randint(0, min(2, len(usual) - 4))
    return sorted(random.sample(usual, len(usual) - missing))
