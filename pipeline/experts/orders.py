"""Experts for orders: where one is, and what of one goes back."""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from shopwright.pipeline.experts.beliefs import Said, find_words, pick_product_wishes, realign
from shopwright.pipeline.experts.expert import Acts
from shopwright.pipeline.experts.products import ProductExpert
from shopwright.pipeline.experts.recognize import respell_cues
from shopwright.pipeline.reading.wishes import Wish

ARRIVAL = re.compile(r"arriv|(?:day|date|when) it (?:comes|gets|arrives|is here)")
TOTAL = re.compile(r"total|altogether|whole order|in all|sum\b|all together")

NEW = re.compile(
    r"for \w+ (?:new|other|replacement)\b|the new\b|instead\b|swap|other version|another version|exchange|the other one"
    r"|replace(?:d|ment)? (?:it )?(?:with|by|must|should)|\bin (?:its|their|the) place\b"
)
"""How it begins what is said of what is wanted instead."""
PAID = re.compile(r"\b(?:cost me|it (?:did )?cost|i paid|paid for it)\W*$")
"""What stands before a price that was paid."""
PRICE_EACH = re.compile(r"\$?[\d.,]+ (?:bucks |dollars )?(?:each|a piece|apiece)\b")
"""A price of one of several that were bought."""
OF_ORDERS = ("span", "date", "order", "kinds", "pieces", "thing", "title")
"""Kinds of wishes that are about an order or a line of one, wherever they stand."""


class OrderExpert(ProductExpert):
    def list_orders(self) -> Acts:
        found = yield from self.call("order_list", "I look which orders there are.")
        return found.get("orders", [])

    def needs_today(self, said: Sequence[Said]) -> bool:
        return any(each.wish.kind in ("span", "date") for each in said) and self.memory.today.year == 2000

    def category_of(self, line: dict[str, Any]) -> str:
        """The category of a line, by the nouns of its title; the noun that stands last before its first comma decides."""
        said = [each for each in self.read(str(line["title"])) if each.wish.kind == "thing"]
        if said:
            return said[0].wish.value
        # In "used film camera" the title may say what film, between these words, or that it is a film camera alone.
        words = {*find_words(str(line["title"])), "used"}
        return next((leaf for noun, leaf in self.memory.lexicon.names if words.issuperset(find_words(noun))), "")

    def is_placed(self, order: dict[str, Any], wish: Wish) -> bool:
        placed = date.fromisoformat(order["placed"])
        if wish.kind == "date":
            return placed.isoformat()[5:] == wish.value[5:]
        kind, _, number = wish.value.partition(" ")
        days = (self.memory.today - placed).days
        if kind == "today":
            return days == 0
        if kind == "yesterday":
            return days == 1
        if kind == "days":
            return abs(days - int(number)) <= (0 if int(number) < 3 else 1)
        if kind == "weeks":
            return abs(days - 7 * int(number)) <= 3
        if kind == "week":
            monday = self.memory.today - timedelta(days=self.memory.today.weekday())
            return monday - timedelta(days=7) <= placed < monday or 1 <= days <= 7 + self.memory.today.weekday()
        first = self.memory.today.replace(day=1) - timedelta(days=1)
        return (placed.year, placed.month) == (first.year, first.month)

    def exact(self, order: dict[str, Any], wish: Wish) -> bool:
        """The same strictly."""
        placed = date.fromisoformat(order["placed"])
        kind, _, number = wish.value.partition(" ")
        days = (self.memory.today - placed).days
        if wish.kind != "span":
            return True
        if kind == "days":
            return days == int(number)
        if kind == "weeks":
            return abs(days - 7 * int(number)) <= 1
        if kind == "week":
            monday = self.memory.today - timedelta(days=self.memory.today.weekday())
            return monday - timedelta(days=7) <= placed < monday
        return True


class Tracking(OrderExpert):
    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        orders = yield from self.list_orders()
        said = self.read(text)
        arrival = bool(ARRIVAL.search(text.lower()))

        def read(answer: str) -> bool:
            nonlocal arrival
            heard = self.read(answer)
            said.extend(heard)
            arrival = arrival or bool(ARRIVAL.search(answer.lower()))
            return bool(heard)

        if not any(each.wish.kind == "order" for each in said):
            yield from self.ask_for_more(read, keep=4 if self.left > 6 else 3)
        if self.needs_today(said):
            yield from self.look_up_today()
        wishes = list(dict.fromkeys(each.wish for each in said))
        fitting = [order for order in orders if all(self.fits(order, wish) for wish in wishes)]
        if len(fitting) > 1:
            fitting = [order for order in fitting if all(self.exact(order, wish) for wish in wishes)] or fitting
        if not fitting:
            return {"thought": "No order is like that.", "refusal": "not_found"}
        order = fitting[0]
        found = yield from self.call(
            "order_get_status", "This is the order that fits: I look where it is.", order_id=order["order_id"]
        )
        answer = {"selected_order_id": order["order_id"], "order_status": found.get("status", order["status"])}
        if arrival and (day := found.get("delivered") or found.get("expected")):
            answer["arrival_date"] = day
        return {"thought": "The shop says where it is.", **answer}

    def fits(self, order: dict[str, Any], wish: Wish) -> bool:
        lines = order["lines"]
        if wish.kind == "order":
            return str(order["order_id"]) == wish.value
        if wish.kind in ("price", "price at most"):
            return round(100 * order["total"]) == int(wish.value)
        if wish.kind == "kinds":
            return len(lines) == int(wish.value)
        if wish.kind in ("date", "span"):
            return self.is_placed(order, wish)
        if wish.kind == "thing":
            return any(self.category_of(line) == wish.value for line in lines)
        if wish.kind == "value" and "brand" in wish.facts:
            return any(line["title"].lower().startswith(wish.value) for line in lines)
        return True


class Return(OrderExpert):
    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        orders = yield from self.list_orders()
        titles = {line["title"].lower(): self.category_of(line) for order in orders for line in order["lines"]}
        for order in orders:
            for line in order["lines"]:
                product = {
                    "product_id": line["product_id"],
                    "title": line["title"],
                    "category": titles[line["title"].lower()],
                }
                self.memory.see(product)
        parts = [(text, self.read(text, titles=True))]
        named = [each.wish for each in parts[0][1] if each.wish.kind in ("thing", "title")]
        # What is said later is about the same kind of thing.
        context = [wish.value if wish.kind == "thing" else titles.get(wish.value, "") for wish in named] or [
            *titles.values()
        ]

        def read(answer: str) -> bool:
            heard = self.read(answer, context, titles=True)
            parts.append((answer, heard))
            return bool(heard)

        yield from self.ask_for_more(read, keep=5)
        said = [each for _, heard in parts for each in heard]
        if self.needs_today(said):
            yield from self.look_up_today()
        split = [self.split_new(one, heard) for one, heard in parts]
        clues = [each for old, _ in split for each in old]
        new = [each for _, later in split for each in later]
        wanted = {each.wish.value for each in said if each.wish.kind == "wants"} & {"nothing", "variant"}
        lines = [(order, line) for order in orders for line in order["lines"]]
        things = [each for each in clues if each.wish.kind in ("thing", "title")]
        fitting = [pair for pair in lines if self.is_line(*pair, things[:1], clues)]
        if len(fitting) > 1:
            strictly = [pair for pair in fitting if all(self.exact(pair[0], each.wish) for each in clues)]
            fitting = strictly or fitting
        if not fitting:
            fitting = [pair for pair in lines if self.is_line(*pair, things[:1], [])]
        if not fitting:
            return {"thought": "I find no such thing in the orders.", "refusal": "not_eligible"}
        order, line = fitting[0]
        where = {"order_id": order["order_id"], "line_id": line["line_id"]}
        title = line["title"]
        why = f"{title} is the line that fits: I look whether it may go back."
        verdict = yield from self.call("return_check_eligibility", why, **where)
        answer = {"selected_order_id": order["order_id"], "selected_line_id": line["line_id"]}
        if not verdict.get("eligible"):
            return {"thought": f"The shop's rules do not take back {title}.", "refusal": "not_eligible", **answer}
        category = titles[line["title"].lower()]
        wishes = pick_product_wishes(new)
        if "variant" in wanted:
            found = yield from self.call(
                "catalog_get_variants", "I look which versions there are.", product_id=line["product_id"]
            )
            offers = [
                each for each in found.get("variants", []) if each["stock"] and each["variant_id"] != line["variant_id"]
            ]
            for wish in wishes:
                if wish.kind == "value":
                    held = [each for each in offers if wish.value in [str(value).lower() for value in each.values()]]
                    offers = held or offers
            if offers:
                yield from self.call(
                    "return_exchange", "This is the version wanted.", variant_id=offers[0]["variant_id"], **where
                )
                return {"thought": f"The exchange of {title} has been started.", **answer}
        if (not wanted and (wishes or len([each for each in said if each.wish.kind == "thing"]) > 1)) or (
            not wanted and re.search(r"\b(?:other|another|different|new)\b", text.lower())
        ):
            words = self.name_thing(text, parts[0][1], category)
            fitted, _ = yield from self.find_fitting(words, category, wishes, but=[line["product_id"]])
            if fitted:
                answer["recommended_product_ids"] = fitted[0].id
        yield from self.call("return_initiate", "It may go back, so I start the return.", **where)
        return {"thought": f"The return of {title} has been started.", **answer}

    def split_new(self, text: str, said: list[Said]) -> tuple[list[Said], list[Said]]:
        """What is said of the line that goes back, and of what is wanted instead."""
        typed = " ".join(text.split()).lower()
        plain = respell_cues(typed, self.memory.lexicon.words)
        cue = NEW.search(plain)
        if cue is None:
            own = [
                each
                for each in said
                if each.wish.kind in ("value", "price at most", "rating", "shipping days", "at most", "at least")
                and text is not self.opening
                and "brand" not in each.wish.facts
            ]
            return [each for each in said if each not in own], own
        begin = realign(typed, plain, range(len(typed) + 1))[cue.start()]
        later = [each for each in said if each.start >= begin and each.wish.kind not in OF_ORDERS]
        paid = [
            each for each in later if PAID.search(typed, 0, max(0, each.start)) or PRICE_EACH.match(typed, each.start)
        ]
        new = [each for each in later if each not in paid]
        return [each for each in said if each not in new], new

    def is_line(
        self, order: dict[str, Any], line: dict[str, Any], things: Sequence[Said], clues: Sequence[Said]
    ) -> bool:
        for each in things:
            if each.wish.kind == "title" and line["title"].lower() != each.wish.value:
                return False
            if each.wish.kind == "thing" and self.category_of(line) != each.wish.value:
                return False
        for each in clues:
            wish = each.wish
            if wish.kind in ("price", "price at most") and round(100 * line["price"]) != int(wish.value):
                return False
            if wish.kind == "kinds" and len(order["lines"]) != int(wish.value):
                return False
            if wish.kind == "pieces" and line["quantity"] != int(wish.value):
                return False
            if wish.kind in ("date", "span") and not self.is_placed(order, wish):
                return False
            if wish.kind == "order" and order["order_id"] != wish.value:
                return False
            if wish.kind == "value" and wish.facts == {"brand"} and not line["title"].lower().startswith(wish.value):
                return False
            if wish.kind == "thing" and each not in things:
                others = [one for one in order["lines"] if one is not line]
                if not any(self.category_of(one) == wish.value for one in (*others, line)):
                    return False
        return True
