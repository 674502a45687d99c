"""What a customer's longest log and its orders say about it, as a profile; and how an agent reads one.

Figures are counted in the log; what a log does not tell (payment, gender, the day of registration) is drawn once for
each customer, by dice of its own. Orders and purchases count as they were placed, whether or not they were cancelled
later. A color is that of the product's page, a size that of the variant bought.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from random import Random
from typing import Any, Literal, NamedTuple

from shopwright.pipeline.prompts import render_offline
from shopwright.pipeline.shopping.facts import normalize_attribute_name
from shopwright.schemas.samples import DatedPrice
from shopwright.schemas.shop import Choice, Order, Persona
from shopwright.schemas.shopping import Demographics, Habits, Interests, Language, Level, Profile, Transaction, Weighted

Payment = Literal["card", "wallet", "instalments", "bank transfer"]
Gender = Literal["female", "male", "not told"]
Member = Literal["none", "silver", "gold", "platinum"]

EPOCH = date(1970, 1, 1)
# Seconds.
DAY = 86_400
# What an event says about what is liked.
WEIGHTS = {"purchase": 5, "add to Cart": 3, "click": 1}
# Percent of all weights of a kind, from which on a liking is high or medium.
HIGH, MEDIUM = 25, 10
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
# Entries of a profile's lists.
MOST_LIKED, MOST_SIZES, MOST_SEARCHES = 5, 6, 10
# Carts and purchases of a preferred brand that make the liking high; of a brand nothing else does.
SURE = 2
# Clicks on a brand, from which on its shop is followed.
FOLLOWED = 5
# Seconds: ShopSimulator's profile counts over 14, 30 and 90 days.
RECENT, SPENT, ORDERED = 14 * DAY, 30 * DAY, 90 * DAY
# Seconds without an event that end a visit.
PAUSE = 30 * 60
# Things put in the cart: of fewer there is no middle half, and the price range is one figure.
FEW = 4
PAYMENTS: dict[Payment, int] = {"card": 6, "wallet": 3, "instalments": 1, "bank transfer": 1}
GENDERS: dict[Gender, int] = {"female": 9, "male": 9, "not told": 2}
# Between the registration and the log's first day.
YEARS = (0.2, 6.0)
# Cents of the last 30 days, from which on a member has this level.
GOLD, PLATINUM = 100_000, 300_000
# Price sensitivity and share of purchases below the list price, either of which makes a customer keen on promotions;
# and the price sensitivity below which one who never bought below the list price is not.
KEEN, FRUGAL = (0.6, 0.2), 0.3

MATERIALS = """material materials fabric fabric_type fiber fill filling lining shell upper sole wood yarn leather
leather_type alloy stone upholstery composition outer_material sole_material jar_material material_type
material_composition 灯座材质 面料 填充物 内胆材质 锅身材质 餐具材质 箱体材质 窗帘面料 地毯材质 衣架材质 壶身材质 毯面 壳身材质 线材
支架材质 填充 裙料 鞋面 包身面料 箱体 睡衣面料 织料 帽料 积木材质 瓶材质 绒料 桌板材质 杯身材质 垫子材质 瑜伽垫材质 帐布 绳体 杖身 盔体 竿材"""
STYLES = """style pattern print theme motif cut fit finish shape neckline collar sleeve sleeve_type rise design palette
weave stitch finish_type fit_type item_shape closure format texture 风格 花色 图案 纹样 衣长 裙型 版型 领型 袖型 款式 花型 帽型 壳款 主题 造型 妆效 主香调 外形 佩戴方式 壶型"""
FUNCTIONS = """feature features special_feature special_features function functions benefit benefits control protection
waterproofing noise_control sound_mode technology connectivity connectivity_technology connection goal active claim
absorbency setup formula navigation focus 调光方式 杯盖 特色功能 护发功能 附加功能 降噪 快充 健康监测 功效 洗护功效 防晒指数 清洁技术 导航方式
按摩方式 安全保护 蒸汽 控温 便利设计 防滑 计数方式 主打"""
SIZE_NAMES = """size shoe_size bed_size band_size frame_size jar_size home_size waist inseam chest width length height
seat_height diameter age fits_up_to 尺码 裙码 衣码 鞋码 码数 腰围 头围 盔码 尿裤尺码"""
# The names of attributes, as `facts.plain` writes them, whose values are a material, a style or a function.
KINDS = {
    "materials": frozenset(map(normalize_attribute_name, MATERIALS.split())),
    "styles": frozenset(map(normalize_attribute_name, STYLES.split())),
    "functions": frozenset(map(normalize_attribute_name, FUNCTIONS.split())),
}
# Those of options that are a size.
SIZES = frozenset(normalize_attribute_name(name) for name in SIZE_NAMES.split())
KIND_OF: dict[str, str] = {}
for kind, names in KINDS.items():
    KIND_OF |= dict.fromkeys(names, kind)
WORD = re.compile(r"[^\W_]+")
# Words of a search, from which on it is the customer's own and not repeated.
LONG = 3


class Act(NamedTuple):
    """An event of the log, as far as a profile looks at it."""

    second: int
    """Since 1970, on the shop's own clock."""
    action: str
    product: str | None
    category: str | None
    brand: str | None
    color: str | None
    cents: int
    typed: str | None


class Fact(NamedTuple):
    """A product's material, style or function."""

    kind: str
    value: str


@dataclass(frozen=True)
class Log:
    """A customer's longest log, at least one act in order of time, with the promotions that it met."""

    acts: Sequence[Act]
    promotions: Sequence[DatedPrice] = ()
    orders: Sequence[Order] = ()
    """In order of time."""
    facts: Mapping[str, Sequence[Fact]] = field(default_factory=dict)
    """By product."""
    choices: Mapping[str, Sequence[Choice]] = field(default_factory=dict)
    """By variant, of those in the orders."""

    def last(self, seconds: int) -> list[Act]:
        """Those of so many seconds before its end."""
        after = self.acts[-1].second - seconds
        return [act for act in self.acts if act.second > after]

    @cached_property
    def bought(self) -> list[Act]:
        return [act for act in self.acts if act.action == "purchase"]

    @cached_property
    def typed(self) -> frozenset[str]:
        """Its long searches, word by word."""
        return long_searches(act.typed for act in self.acts if act.typed)


def build_profile(person: Persona, log: Log, *, member: bool) -> Profile:
    """All of it, for a persona and its log."""
    spent = sum(act.cents for act in log.last(SPENT) if act.action == "purchase")
    return Profile(
        id=person.id,
        transaction=summarize_transactions(person, log, spent),
        demographics=Demographics(
            member_level=member_level(member, spent),
            age_band=person.age_band,
            gender=draw_gender(person.id),
            spend_tier=person.spend_tier,
        ),
        interests=summarize_interests(person, log),
        region=person.region,
        registered=draw_registration_day(person.id, EPOCH + timedelta(days=log.acts[0].second // DAY)),
        habits=summarize_habits(person, log),
    )


def summarize_transactions(person: Persona, log: Log, spent: int) -> Transaction:
    share = coupon_use(log.bought, log.promotions)
    totals = [order.total for order in log.orders]
    mean = sum(totals, Decimal(0)) / len(totals) if totals else Decimal(0)
    after = log.acts[-1].second - ORDERED
    return Transaction(
        coupon_use=share,
        repurchase_rate=repurchase_rate(log.bought),
        mean_order_value=mean.quantize(Decimal("0.01")),
        payment=draw_payment(person.id),
        promotion_sensitivity=promotion_sensitivity(person.price_sensitivity, share),
        spend=Decimal(spent).scaleb(-2),
        spend_days=days_in(log.acts, SPENT),
        orders=sum(datetime_to_seconds(order.placed) > after for order in log.orders),
        orders_days=days_in(log.acts, ORDERED),
    )


def coupon_use(bought: Sequence[Act], promotions: Iterable[DatedPrice]) -> float:
    """Share of purchases below the list price, by a promotion of that day."""
    lists: dict[tuple[str, int], Decimal] = {}
    for each in promotions:
        first, last = ((day - EPOCH).days for day in (each.first_day, each.last_day))
        lists |= {(each.asin, day): each.list_price * 100 for day in range(first, last + 1)}
    below = sum(act.cents < lists.get((act.product or "", act.second // DAY), 0) for act in bought)
    return round(below / len(bought), 3) if bought else 0.0


def repurchase_rate(bought: Sequence[Act]) -> float:
    """Share of purchases of a product, or of its brand in its category, bought before.

    >>> [pen, again, other] = [Act(n, "purchase", one, "Pens", "Osko", None, 1, None) for n, one in enumerate("aab")]
    >>> repurchase_rate([pen]), repurchase_rate([pen, again]), repurchase_rate([pen, other, again])
    (0.0, 0.5, 0.667)
    """
    seen: set[Any] = set()
    times = 0
    for act in bought:
        same = {act.product, (act.category, act.brand) if act.brand else act.product}
        times += bool(same & seen)
        seen |= same
    return round(times / len(bought), 3) if bought else 0.0


def promotion_sensitivity(price_sensitivity: float, share: float) -> Level:
    """High for who looks at the price or often buys below the list price, low for who does neither.

    >>> [promotion_sensitivity(*each) for each in [(0.7, 0.0), (0.1, 0.2), (0.1, 0.1), (0.4, 0.0), (0.1, 0.0)]]
    ['high', 'high', 'medium', 'medium', 'low']
    """
    if price_sensitivity >= KEEN[0] or share >= KEEN[1]:
        return "high"
    return "low" if price_sensitivity < FRUGAL and not share else "medium"


def member_level(member: bool, spent: int) -> Member:
    """
    >>> member_level(False, 500_000), member_level(True, 5_000), member_level(True, GOLD), member_level(True, PLATINUM)
    ('none', 'silver', 'gold', 'platinum')
    """
    if not member:
        return "none"
    return "platinum" if spent >= PLATINUM else "gold" if spent >= GOLD else "silver"


def draw_payment(person: str) -> Payment:
    """Drawn once, by dice of its own."""
    return Random(f"{person}/payment").choices(list(PAYMENTS), list(PAYMENTS.values()))[0]


def draw_gender(person: str) -> Gender:
    """Drawn once, by dice of its own."""
    return Random(f"{person}/gender").choices(list(GENDERS), list(GENDERS.values()))[0]


def draw_registration_day(person: str, first_day: date) -> date:
    """Drawn once, by dice of its own, so many years before the log's first day."""
    least, most = (int(365.25 * years) for years in YEARS)
    return first_day - timedelta(days=least + int(Random(f"{person}/registered").random() * (most - least + 1)))


def datetime_to_seconds(when: datetime) -> int:
    return int((when - datetime(1970, 1, 1)).total_seconds())


def summarize_interests(person: Persona, log: Log) -> Interests:
    """What the log shows to be liked, less what repeats its own searches; a category's name is the shop's."""
    weights = weigh_likings(log)
    shown = {}
    for kind, found in weights.items():
        shown[kind] = {name: n for name, n in found.items() if not is_search_repeated(name, log.typed)}
    shown["categories"] = weights["categories"]
    ranked = {kind: rank_likings(shown[kind], sum(weights[kind].values())) for kind in shown if kind != "brands"}
    return Interests(
        brands=rank_brands(shown["brands"], sum(weights["brands"].values()), find_sure_brands(person, log)),
        **ranked,
        price_range=price_range([act.cents for act in log.acts if act.action == "add to Cart"]),
        sizes=list_bought_sizes(log),
    )


def weigh_likings(log: Log) -> dict[str, Counter[str]]:
    """How much each brand, category, color, material, style and function was clicked, put in the cart and bought."""
    found: dict[str, Counter[str]] = {name: Counter() for name in ("brands", "categories", "colors", *KINDS)}
    for act in log.acts:
        weight = WEIGHTS.get(act.action)
        if weight is None or act.product is None:
            continue
        for kind, name in (("brands", act.brand), ("categories", act.category), ("colors", act.color)):
            if name:
                found[kind][name] += weight
        for kind, value in log.facts.get(act.product, ()):
            found[kind][value] += weight
    return found


def classify_liking(weight: int, total: int) -> Level:
    """
    >>> classify_liking(25, 100), classify_liking(24, 100), classify_liking(9, 100)
    ('high', 'medium', 'low')
    """
    return "high" if 100 * weight >= HIGH * total else "medium" if 100 * weight >= MEDIUM * total else "low"


def rank_likings(weights: Mapping[str, int], total: int) -> list[Weighted]:
    """The most liked first."""
    order = sorted(weights, key=lambda name: (-weights[name], name))
    return [Weighted(name=name, level=classify_liking(weights[name], total)) for name in order[:MOST_LIKED]]


def rank_brands(weights: Mapping[str, int], total: int, sure: frozenset[str]) -> list[Weighted]:
    """Those it is sure of first, and these alone are high."""
    order = sorted(weights, key=lambda name: (name not in sure, -weights[name], name))[:MOST_LIKED]
    levels = {name: classify_liking(weights[name], total) for name in order}
    capped: dict[str, Level] = {name: "low" if levels[name] == "low" else "medium" for name in order}
    return [Weighted(name=name, level="high" if name in sure else capped[name]) for name in order]


def find_sure_brands(person: Persona, log: Log) -> frozenset[str]:
    """The brands that the customer prefers, and put in the cart or bought more than once."""
    times = Counter(act.brand for act in log.acts if act.action in ("add to Cart", "purchase"))
    return frozenset(brand for brand in person.brands if times[brand] >= SURE)


def price_range(prices: Sequence[int]) -> str:
    """The middle half of these cents, in whole dollars; the middle one of few, nothing of none.

    >>> price_range([100, 1950, 2210, 9900]), price_range([1950, 2210]), price_range([])
    ('1-23', '20', '')
    """
    order = sorted(prices)
    if len(order) < FEW:
        return str(-(-order[(len(order) - 1) // 2] // 100)) if order else ""
    low, high = order[-(-len(order) // 4) - 1], order[-(-3 * len(order) // 4) - 1]
    return f"{low // 100}-{-(-high // 100)}"


def list_bought_sizes(log: Log) -> list[Choice]:
    """In which size it last bought a kind of thing, the latest first."""
    kinds = {act.product: act.category for act in log.bought}
    found: dict[tuple[str, str], str] = {}
    for order in reversed(log.orders):
        for line in reversed(order.lines):
            for choice in log.choices.get(line.variant_id, ()):
                said = f"{choice.name}: {choice.value}"
                if normalize_attribute_name(choice.name) in SIZES and not is_search_repeated(said, log.typed):
                    found.setdefault((kinds.get(line.product_id) or "", choice.name), said)
    return [Choice(name=kind, value=said) for (kind, _), said in found.items()][:MOST_SIZES]


def summarize_habits(person: Persona, log: Log) -> Habits:
    recent = log.last(RECENT)
    gaps = [after.second - before.second for before, after in pairwise(recent)]
    clicks = Counter(act.brand for act in log.acts if act.action == "click" and act.brand)
    days = days_in(log.acts, RECENT)
    return Habits(
        device=person.device,
        days=days,
        daily_minutes=round(sum(gap for gap in gaps if gap <= PAUSE) / 60 / days, 1),
        followed_shops=sum(times >= FOLLOWED for times in clicks.values()),
        carts=sum(act.action == "add to Cart" for act in recent),
        searches=list_searched_categories(recent),
        favourites=count_favourites(recent),
        active_hours=active_hours(log.acts),
        visits=1 + sum(gap > PAUSE for gap in gaps),
    )


def days_in(acts: Sequence[Act], seconds: int) -> int:
    """Of the days of this time before its end, those that the log has: a figure of 30 days is none of 90."""
    return min(seconds // DAY, acts[-1].second // DAY - acts[0].second // DAY + 1)


def list_searched_categories(acts: Sequence[Act]) -> list[str]:
    """The category of the click right after a search, the latest first.

    Not what was typed, which may be just what a task withholds.
    """
    found = [after.category for before, after in pairwise(acts) if (before.action, after.action) == ("search", "click")]
    return [name for name in dict.fromkeys(reversed(found)) if name][:MOST_SEARCHES]


def count_favourites(acts: Sequence[Act]) -> int:
    """Products looked at on more than one day and not bought."""
    days: dict[str, set[int]] = {}
    bought = {act.product for act in acts if act.action == "purchase"}
    for act in acts:
        if act.action == "click" and act.product and act.product not in bought:
            days.setdefault(act.product, set()).add(act.second // DAY)
    return sum(len(each) > 1 for each in days.values())


def active_hours(acts: Sequence[Act]) -> list[int]:
    """The hours with at least their fair share of the events, which at least one has."""
    times = Counter(act.second // 3600 % 24 for act in acts)
    return sorted(hour for hour, count in times.items() if 24 * count >= len(acts))


@lru_cache(50_000)  # the same values for customer after customer
def split_profile_words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.lower()))


def long_searches(typed: Iterable[str]) -> frozenset[str]:
    """Those of three words and more, signs left out.

    >>> long_searches(["Pens", "gel pens", "Pens that don't smear"])
    frozenset({'pens that don t smear'})
    """
    found = (" ".join(split_profile_words(text)) for text in typed)
    return frozenset(text for text in found if text.count(" ") >= LONG - 1)


def is_search_repeated(text: str, typed: frozenset[str]) -> bool:
    """Whether it says one of these searches, word by word.

    >>> is_search_repeated("soft full-grain leather", long_searches(["full grain leather"])), is_search_repeated("leather", long_searches(["soft red leather"]))
    (True, False)
    """
    words = split_profile_words(text)
    if len(words) < LONG:
        return False
    for length in list_search_lengths(typed):
        runs = (words[first : first + length] for first in range(len(words) - length + 1))
        if any(" ".join(run) in typed for run in runs):
            return True
    return False


@lru_cache(1)
def list_search_lengths(typed: frozenset[str]) -> list[int]:
    """How many words searches have: a catalog's texts can have thousands."""
    return sorted({text.count(" ") + 1 for text in typed})


def find_texts(part: Any) -> Iterator[str]:
    """Every text in a value made of dictionaries and lists.

    >>> list(find_texts({"a": ["x", {"b": "y"}], "n": 1}))
    ['x', 'y']
    """
    if isinstance(part, str):
        yield part
    elif isinstance(part, (dict, list)):
        for each in part.values() if isinstance(part, dict) else part:
            yield from find_texts(each)


def describe_profile(profile: Profile, language: Language = "en") -> str:
    """A profile as an agent reads it, a line for each group of facts; what it likes stands as the shop writes it."""
    return render_offline("profiles", profile=profile, language=language)
