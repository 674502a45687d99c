"""A customer's months in the shop: visits, in them errands for what is needed, in them what is typed, looked at, carted and bought.

Everything is done in the shop itself: the customer types, the engine ranks, the customer looks down the page and clicks what was
ranked there. How far down one looks and what one opens follows published click models: the chance that a place is examined falls with
the place (position-based, Craswell et al. 2008), what was opened last is where one goes on from (cascade; dynamic Bayesian network,
Chapelle and Zhang 2009), and what is examined is opened the more often the better it fits the need.

With the mix of the paper every block of 100 actions holds 55 searches, 35 clicks, 7 carts and 3 purchases (arXiv 2606.07995,
section 3). Nothing is invented for it: of the next steps that are possible, those are taken more often of which the block still lacks
some, and three facts keep the block possible: carts that are still due are no more than clicks, purchases no more than wanted things
in the cart plus carts, and a block's last search shows something that can be paid.
"""

from dataclasses import dataclass
from datetime import date
from math import exp
from random import Random
from typing import Literal

import numpy as np

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.languages import find_language
from shopwright.pipeline.render.pages import PAGE
from shopwright.pipeline.tokens import estimate
from shopwright.pipeline.words import content_words
from shopwright.pipeline.world.actions import ACTIONS, CART, CLICK, OPEN_CARTS, PURCHASE, QUOTA, SEARCH
from shopwright.pipeline.world.calendar import DAY, LEAST, Numbers, Visit, draw_gap, draw_pause, plan_visits
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.category_terms import CategoryTermIndex
from shopwright.pipeline.world.household import Household, Need
from shopwright.pipeline.world.kinds import Kinds
from shopwright.pipeline.world.pages import SHOWN, ResultPages, Shown
from shopwright.pipeline.world.searches import CAPS, SearchWords, index_queries_by_category, mistype
from shopwright.schemas.shop import Persona, Product, Query

Mix = Literal["paper", "life"]

STAMP = "2024-05-01 19:30:25"
# Tokens of a line before its body, with the line break before it.
AROUND = [estimate(f"\n{STAMP} {action} ") for action in ACTIONS]
SEARCH_TOKENS = estimate("[Search Amazon || ]")
# Cents from which on a price is written with one digit more.
PRICE_DIGITS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
# Seconds of a visit that are kept for what has to be done at its end.
SPARE = 30
# A longer gap begins another session: what was on the screen is gone.
AWAY = 1_700
# How the chance that a place is examined falls (Joachims et al. 2005 found about 1 / place); of all searches, on so many the page is turned.
EXAMINED, TURNED = np.arange(1, SHOWN + 1) ** -0.9, 0.15
# Of those above what was opened last.
LOOKS_BACK = 0.3
# Of what was opened before.
AGAIN = 0.05
# How well a thing of another kind fits, one of a kind that was bought in so many days, and one of another maker than the one asked for.
LATELY = 30
OTHER_KIND, JUST_BOUGHT, OTHER_BRAND = 0.005, 0.0, 0.03
# How much weighs, beside what is needed, to look around.
AIMLESS = 0.25
# Reviews that make a product known, and how much more often a known one is opened.
FEW_REVIEWS, DRAWN = 10.0, 0.5
# How strongly the quota steers.
STEER = 1.3
# Who comes back to an errand types the last search again so often (a third of searches find again: Teevan et al. 2007).
TYPED_AGAIN = 0.45
# How much weighs an errand whose thing lies in the cart, and how often it goes on after a search.
RETHINKS, COMPARES = 0.1, 0.75
# Searches of one errand, on average, and at most.
PATIENCE, MOST_SEARCHES = 8.5, 12


@dataclass(eq=False)
class InCart:
    product: int
    need: Need


class LeadBrands:
    """The maker with which a search begins, by text."""

    def __init__(self, stock: CatalogColumns) -> None:
        self.place = {brand.lower(): place for brand, place in stock.place_of_brand.items()}
        self.longest = max((len(brand.split()) for brand in self.place), default=0)
        self.kept: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Its number; -1: none."""
        found = self.kept.get(text)
        if found is None:
            words = text.lower().split()[: self.longest]
            found = next(
                (
                    self.place[name]
                    for size in range(len(words), 0, -1)
                    if (name := " ".join(words[:size])) in self.place
                ),
                -1,
            )
            self.kept[text] = found
        return found


class Shop:
    """What all lives of a catalog share."""

    def __init__(self, stock: CatalogColumns, kinds: Kinds, pages: ResultPages, words: SearchWords) -> None:
        self.stock, self.kinds, self.pages, self.words = stock, kinds, pages, words
        # How well products are rated, in hundredths, by row.
        self.fame: np.ndarray = pages.search.fame[pages.search.place_of]
        # How strongly products draw clicks: what many have reviewed is opened more often.
        reviews = np.nan_to_num(pages.search.store.reviews)
        self.draw: np.ndarray = ((reviews + FEW_REVIEWS) / FEW_REVIEWS) ** DRAWN
        self.lead_brands = LeadBrands(stock)


def open_shop(catalog: Dataset[Product], queries: Dataset[Query]) -> Shop:
    """The shop as its customers meet it; what they type in a category is of `queries`."""
    stock, kinds = catalog.once(CatalogColumns), catalog.once(Kinds)
    rows = queries.once(index_queries_by_category)
    words = SearchWords(stock, kinds, catalog.once(CategoryTermIndex), rows, find_language(catalog))
    return Shop(stock, kinds, catalog.once(ResultPages), words)


class Life:
    """One customer's events, as columns that grow."""

    def __init__(
        self, person: Persona, shop: Shop, numbers: Numbers, first_day: date, mix: Mix, scale: float = 1.0
    ) -> None:
        """scale: how many tokens an estimated one is."""
        self.person, self.shop, self.stock, self.fame = person, shop, shop.stock, shop.fame
        self.random = Random(int(numbers(person.id, "life").integers(2**62)))
        self.household = Household(person, shop.kinds, shop.stock, self.random, first_day)
        self.limit, self.mix, self.scale = self.household.limit, mix, scale
        self.visits = plan_visits(person, first_day, numbers)
        self.kinds: list[int] = []
        self.products: list[int] = []
        self.texts: list[str] = []
        self.seconds: list[int] = []
        self.cents: list[int] = []
        self.tokens = 0.0
        self.left = list(QUOTA)
        self.cart: list[InCart] = []
        # Of each need the newest thing in the cart that can be paid.
        self.wanted: list[InCart] = []
        # What is on the screen: the results, what the need makes of them, and what was opened last.
        self.shown: Shown | None = None
        self.appeal = np.zeros(0)
        self.looked = -1
        self.opened = -1
        self.errand: Need | None = None
        self.searches = self.without = 0
        self.month = 0

    def go(self, tokens: float) -> None:
        """Whole visits until there are so many tokens."""
        while self.tokens < tokens:
            self.visit(next(self.visits))

    def visit(self, visit: Visit) -> None:
        self.leave, self.now = visit.leave, visit.start
        self.shown, self.opened, self.errand = None, -1, None
        # Behind its time, a visit takes less of it.
        behind = visit.tokens - self.tokens
        self.hurry = 1.0 if behind < 3_000 else 0.5 if behind < 8_000 else 0.35
        first = True
        while self.tokens < visit.tokens or self.is_obliged():
            if (
                self.left[SEARCH] == 1
                and self.mix == "paper"
                and self.leave - self.now < 40 * sum(self.left)
                and not (first or self.is_obliged())
            ):
                break  # a block is not left after its last search
            kind = self.choose()
            gap = 0 if first else self.wait(kind)
            if kind == SEARCH and self.left[SEARCH] == 1 and self.mix == "paper":
                gap = min(gap, (self.leave - self.now) // 2)  # what the block still lacks has to follow in this visit
            if self.now + gap >= self.leave - SPARE:
                if not self.is_obliged():
                    break
                gap = LEAST
            self.now, first = self.now + gap, False
            if gap > AWAY:
                self.shown, self.opened = None, -1
            (self.search, self.click, self.put, self.buy)[kind]()

    def is_obliged(self) -> bool:
        """Whether the block's searches are done and something else is not, or what was opened last is for the cart."""
        s, c, a, p = self.left
        return self.mix == "paper" and ((s == 0 and c + a + p > 0) or a > c)

    def wait(self, kind: int) -> int:
        """Seconds until the next action; in the middle of looking at something nobody goes away for long."""
        random, last = self.random, self.kinds[-1]
        gap = int(draw_gap(random, last, kind) * self.hurry)
        if self.is_obliged():
            return max(LEAST, min(gap, (self.leave - self.now) // (sum(self.left) + 2)))
        pause = draw_pause(random) if self.hurry == 1.0 else 0
        if pause and kind in (CLICK, CART):
            pause = min(pause, AWAY - 1_510)
        return max(LEAST, gap) + pause

    # What is done next

    def choose(self) -> int:
        """One of the possible actions: by what is on the screen, and by what the block still lacks."""
        s, c, a, p = self.left
        life = self.mix == "life"
        ready = len(self.wanted)
        weights = [0.0, 0.0, 0.0, 0.0]
        if life or (s and a <= c):
            weights[SEARCH] = 0.55
        # Where each click that is left is for a cart, and each cart for a purchase, only what can be paid is clicked.
        bound = not life and c <= a <= p - ready
        if (
            self.shown is not None
            and self.shown.rows
            and (life or (c and a <= c))
            and not (bound and not self.holds_payable())
        ):
            weights[CLICK] = 0.35 * self.draws_attention()
        if self.opened >= 0 and (life or a):
            payable = self.stock.cents[self.opened] <= self.limit
            if life or payable or p - ready < a:
                weights[CART] = 0.07 * self.likes(bool(payable))
        if ready and (life or (p and a <= c)):
            weights[PURCHASE] = 0.03 * (5.0 if self.kinds[-1] in (CART, PURCHASE) else 0.8)
        if life:
            weights[PURCHASE] *= 0.5
        else:
            if a > c:  # what was opened last is for the cart
                return CART
            total = s + c + a + p
            for kind in range(4):
                weights[kind] *= (self.left[kind] / total / QUOTA[kind] * 100) ** STEER
        if not any(weights):  # does not happen; the block would be held back, and not the build
            return SEARCH if s else CLICK if self.shown is not None else PURCHASE
        if self.random.random() < 0.06 and weights[SEARCH] and not self.opened >= 0:
            return SEARCH
        return self.draw_action(weights)

    def draw_action(self, weights: list[float]) -> int:
        return draw_place(self.random, weights)

    def draws_attention(self) -> float:
        """How much there is on the page to look at."""
        best = float(self.appeal.max()) if len(self.appeal) else 0.0
        if self.kinds[-1] == SEARCH:
            return (1.9 if best > 0.35 else 0.35) + 0.35 * self.without
        return 1.0 if best > 0.2 else 0.25

    def likes(self, payable: bool) -> float:
        """How much what was opened last is for the cart."""
        need = self.errand
        if need is None or need.carted:
            return 0.4
        return 9.0 * self.fit * (0.3 + need.keen) * (1.0 if payable else 0.15)

    def look_into_cart(self) -> None:
        """After each change of the cart, or of what is needed."""
        found: dict[int, InCart] = {}
        for each in self.cart:
            if each.need.state == "open" and self.stock.cents[each.product] <= self.limit:
                found[id(each.need)] = each
        self.wanted = list(found.values())

    # Errands

    def goes_on(self) -> bool:
        """Whether the errand does."""
        need = self.errand
        if need is None or need.state != "open" or self.searches >= MOST_SEARCHES:
            return False
        if need.carted:  # whoever comes back to something in the cart compares, until one is bought
            return not self.has_new(need) and self.random.random() < COMPARES
        return self.random.random() > 1.0 / PATIENCE

    def has_new(self, need: Need) -> bool:
        """Whether one of the kind was bought lately."""
        return self.household.owned.get(need.leaf, 0) > self.now // DAY - LATELY

    def next_need(self) -> Need:
        """What it is about now: what is due, what is wanted, what comes to mind."""
        before, day = self.errand, self.now // DAY
        if (
            before is not None
            and before.state == "open"
            and not before.carted
            and before.visits >= 2
            and self.random.random() < 0.3
        ):
            before.state = "given up"
        pending, weights = self.household.upto(day), []
        for need in pending:
            if need is before or (need.carted and (need.visits > 3 or self.has_new(need))):
                weights.append(0.0)
                continue
            weight = need.keen * need.urgent / (1.0 + 0.25 * need.visits)
            if need.last_visit == day:
                weight *= 0.15
            weights.append(weight * RETHINKS if need.carted else weight)
        total = sum(weights)
        if self.random.random() * (total + AIMLESS) >= total:
            return self.household.look_around(day)
        return pending[draw_place(self.random, weights)]

    def search(self) -> None:
        goes_on = self.goes_on() and self.shown is not None
        need = self.errand
        if need is None or not goes_on:
            need = self.next_need()
            self.errand, self.searches = need, 0
            need.visits += 1
            need.last_visit = self.now // DAY
        text = self.type(need, again=not goes_on)
        self.shown = self.look_at(text)
        if self.mix == "paper" and self.left[SEARCH] == 1 and self.left[CLICK] and not self.holds_payable():
            text = self.type_what_is_there(need)
        self.note(SEARCH, -1, text)
        self.searches += 1
        self.without = self.without + 1 if self.kinds[-2:-1] == [SEARCH] else 0
        self.looked, self.opened = -1, -1
        self.appeal = self.judge(need, self.shown, self.shop.lead_brands.of(text)) if self.shown.rows else np.zeros(0)

    def look_at(self, text: str) -> Shown:
        """The first page of results, sometimes with the second."""
        places = self.shop.pages.of(text)
        if len(places) > PAGE and self.random.random() >= TURNED:
            places = places[:PAGE]
        return Shown(places.tolist(), places, self.stock.leaf_of[places].tolist())

    def type(self, need: Need, *, again: bool) -> str:
        """The next text of an errand; never the one just typed."""
        random, words = self.random, self.shop.words
        last = self.last_text()
        for attempt in range(4):
            if again and need.last_text and not attempt and random.random() < TYPED_AGAIN:
                text = need.last_text
            else:
                text = mistype(words.refine(need, random), random)
            if text and text != last and (" " in text or content_words(text)):
                need.last_text = text
                return text
        return text if text and text != last else need.words.head

    def last_text(self) -> str:
        return next((text for text in reversed(self.texts[-12:]) if text), "")

    def holds_payable(self) -> bool:
        assert self.shown is not None
        return bool(len(self.shown.places)) and bool((self.stock.cents[self.shown.places] <= self.limit).any())

    def type_what_is_there(self, need: Need) -> str:
        """A search that shows something that can be paid: the name of the thing, with a limit, or presents up to a limit."""
        dollars = self.limit // 100
        cap = max((each for each in CAPS if each <= dollars), default=max(1, dollars))
        joins, name = self.shop.words.joins, need.words.head
        limited = joins["cap"].format(part=cap)
        gifts = (joins["gift_cap"].format(part=most) for most in (cap, dollars))
        for text in (name, f"{name} {limited}", *gifts):
            self.shown = self.look_at(text)
            if text != self.last_text() and self.holds_payable():
                return text
        # A small shop may have nothing for so little under these names.
        text = self.shop.words.paste(int(self.stock.cents.argmin()), self.random)
        self.shown = self.look_at(text)
        return text

    # Looking

    def judge(self, need: Need, shown: Shown, brand: int) -> np.ndarray:
        """How well each place of the pages fits the need, 0 to 1."""
        owned, lately, fits = self.household.owned, self.now // DAY - LATELY, []
        for row, leaf in zip(shown.rows, shown.leaves, strict=True):
            if leaf != need.leaf:
                fits.append(JUST_BOUGHT if owned.get(leaf, 0) > lately else OTHER_KIND)
                continue
            if (fit := need.fits.get(row)) is None:
                fit = need.fits[row] = self.fit_of(need, row)
            fits.append(fit)
        found = np.array(fits)
        asked = brand if brand >= 0 else self.shop.lead_brands.place.get(need.brand, -1)
        if asked >= 0:
            found[self.stock.brand_of[shown.places] != asked] *= OTHER_BRAND
        return found

    def fit_of(self, need: Need, row: int) -> float:
        """Of a thing of the right kind: by price, rating and details."""
        cents = int(self.stock.cents[row])
        found = float(self.fame[row]) / 450.0 * (1.0 if cents <= need.most else 0.3)
        found *= exp(-0.5 * self.person.price_sensitivity * cents / max(1, self.shop.kinds.prices[need.leaf].middle))
        if need.want_words:
            found *= 0.45 + 0.55 * len(need.want_words & self.stock.words(row)) / len(need.want_words)
        return found

    def click(self) -> None:
        shown, need = self.shown, self.errand
        assert shown is not None
        assert need is not None
        place = self.draw_result(self.weigh_results(shown, need))
        row = shown.rows[place]
        self.fit = min(1.0, float(self.appeal[place]) * 1.4)
        need.seen.add(row)
        self.looked, self.opened, self.without = place, row, 0
        self.note(CLICK, row)

    def weigh_results(self, shown: Shown, need: Need) -> np.ndarray:
        """How likely each place of the pages is opened, but for a factor."""
        weights = (self.appeal + 0.001) * EXAMINED[: len(shown.rows)] * self.shop.draw[shown.places]
        if self.looked >= 0:
            weights[: self.looked + 1] *= LOOKS_BACK
        _, c, a, p = self.left
        if self.mix == "paper" and c <= a <= p - len(self.wanted):
            weights = weights * (self.stock.cents[shown.places] <= self.limit)
        if need.seen:
            for place, row in enumerate(shown.rows):
                if row in need.seen:
                    weights[place] *= AGAIN
        return weights

    def draw_result(self, weights: np.ndarray) -> int:
        """One of the places on the pages."""
        total = np.cumsum(weights)
        place = int(np.searchsorted(total, self.random.random() * total[-1], side="right"))
        return min(place, len(weights) - 1)

    def put(self) -> None:
        """What was opened last into the cart, for this need or, where that has something there, for one that comes to mind."""
        row, need = self.opened, self.errand
        assert need is not None
        if need.carted or need.state != "open" or self.stock.leaf_of[row] != need.leaf:
            day = self.now // DAY
            idea = self.household.need(int(self.stock.leaf_of[row]), "looking around", day, 12, keen=0.4)
            if (
                need.carted
                and self.stock.leaf_of[row] == need.leaf
                and need.state == "open"
                and self.random.random() < 0.85
                and self.can_spare()
            ):
                idea = need  # another candidate for the same
            else:
                self.household.pending.append(idea)
            need = idea
        need.carted += 1
        self.cart.append(InCart(row, need))
        self.look_into_cart()
        self.note(CART, row)
        self.opened = -1

    def can_spare(self) -> bool:
        """Whether a cart may be for nothing new: enough is left for the purchases."""
        return self.mix == "life" or self.left[PURCHASE] - len(self.wanted) <= self.left[CART] - 1

    def buy(self) -> None:
        wanted, day = self.wanted, self.now // DAY
        weights = []
        for place, each in enumerate(wanted):
            need = each.need
            fresh = self.household.owned.get(need.leaf)
            twice = (
                0.02 if fresh is not None and day - fresh < 21 and not need.whom and need.reason != "sent back" else 1.0
            )
            weights.append((0.1 + need.keen) * twice * (1.5 + place))
        chosen = wanted[draw_place(self.random, weights)]
        self.cart.remove(chosen)
        self.note(PURCHASE, chosen.product)
        if chosen.need.state == "open":
            self.household.bought(chosen.need, day)
        self.look_into_cart()
        self.opened = -1
        if self.errand is chosen.need:
            self.searches = MOST_SEARCHES

    def note(self, kind: int, product: int, text: str = "") -> None:
        self.kinds.append(kind)
        self.products.append(product)
        self.texts.append(text)
        self.seconds.append(self.now)
        if kind == SEARCH:
            cents, size = 0, SEARCH_TOKENS + estimate(text)
        else:
            cents, size = self.price(product)
        self.cents.append(cents)
        self.tokens += (AROUND[kind] + size) * self.scale
        if self.mix == "paper":
            self.left[kind] -= 1
            if not any(self.left):
                self.left = list(QUOTA)
                self.tidy()
        elif len(self.kinds) % 100 == 0:
            self.tidy()

    def price(self, product: int) -> tuple[int, int]:
        """What it costs today, and the tokens of its line."""
        stock = self.stock
        listed, size = int(stock.cents[product]), int(stock.body_tokens[product])
        if not stock.promoted[product]:
            return listed, size
        day = self.now // DAY
        for first, last, cents, _ in stock.promotions[product]:
            if first <= day <= last:
                return cents, size + count_digits(cents) - count_digits(listed)
        return listed, size

    def tidy(self) -> None:
        """What is not wanted any more is forgotten, and the oldest of too much."""
        kept = [each for each in self.cart if each.need.state == "open"]
        for each in kept[:-OPEN_CARTS]:
            each.need.carted -= 1
        self.cart = kept[-OPEN_CARTS:]
        self.look_into_cart()


def draw_place(random: Random, weights: list[float]) -> int:
    """The number of one of them; as `random.choices`, in a third of its time.

    >>> draw_place(Random(1), [0.0, 2.0, 0.0])
    1
    """
    left = random.random() * sum(weights)
    for place, weight in enumerate(weights):
        left -= weight
        if left < 0.0:
            return place
    return max(place for place, weight in enumerate(weights) if weight)


def count_digits(cents: int) -> int:
    return sum(cents >= edge for edge in PRICE_DIGITS)
