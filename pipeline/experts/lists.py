"""Experts for lists: one product of each kind, within a budget, from one seller, or as a voucher needs it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product as cartesian
from math import prod
from typing import Any

from shopwright.pipeline.experts.beliefs import ABOUT_PRODUCTS, Product, Said
from shopwright.pipeline.experts.expert import PAGE, Acts, order_candidates
from shopwright.pipeline.experts.products import ProductExpert
from shopwright.pipeline.reading.wishes import Wish

BUDGET = re.compile(
    r"in total|in all\b|altogether|whole (?:list|thing)|everything|all in all|budget|left to pay|voucher|coupon|purse|for all of it|to pay|together|costs?:|has to stay|the money|total\b|minus|i live on"
)
MOST_COMBINATIONS = 20_000
PAGES = 6


class Need:
    """A kind of product that is wanted, with what was wished of it."""

    def __init__(self, category: str, words: str) -> None:
        self.category, self.words = category, words
        self.wishes: list[Wish] = []
        self.found: list[Product] = []
        """Products of its kind that were seen."""
        self.made: list[dict[str, Any]] = []
        """What its searches were limited to."""
        self.last: list[Product] = []
        self.total = 0
        """How many the first search found."""
        self.count = 0
        """Of the last search: what it showed, and how many it found."""


class ListExpert(ProductExpert):
    """What bundles, lists of one seller and lists for a voucher have in common."""

    def begin(self, text: str) -> None:
        self.needs: list[Need] = []
        self.budget = 0
        self.voucher: dict[str, str] = {}
        said = self.read(text)
        for each in said:
            if each.wish.kind == "thing" and each.wish.value not in [need.category for need in self.needs]:
                self.needs.append(Need(each.wish.value, self.name_thing(text, said, each.wish.value)))
        self.take(text, said)

    def take(self, text: str, said: Sequence[Said]) -> bool:
        """Each wish is of the thing named last before it; an amount may be the budget."""
        plain = " ".join(text.split()).lower()
        news = False
        things = [each for each in said if each.wish.kind == "thing"]
        for each in said:
            wish = each.wish
            if wish.kind == "voucher":
                self.voucher = read_terms(wish.value)
                news = True
                continue
            if wish.kind in ("price", "price at most") and self.is_budget(plain, each, things):
                self.budget, news = int(wish.value), True
                continue
            if wish.kind == "price":
                wish = Wish("price at most", wish.value)
            before = [thing for thing in things if thing.start < each.start]
            if wish.kind not in ABOUT_PRODUCTS or not before:
                continue
            need = next((need for need in self.needs if need.category == before[-1].wish.value), None)
            if need is not None and wish not in need.wishes:
                need.wishes.append(wish)
                news = True
        return news or bool(things)

    def is_budget(self, plain: str, each: Said, things: Sequence[Said]) -> bool:
        """By the words of its sentence, as far as no thing is named between."""
        begin = max((plain.rfind(mark, 0, each.start) for mark in (". ", "! ", "? ", ": ")), default=0)
        begin = max([begin, *(thing.end for thing in things if thing.end <= each.start)])
        ends = [place for mark in (". ", "! ", "? ") if (place := plain.find(mark, each.end)) >= 0]
        end = min([*ends, len(plain), *(thing.start for thing in things if thing.start >= each.end)])
        if BUDGET.search(plain[begin:end]):
            return True
        named = [thing for thing in things if thing.end <= each.start]
        return not named

    def learn(self, *, keep: int) -> Acts:
        def read(answer: str) -> bool:
            return self.take(answer, self.read(answer, [need.category for need in self.needs]))

        yield from self.ask_for_more(read, keep=keep)

    # Searching

    def list_searches(self, need: Need) -> Iterator[dict[str, Any]]:
        """What to look for, the likeliest first, one search after another."""
        yield from ({"page": page} for page in range(1, PAGES + 1))

    def count_next_page(self, need: Need) -> int:
        """The page after the first search: without its kind, which was not shown yet, that is another search than those that follow."""
        return 2 if need.category in self.memory.categories else 1

    def choose(self) -> list[Product] | None:
        """The best list of what was seen: of what is known to do rather than of what may do."""
        raise NotImplementedError

    def find_list(self) -> Acts:
        """Searches, chooses and reads pages until a list is known to do; None where there is none."""
        plans = {need.category: self.list_searches(need) for need in self.needs}
        yield from self.search_all(self.needs, plans)
        while True:
            chosen = self.choose()
            if chosen is None:
                lacking = [need for need in self.needs if not self.candidates(need)]
                searched = yield from self.search_all(lacking or self.list_to_widen(), plans)
                if not searched:
                    return None
                continue
            unread = [each for each, need in zip(chosen, self.needs, strict=True) if None in self.met(each, need)]
            if not unread or self.left <= 1:
                return chosen
            if (yield from self.look_before_reading(plans)):
                continue
            needs = {each.id: need for each, need in zip(chosen, self.needs, strict=True)}
            yield from self.read_page(unread[0], needs[unread[0].id].wishes)

    def list_to_widen(self) -> list[Need]:
        """Of which things to look for more, where there are some of each but no list that does."""
        return self.needs

    def search_all(self, needs: Sequence[Need], plans: Mapping[str, Iterator[dict[str, Any]]]) -> Acts:
        """One more search for each of these things; False where nothing is left to search."""
        searched = False
        for need in needs:
            new = (plan for plan in plans[need.category] if not self.was_made(need, plan))
            plan = next(new, None) if self.left > 1 else None
            if plan is None:
                continue
            searched = True
            yield from self.search_once(need, plan)
        return searched

    def was_made(self, need: Need, plan: Mapping[str, Any]) -> bool:
        """Whether the same was looked for before."""
        return {name: value for name, value in plan.items() if name != "sums"} in need.made

    def search_once(self, need: Need, plan: Mapping[str, Any]) -> Acts:
        given = {name: value for name, value in plan.items() if name != "sums"}
        need.made.append(given)
        shown, found = yield from self.search(
            need.words, need.wishes, describe_search(need, plan), category=need.category, **given
        )
        need.count, need.last = found, [each for each in shown if each.category == need.category]
        need.found = list({each.id: each for each in (*need.found, *need.last)}.values())

    def look_before_reading(self, plans: Mapping[str, Iterator[dict[str, Any]]]) -> Acts:
        """Searches that tell more than another page would; whether there were any."""
        yield from ()
        return False

    def met(self, product: Product, need: Need) -> list[bool | None]:
        return [product.meets(wish) for wish in need.wishes]

    def candidates(self, need: Need) -> list[Product]:
        """Those that may do, the surest and cheapest first; without those that a search would have put before others if they did."""
        found = order_candidates(need.found, need.wishes, need.category)
        return [
            each
            for each in found
            if None not in self.met(each, need) or not self.memory.is_outranked(each, need.wishes)
        ]

    def count_unread(self, chosen: Sequence[Product]) -> int:
        return sum(None in self.met(each, need) for each, need in zip(chosen, self.needs, strict=True))


def describe_search(need: Need, plan: Mapping[str, Any]) -> str:
    """Why it is looked for so."""
    limits = [
        f"{'from' if name == 'min_price' else 'up to'} ${plan[name]:.2f}"
        for name in ("min_price", "max_price")
        if name in plan
    ]
    of = f" of {plan['seller']}" if "seller" in plan else ""
    page = ", the next page" if "page" in plan else ""
    sums = f" ({plan['sums']})" if plan.get("sums") else ""
    return f"I look for {need.words}{of}{', ' if limits else ''}{' '.join(limits)}{sums}{page}."


def format_cents(cents: int) -> str:
    """
    >>> format_cents(1950)
    '$19.50'
    """
    return f"${cents / 100:.2f}"


def make_cheaper(products: Sequence[Product]) -> Iterator[dict[str, Any]]:
    """A search for what costs less than all of these."""
    least = min((each.cents for each in products), default=0)
    if least > 1:
        yield {"max_price": (least - 1) / 100, "sums": f"{format_cents(least)} - $0.01 = {format_cents(least - 1)}"}


def read_terms(value: str) -> dict[str, str]:
    """
    >>> read_terms("least 6000 off 1200")
    {'least': '6000', 'off': '1200'}
    """
    terms: dict[str, str] = {}
    words = value.split()
    for name in ("least", "most", "off"):
        if name in words:
            terms[name] = words[words.index(name) + 1]
    if "seller" in words:
        rest = words[words.index("seller") + 1 :]
        terms["seller"] = " ".join(word for word in rest if word != "two")
    return terms


class Bundle(ListExpert):
    """One of each within a budget."""

    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        self.begin(text)
        count = len(self.needs)
        yield from self.learn(keep=2 * count + 1 if count > 3 else count + 2)
        if not self.budget and self.left > count + 1:
            yield from self.ask_budget("What is the budget for all of it?")
        chosen = yield from self.find_list()
        if chosen is None:
            some = all(self.candidates(need) for need in self.needs)
            refusal = "over_budget" if some else "not_found"
            return {"thought": "I found no list that does.", "refusal": refusal}
        ids = ",".join(each.id for each in chosen)
        return {
            "thought": "Each does what was asked, and together they stay within the budget.",
            "recommended_product_ids": ids,
        }

    def ask_budget(self, question: str) -> Acts:
        answer = yield from self.ask(question, "Nothing was said about the budget, so I ask.")
        for each in self.read(answer):
            if each.wish.kind in ("price", "price at most"):
                self.budget = int(each.wish.value)

    def list_searches(self, need: Need) -> Iterator[dict[str, Any]]:
        """Within its share of the budget, then within the whole; page by page while none does; then cheaper and cheaper ones."""
        first = self.count_next_page(need)
        share = self.budget // max(1, len(self.needs))
        plain = not any(wish.kind == "value" for wish in need.wishes)
        divided = f"{format_cents(self.budget)} / {len(self.needs)} = {format_cents(share)}"
        caps = [(share, divided), (self.budget, "")] if share and plain else [(self.budget if share else 0, "")]
        for cap, sums in caps:
            limit: dict[str, Any] = {"max_price": cap / 100, "sums": sums} if cap else {}
            yield limit
            for page in range(first, PAGES + 1):
                if self.candidates(need) or need.count <= (page - 1) * PAGE:
                    break
                yield {**limit, "page": page}
            if self.candidates(need):
                break
        for _ in range(8):
            yield from make_cheaper(self.candidates(need))

    def choose(self) -> list[Product] | None:
        lists = [self.candidates(need) for need in self.needs]
        if not all(lists):
            return None
        chosen = [each[0] for each in lists]
        cheapest = [min(each, key=lambda one: (one.cents, one.id)) for each in lists]
        while self.budget and self.cost(chosen) > self.budget:
            savings = [
                (one.cents - two.cents, place) for place, (one, two) in enumerate(zip(chosen, cheapest, strict=True))
            ]
            most, place = max(savings)
            if most <= 0:
                return None
            chosen[place] = cheapest[place]
        return chosen

    def cost(self, chosen: Sequence[Product]) -> int:
        return sum(each.cents for each in chosen)


class OneSeller(ListExpert):
    """One of each, all of one seller."""

    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        self.begin(text)
        self.looked: set[str] = set()
        count = len(self.needs)
        yield from self.learn(keep=2 * count + 1)
        chosen = yield from self.find_list()
        if chosen is None:
            return {"thought": "I found no seller that has all of it.", "refusal": "not_found"}
        seller = chosen[0].shown.get("seller")
        ids = ",".join(each.id for each in chosen)
        return {"thought": f"{seller} has all of it.", "recommended_product_ids": ids}

    def list_searches(self, need: Need) -> Iterator[dict[str, Any]]:
        """All of the kind of which there are the fewest; of the others, seller by seller, what those have who have that; then what is left."""
        page = self.count_next_page(need)
        yield {}
        need.total = need.count
        while need is self.find_rarest() and page <= PAGES and need.total > (page - 1) * PAGE:
            if page > 1 and self.is_past(need):
                break
            yield {"page": page}
            page += 1
        tried: set[str] = set()
        while True:
            sellers = self.list_sellers(self.find_rarest())
            new = [seller for seller in sellers if seller not in tried]
            if new:
                tried.add(new[0])
                if not self.has_seller(need, new[0]):
                    yield {"seller": new[0]}
            elif need.total > (page - 1) * PAGE and page <= PAGES:
                yield {"page": page}
                page += 1
            else:
                return

    def is_past(self, need: Need) -> bool:
        """Whether what comes after the last page cannot do: nothing on it may, and the words of the search are what was wished."""
        bounds = any(wish.kind in ("at most", "at least") for wish in need.wishes)
        found = self.candidates(need)
        return not any(each in found for each in need.last) and (bool(found) or not bounds)

    def find_rarest(self) -> Need:
        """The kind of which the fewest may be expected to do: of those found, the share that has one of so many values."""
        return min(self.needs, key=self.expect_fitting)

    def expect_fitting(self, need: Need) -> float:
        kinds = self.memory.lexicon.values(need.category)
        values = [wish for wish in need.wishes if wish.kind == "value" and wish.facts != {"brand"}]
        several = [max(2, *(len(kinds.get(fact, ())) for fact in wish.facts), 2) for wish in values]
        bounds = sum(wish.kind in ("at most", "at least") for wish in need.wishes)
        return (need.total or 100) / prod(several) / 2**bounds

    def list_sellers(self, need: Need) -> list[str]:
        """Who has something that may do, those first who surely have."""
        found = sorted(self.candidates(need), key=lambda each: None in self.met(each, need))
        return list(dict.fromkeys(str(each.shown.get("seller")) for each in found))

    def has_seller(self, need: Need, seller: str) -> bool:
        return any(each.shown.get("seller") == seller for each in self.candidates(need))

    def look_before_reading(self, plans: Mapping[str, Iterator[dict[str, Any]]]) -> Acts:
        """Where a seller surely has the rarest thing, what it has of the others; whether there was something to look for."""
        rarest = self.find_rarest()
        sure = [each for each in self.candidates(rarest) if None not in self.met(each, rarest)]
        for seller in dict.fromkeys(str(each.shown.get("seller")) for each in sure):
            lacking = [need for need in self.needs if not self.has_seller(need, seller)]
            lacking = [need for need in lacking if not self.was_made(need, {"seller": seller})]
            if seller not in self.looked and lacking and len(lacking) + 1 < self.left:
                self.looked.add(seller)
                for need in lacking:
                    yield from self.search_once(need, {"seller": seller})
                return True
        return False

    def choose(self) -> list[Product] | None:
        lists = [self.candidates(need) for need in self.needs]
        sellers = dict.fromkeys(str(each.shown.get("seller")) for found in lists for each in found)
        whole: list[tuple[int, int, list[Product]]] = []
        for place, seller in enumerate(sellers):
            mine = [[each for each in found if each.shown.get("seller") == seller] for found in lists]
            if all(mine):
                chosen = [found[0] for found in mine]
                whole.append((self.count_unread(chosen), place, chosen))
        return min(whole, key=lambda each: each[:2])[2] if whole else None


class VoucherList(Bundle):
    """One of each within a budget that only the voucher makes enough."""

    def solve(self, text: str) -> Acts:
        self.begin(text)
        count = len(self.needs)
        if not self.voucher:
            found = yield from self.call("voucher_list", "I look what the voucher is good for.")
            for each in found.get("vouchers", ())[:1]:
                percent = each.get("percent_off")
                self.voucher = {
                    "off": f"{percent}%" if percent else str(round(100 * each.get("dollars_off", 0))),
                    "least": str(round(100 * each.get("least_total", 0))),
                    "most": str(round(100 * each.get("most_dollars_off", 0))),
                    "seller": str(each.get("only_of_seller", "")).lower(),
                }
        yield from self.learn(keep=2 * count + 1)
        if not self.budget and self.left > count + 1:
            yield from self.ask_budget("What is the budget after the voucher?")
        chosen = yield from self.find_list()
        if chosen is None:
            return {"thought": "No list stays within the budget.", "refusal": "over_budget"}
        ids = ",".join(each.id for each in chosen)
        return {"thought": "With the voucher they stay within the budget.", "recommended_product_ids": ids}

    def list_searches(self, need: Need) -> Iterator[dict[str, Any]]:
        """Of the voucher's seller; within a share of the most that all may cost; then what goes with the cheapest of the others; then cheaper ones."""
        first = self.count_next_page(need)
        room, why = self.compute_room()
        seller = next((each for each in self.memory.lexicon.sellers if each.lower() == self.voucher.get("seller")), "")
        limits: dict[str, Any] = {"max_price": room / 100, "sums": why} if self.budget else {}
        if seller:
            yield {"seller": seller, **limits}
        share = room // len(self.needs)
        divided = f"{why}; {format_cents(room)} / {len(self.needs)} = {format_cents(share)}"
        yield {"max_price": share / 100, "sums": divided} if self.budget and not need.wishes else limits
        for page in range(first, PAGES + 1):
            if self.candidates(need) or need.count <= (page - 1) * PAGE:
                break
            yield {**limits, "page": page}
        for _ in range(4):
            yield from self.complement(need, room, why)
            yield from self.complement(need, room, why, widely=True)
            yield from make_cheaper(self.candidates(need))
        for page in range(first, PAGES + 1):
            yield {**limits, "page": page}

    def compute_room(self) -> tuple[int, str]:
        """The most that all may cost before the voucher is taken off, and how that comes about; without it where that is too little for it."""
        room, why = self.add_voucher()
        least = int(self.voucher.get("least", 0) or 0)
        if self.budget and least > room:
            return self.budget, f"{why}, and the voucher needs {format_cents(least)}"
        return room, why

    def add_voucher(self) -> tuple[int, str]:
        off, most = self.voucher.get("off", "0"), int(self.voucher.get("most", 0) or 0)
        added = most if off.endswith("%") else int(off)
        room = self.budget + added
        why = f"{format_cents(self.budget)} + {format_cents(added)} = {format_cents(room)}"
        if not off.endswith("%"):
            return room, why
        left = 100 - int(off[:-1])
        share = self.budget * 100 // left
        if most and room < share:
            return room, why
        return share, f"100 - {off[:-1]} = {left}; {format_cents(self.budget)} x 100 / {left} = {format_cents(share)}"

    def complement(self, need: Need, room: int, why: str, *, widely: bool = False) -> Iterator[dict[str, Any]]:
        """What goes with the cheapest of the others, or widely with any that was found: enough for the voucher and no more than may be paid."""
        others = [self.candidates(each) for each in self.needs if each is not need]
        if not all(others) or not self.budget:
            return
        prices = [min(each.cents for each in found) for found in others]
        rest, least = sum(prices), int(self.voucher.get("least", 0) or 0)
        if room <= rest:
            return
        taken = " - ".join(map(format_cents, prices))
        plan = {"max_price": (room - rest) / 100}
        sums = f"{why}; {format_cents(room)} - {taken} = {format_cents(room - rest)}"
        if widely:
            dear = [max(each.cents for each in found) for found in others]
            rest, taken = sum(dear), " - ".join(map(format_cents, dear))
        if room >= least > rest:
            plan["min_price"] = (least - rest) / 100
            sums += f"; {format_cents(least)} - {taken} = {format_cents(least - rest)}"
        yield {**plan, "sums": sums}

    def choose(self) -> list[Product] | None:
        lists = [self.candidates(need) for need in self.needs]
        if not all(lists):
            return None
        most = max(4, int(MOST_COMBINATIONS ** (1 / len(lists))))
        by_price = [sorted(each, key=lambda one: (one.cents, one.id)) for each in lists]
        # Of many, evenly spread in price: the list has to reach a total as well as to stay below one.
        spread = [
            each if len(each) <= most else [each[place * len(each) // most] for place in range(most)]
            for each in by_price
        ]
        ranks = {each.id: place for found in lists for place, each in enumerate(found)}
        best: tuple[int, int, list[Product]] | None = None
        for chosen in cartesian(*spread):
            cost = self.cost(chosen)
            if self.budget and cost > self.budget:
                continue
            unread = self.count_unread(chosen)
            worth = sum(ranks[each.id] for each in chosen) if unread else cost
            if best is None or (unread, worth) < best[:2]:
                best = unread, worth, list(chosen)
        return best[2] if best else None

    def cost(self, chosen: Sequence[Product]) -> int:
        return sum(each.cents for each in chosen) - self.discount(chosen)

    def discount(self, chosen: Sequence[Product]) -> int:
        """Cents off, by the terms of the voucher as they were said or shown."""
        terms, seller = self.voucher, self.voucher.get("seller", "")
        counts = [each.cents for each in chosen if seller in ("", str(each.shown.get("seller", "")).lower())]
        if sum(each.cents for each in chosen) < int(terms.get("least", 0) or 0) or (seller and len(counts) < 2):
            return 0
        off = terms.get("off", "0")
        if off.endswith("%"):
            most = int(terms.get("most", 0) or 0)
            share = sum(counts) * int(off[:-1]) // 100
            return min(most, share) if most else share
        return min(int(off), sum(counts))
