"""Experts for one product: to discover one, and to replace one that is sold out."""

import re
from collections.abc import Sequence

from shopwright.pipeline.experts.beliefs import Product, Said, pick_product_wishes
from shopwright.pipeline.experts.expert import PAGE, Acts, order_candidates
from shopwright.pipeline.experts.policy import Policy
from shopwright.pipeline.experts.recognize import SOLD_OUT
from shopwright.pipeline.reading.wishes import Wish

LONGEST_QUERY = 200
"""Letters of a search."""
TRIED = 12
"""Pages of products that are read, at most, before it is said that there is none."""


class ProductExpert(Policy):
    """Looks for products of a category that do all that is wished."""

    def learn_wishes(self, said: list[Said], category: str, *, keep: int) -> Acts:
        """The wishes with those that only come when they are asked for."""
        wishes = pick_product_wishes(said)

        def read(answer: str) -> bool:
            heard = self.read(answer, [category], titles=True)  # a title that is told again is no wish
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
        thought = f"{fitting[0].title} does all that was asked for."
        return {"thought": thought, "recommended_product_ids": fitting[0].id}


class Substitution(ProductExpert):
    def play(self) -> Acts:
        answer = yield from self.solve(self.opening)
        yield from self.finish(answer)

    def solve(self, text: str) -> Acts:
        loose = self.read(text)
        things = [each.wish.value for each in loose if each.wish.kind == "thing"]
        shown, _ = yield from self.search(self.name_sold_out(text), [], "I look for what is said to be sold out.")
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
        thought = f"{fitting[0].title} is in stock and does what is needed."
        return {"thought": thought, "recommended_product_ids": fitting[0].id}

    def name_sold_out(self, text: str) -> str:
        """The words by which a text names what is sold out: from the brand before the thing, if one is read, to what says that it is gone."""
        plain = " ".join(text.split())
        said = self.read(plain)
        things = [each for each in said if each.wish.kind == "thing"]
        if not things:
            return plain[:LONGEST_QUERY]
        brands = [each.start for each in said if "brand" in each.wish.facts and each.start < things[0].start]
        begin = brands[-1] if brands else max(0, plain.rfind(". ", 0, things[0].start) + 1)
        gone = SOLD_OUT.search(plain.lower(), things[0].end)
        end = gone.start() if gone else len(plain)
        return plain[begin : min(end, begin + LONGEST_QUERY)].strip()
