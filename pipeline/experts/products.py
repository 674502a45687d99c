"""Experts for one product: to discover one, to replace one that is sold out, and to put what was looked at into the cart."""

import re
from collections.abc import Sequence
from typing import Any

from shopwright.pipeline.experts.beliefs import Product, Said, pick_product_wishes
from shopwright.pipeline.experts.expert import PAGE, Acts, order_candidates
from shopwright.pipeline.experts.policy import Policy
from shopwright.pipeline.reading.wishes import ShopVocabulary, Wish

TRIED = 12
"""Pages of products that are read, at most, before it is said that there is none."""


class ProductExpert(Policy):
    """Looks for products of a category that do all that is wished."""

    def learn_wishes(self, said: list[Said], category: str, *, keep: int) -> Acts:
        """The wishes with those that only come when they are asked for."""
        wishes = pick_product_wishes(said)

        def read(answer: str) -> bool:
            heard = self.read(answer, [category])
            wishes.extend(wish for wish in pick_product_wishes(heard) if wish not in wishes)
            return bool(heard)

        yield from self.ask_for_more(read, keep=keep)
        return wishes

    def find_fitting(
        self, words: str, category: str, wishes: Sequence[Wish], *, but: Sequence[str] = (), count: int = 1
    ) -> Acts:
        """Products in stock that do all that is wished, and whether one was seen that does but is sold out."""
        fitting: list[Product] = []
        rejected, page, more, sold_out = set(but), 1, True, False
        while more and self.left > 1:
            shown, found = yield from self.search(
                words, wishes, f"I look for {words} with what was asked for.", category=category, page=page
            )
            seen = [each for each in shown if each.category == category]
            sold_out = sold_out or any(not each.in_stock and self.may_do(each, wishes) for each in seen)
            progress = False
            for product in order_candidates(seen, wishes, category):
                if product.id in rejected or product in fitting:
                    continue
                fits = yield from self.check(product, wishes, keep=1)
                rejected.add(product.id)
                progress = progress or fits
                if fits:
                    fitting.append(product)
                    if len(fitting) >= count:
                        return fitting, sold_out
                if self.left <= 1:
                    return fitting, sold_out
            more = found > page * PAGE and page < TRIED and bool(shown)
            page += 1
        return fitting, sold_out

    def may_do(self, product: Product, wishes: Sequence[Wish]) -> bool:
        return False not in [product.meets(wish) for wish in wishes]


class Discovery(ProductExpert):
    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        said = self.read(text)
        things = [each.wish.value for each in said if each.wish.kind == "thing"]
        if not things:
            answer = yield from self.ask("Which product are you looking for?", "I did not understand what is wanted.")
            said += self.read(answer)
            things = [each.wish.value for each in said if each.wish.kind == "thing"]
        if not things:
            return {"thought": "I did not understand which kind of product is meant.", "refusal": "not_found"}
        category = things[0]
        words = self.name_thing(text, said, category)
        wishes = yield from self.learn_wishes(said, category, keep=5)
        fitting, _ = yield from self.find_fitting(words, category, wishes)
        fitting = [each for each in fitting if each.in_stock]
        if not fitting:
            return {"thought": "None of those that I saw does all that was asked for.", "refusal": "not_found"}
        return {
            "thought": "This one does all that was asked for, as its list and its page show.",
            "recommended_product_ids": fitting[0].id,
        }


class Substitution(ProductExpert):
    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        loose = self.read(text)
        things = [each.wish.value for each in loose if each.wish.kind == "thing"]
        shown, _ = yield from self.search(" ".join(text.split())[:400], [], "I look for what is said to be sold out.")
        said = self.read(text, titles=True)
        titles = [each.wish.value for each in said if each.wish.kind == "title"]
        original = next((each for each in shown if each.title.lower() in titles), None)
        if original is None:
            named = [each for each in shown if each.category in things] or shown
            original = next((each for each in named if not each.in_stock), named[0] if named else None)
        if original is None:
            return {"thought": "I found nothing like it.", "refusal": "not_found"}
        category = original.category
        if original.title.lower() not in titles:
            said = [each for each in self.read(text, [category]) if each.wish.kind != "title"]
            words = original.title.lower()
            said = [each for each in said if each.wish.kind != "value" or each.wish.value not in words]
        else:
            said = self.read(text, [category], titles=True)
        wishes = yield from self.learn_wishes(said, category, keep=4)
        words = " ".join(re.findall(r"[\w.]+", original.title))
        fitting, sold_out = yield from self.find_fitting(words, category, wishes, but=[original.id])
        fitting = [each for each in fitting if each.in_stock]
        if not fitting:
            refusal = "sold_out" if sold_out else "not_found"
            return {"thought": "Nothing in stock does all that is needed.", "refusal": refusal}
        return {"thought": "It is in stock and does what is needed.", "recommended_product_ids": fitting[0].id}


ITEM = re.compile(r"\bfor (?:the )?(?:item |number )?(first|second|third|fourth|fifth|sixth|\d+)(?: one)?\b")
ORDINALS = {name: place for place, name in enumerate("first second third fourth fifth sixth".split(), 1)}


class Line:
    """One thing that is to be put into the cart."""

    def __init__(self, start: int, kind: str, value: str, title: str = "") -> None:
        self.start, self.kind, self.value, self.title = start, kind, value, title
        self.wishes: list[Wish] = []
        self.clues: list[Wish] = []
        """A price or a brand by which it is known among what was viewed."""
        self.pieces = 1
        self.product: Product | None = None


VIEWED = re.compile(r"\b(?:view|look|saw|click)")
NEAR = 45
"""Letters after a thing in which it is said that it was viewed."""


class Cart(ProductExpert):
    """Puts what was asked for into the cart, in the versions and numbers that were asked for."""

    def __init__(self, opening: str, calls: int, lexicon: ShopVocabulary) -> None:
        super().__init__(opening, calls, lexicon)
        self.tried: set[int] = set()

    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        visits = yield from self.read_visits()
        yield from self.find_titles(text)
        lines = self.lines_of(text, visits)
        self.find_lines(text, lines, visits)
        self.place_wishes(text, lines)
        variants: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            if line.product is None or self.left <= 2:
                continue
            found = yield from self.call(
                "catalog_get_variants", "I look which versions of it there are.", product_id=line.product.id
            )
            variants[line.product.id] = found.get("variants", [])

        def read(answer: str) -> bool:
            return self.hear_lines(answer, lines, variants)

        if len(lines) > 1 or self.left > 4 or any(len(self.fitting_variants(line, variants)) > 1 for line in lines):
            yield from self.ask_for_more(read, keep=len(lines) + 1)
        added, sold_out, contradiction = 0, False, False
        for line in lines:
            if line.product is None or self.left <= 1:
                continue
            offers = self.fitting_variants(line, variants)
            stocked = [each for each in offers if each["stock"]]
            if not stocked:
                sold_out, contradiction = sold_out or bool(offers), contradiction or not offers
                continue
            pieces = line.pieces
            best = max(stocked, key=lambda each: each["stock"])
            pieces = min(pieces, int(best["stock"]))
            found = yield from self.call(
                "cart_add",
                "This is the version that was asked for.",
                product_id=line.product.id,
                variant_id=best["variant_id"],
                quantity=pieces,
            )
            added += "error" not in found
        if added:
            return {"thought": "What can be had lies in the cart."}
        refusal = "sold_out" if sold_out or not contradiction else "contradiction"
        return {"thought": "Nothing of it can be had.", "refusal": refusal}

    def read_visits(self) -> Acts:
        visits: list[Product] = []
        page, found = 1, 1
        while ((page - 1) * PAGE < found and page <= 3 and self.left > 6) or page == 1:
            seen = yield from self.call(
                "user_get_visit_history", "I look what the shopper has viewed.", **({"page": page} if page > 1 else {})
            )
            visits += [self.memory.products[each["product_id"]] for each in seen.get("visits", ())]
            found = int(seen.get("found", 0))
            page += 1
        return visits

    def find_titles(self, text: str) -> Acts:
        """Looks for what is named by its title: that which is not said to have been viewed."""
        plain = " ".join(text.split())
        for _ in range(6):
            lines = self.lines_of(text, [])
            ends = [*(line.start for line in lines[1:]), len(plain)]
            unknown = [
                (line, end)
                for line, end in zip(lines, ends, strict=True)
                if line.kind == "thing"
                and line.start not in self.tried
                and not VIEWED.search(plain[line.start : min(end, line.start + NEAR)].lower())
            ]
            if not unknown or self.left <= 5:
                return
            line, _ = unknown[0]
            self.tried.add(line.start)
            words = plain[max(0, line.start - 45) : min(len(plain), line.start + 120)]
            words = words[words.find(" ") + 1 :] if line.start > 45 else words
            yield from self.search(words, [], "This is named by its title, so I look for it.")

    def lines_of(self, text: str, visits: list[Product]) -> list[Line]:
        """The things in the order in which they are named."""
        said = self.read(text, titles=True)
        lines: list[Line] = []
        for each in said:
            if each.wish.kind == "title":
                lines.append(Line(each.start, "title", each.wish.value, each.wish.value))
            elif each.wish.kind == "thing":
                lines.append(Line(each.start, "thing", each.wish.value))
        return sorted(lines, key=lambda line: line.start)

    def find_lines(self, text: str, lines: list[Line], visits: list[Product]) -> None:
        """Which products are meant: by title, by price or brand and what was viewed, else what was viewed last."""
        said = self.read(text, [line.value for line in lines], titles=True)
        for each in said:
            brand = each.wish.kind == "value" and "brand" in each.wish.facts
            if each.wish.kind in ("price", "price at most") or brand:
                after = [line for line in lines if 0 <= line.start - each.end <= 1]
                before = [line for line in lines if line.start <= each.start]
                line = after[0] if after else before[-1] if before else None
                if line is not None:
                    line.clues.append(each.wish)
        for line in lines:
            if line.kind == "title":
                known = self.memory.products.values()
                line.product = next((each for each in known if each.title.lower() == line.title), None)
                continue
            mine = [each for each in visits if each.category == line.value]
            for clue in line.clues:
                brand = clue.kind == "value"
                held = [
                    each
                    for each in mine
                    if (
                        str(each.shown.get("brand", "")).lower() == clue.value
                        if brand
                        else each.cents == int(clue.value)
                    )
                ]
                mine = held or mine
            line.product = next(iter(mine), None)

    def place_wishes(self, text: str, lines: list[Line]) -> None:
        """Each wish and number of pieces is of the thing named last before it."""
        for each in self.read(text, [line.product.category for line in lines if line.product], titles=True):
            mine = [line for line in lines if line.start <= each.start]
            if not mine:
                continue
            if each.wish.kind == "pieces":
                mine[-1].pieces = int(each.wish.value)
            elif each.wish.kind == "value" and each.start > mine[-1].start:
                mine[-1].wishes.append(each.wish)

    def hear_lines(self, answer: str, lines: list[Line], variants: dict[str, list[dict[str, Any]]]) -> bool:
        """Wishes and pieces of an answer, of the item that it names."""
        plain = " ".join(answer.split()).lower()
        marks = [(found.start(), self.number_of(found[1])) for found in ITEM.finditer(plain)]
        heard = self.read(answer, [line.product.category for line in lines if line.product])
        news = False
        for each in heard:
            before = [number for start, number in marks if start <= each.start]
            number = before[-1] if before else marks[0][1] if marks else 1
            if not 1 <= number <= len(lines):
                continue
            line = lines[number - 1]
            if each.wish.kind == "pieces":
                offered = [str(value).lower() for one in self.offers(line, variants) for value in one.values()]
                if any(value.startswith(f"{each.wish.value} piece") for value in offered) and "that" in plain:
                    line.wishes.append(Wish("value", f"{each.wish.value} pieces"))
                else:
                    line.pieces = int(each.wish.value)
                news = True
            elif each.wish.kind == "value":
                line.wishes.append(each.wish)
                news = True
        return news

    def number_of(self, text: str) -> int:
        return ORDINALS.get(text) or int(text)

    def offers(self, line: Line, variants: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        return variants.get(line.product.id, []) if line.product else []

    def fitting_variants(self, line: Line, variants: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """The versions that have all that is wished of them; wishes about what does not vary say nothing here."""
        offers = self.offers(line, variants)
        options = {name for each in offers for name in each} - {"variant_id", "price", "stock"}
        for wish in line.wishes:
            facts = wish.facts & options if wish.facts else options
            if facts:
                offers = [
                    each for each in offers if any(str(each.get(fact, "")).lower() == wish.value for fact in facts)
                ]
        return offers
