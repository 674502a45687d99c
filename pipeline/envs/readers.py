"""Players that read: cheap agents that see what an agent sees, and know of words what the training split says of them.

Each asks, rates what the shop shows against what it heard, and takes the best. They differ by how they rate: by words in common, by patterns
beside numbers, by whole phrases, by a trained classifier, or not at all. None understands a sentence, so none may earn anything (`evaluate.py`).
"""

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any

from shopwright.pipeline.envs.baselines import count_journey_parts
from shopwright.pipeline.envs.episode import Episode, Player
from shopwright.pipeline.envs.learnt_words import LearntWords, Meant, learn_words
from shopwright.pipeline.words import content_words
from shopwright.schemas.tasks import Action, Answer, Call

Play = Generator[Action, dict[str, Any], Any]
EVERYTHING = (
    "Please tell me everything: which brand, color, size, material, price, budget, rating, shipping, quantity, variant, order number,"
    " order date, order total, item bought, price paid, replacement, condition, membership, reason and device?"
)
MORE = (
    *(
        "Is there anything else?",
        "Do you have any other wish?",
        "Is there any further detail?",
        "Any other requirement?",
    ),
    *("Do you have any other preference?", "Is there any additional detail?", "Is there any other information?"),
    *("Is there something else that is important?", "Any further wish?", "Is there any other constraint?"),
)
BY_NAME = tuple(
    f"What about the {one}? What about the {other}?"
    for one, other in (
        *(
            ("price", "brand"),
            ("order date", "order total"),
            ("item", "color"),
            ("size", "material"),
            ("rating", "shipping"),
        ),
        *(("quantity", "replacement"), ("variant", "style"), ("condition", "budget")),
    )
)
"""As many topics a turn as a shopper takes up."""
DAYS = {"today": (0, 0), "yesterday": (1, 1), "week": (1, 13), "month": (14, 61)}
SPAN = re.compile(r"\b(today|yesterday)\b|\blast (week|month)\b")
# Turns that a player keeps for acting once it has asked.
KEPT = 5
PAGES_READ = 6


@dataclass(frozen=True)
class Candidate:
    """Something that the shop shows and that may be meant."""

    id: tuple[str, ...]
    """An order; an order and a line; a product."""
    text: str
    shown: Mapping[str, Any]
    place: int = 0
    """In its list."""
    placed: str = ""
    """The day of an order."""
    things: int = 0
    """Different products of an order."""


@dataclass
class Heard:
    """What was said so far, and what day it is."""

    texts: list[str]
    learnt: LearntWords
    env: str
    today: str = ""
    doubts: bool = False
    """Believes answers alone, where there are some."""

    @property
    def text(self) -> str:
        return " ".join(self.texts[1:] if self.doubts and len(self.texts) > 1 else self.texts)


def fits(meant: Meant, it: Candidate, heard: Heard) -> float:
    """1 where something that was read holds of a candidate, -1 where it does not, 0 where it cannot be said."""
    kind, value, shown = meant.meaning, meant.value, it.shown
    if " when" in kind or kind in ("order date", "line date"):
        return fits_day(kind, value, it, heard)
    number = read_number(value)
    if kind == "order number":
        return sign(value == it.id[0])
    if kind == "order total":
        return sign(number is not None and abs(number - float(shown["total"])) < 0.01) if "total" in shown else 0.0
    if kind.endswith(" products"):
        return sign(number == it.things) if it.things else 0.0
    if kind in ("line price", "visited price"):
        return sign(number is not None and abs(number - float(shown.get("price", -1))) < 0.01)
    if kind in ("price at most", "price under") and number is not None and "price" in shown:
        return sign(float(shown["price"]) <= number)
    if kind == "rating at least" and number is not None and shown.get("rating"):
        return sign(float(shown["rating"]) >= number)
    if kind == "shipping at most" and number is not None and shown.get("shipping_days") is not None:
        return sign(int(shown["shipping_days"]) <= number)
    if kind in ("thing", "order category", "line category"):
        return sign(is_of_category(value, it, heard))
    if kind.startswith("value") or kind.endswith(" brand"):
        return 1.0 if value and value.lower() in it.text else -0.5
    return 0.0


def sign(right: bool) -> float:
    return 1.0 if right else -1.0


def read_number(value: str) -> float | None:
    found = re.search(r"\d+(?:\.\d+)?", value.replace(",", ""))
    return float(found[0]) if found else None


def fits_day(kind: str, value: str, it: Candidate, heard: Heard) -> float:
    if not (it.placed and heard.today):
        return 0.0
    days = (date.fromisoformat(heard.today) - date.fromisoformat(it.placed)).days
    span, number = kind.rpartition(" ")[2], read_number(value)
    if span in DAYS:
        low, high = DAYS[span]
        return sign(low <= days <= high)
    if number is None:
        return 0.0
    if span == "weeks":
        return sign(abs(days - 7 * number) <= 3)
    if span == "days":
        return sign(abs(days - number) <= 0.5)
    return sign(date.fromisoformat(it.placed).day == number)


def is_of_category(category: str, it: Candidate, heard: Heard) -> bool:
    if "category" in it.shown:
        return bool(it.shown["category"] == category)
    nouns = [noun for noun, meant in heard.learnt.things.items() if meant == category]
    return any(noun.split()[-1] in it.text for noun in nouns)


# Rating


Rate = Callable[[Heard], Callable[[Candidate], float]]
"""Reads what was said, once, and then rates candidates by it."""


def rate_words(heard: Heard) -> Callable[[Candidate], float]:
    """Words in common."""
    told = set(content_words(heard.text))
    return lambda it: float(len(told & set(content_words(it.text))))


def read_patterns(heard: Heard) -> list[Meant]:
    """Numbers by the words beside them, values, nouns, and some ways to name a day."""
    text = heard.text
    found = [*heard.learnt.numbers[heard.env].read(text), *heard.learnt.read_values(text)]
    found += [Meant("thing", category) for _, category in heard.learnt.read_things(text)]
    for span in SPAN.finditer(text.lower()):
        found.append(Meant(f"order when {span[1] or span[2]}", ""))
    return list(dict.fromkeys(found))


def rate_by(read: Callable[[Heard], list[Meant]]) -> Rate:
    def rate(heard: Heard) -> Callable[[Candidate], float]:
        found, by_words = read(heard), rate_words(heard)
        return lambda it: sum(fits(meant, it, heard) for meant in found) + by_words(it) / 100

    return rate


def read_book(heard: Heard) -> list[Meant]:
    return heard.learnt.read_phrases(heard.text)


def read_all(heard: Heard) -> list[Meant]:
    return list(dict.fromkeys([*read_patterns(heard), *read_book(heard)]))


rate_patterns, rate_book = rate_by(read_patterns), rate_by(read_book)


def rate_nothing(heard: Heard) -> Callable[[Candidate], float]:
    return lambda it: Random(f"{heard.texts[0]}/{it.id}").random()


def rate_ids(heard: Heard) -> Callable[[Candidate], float]:
    """The higher an id, the better: what was made last."""
    return lambda it: int(re.sub(r"[^0-9a-z]", "", "".join(it.id).lower()) or "0", 36)


# Playing


@dataclass(frozen=True)
class Reader:
    """What a player asks, and how it rates and refuses."""

    rate: Rate
    questions: Sequence[str] = (EVERYTHING, *MORE)
    """What it asks, turn by turn."""
    doubts: bool = False
    """Believes answers alone."""
    refuses: Callable[[Heard], bool] = lambda heard: False
    many: bool = False
    """Recommends as many products as it may."""


@dataclass
class Seat:
    """A reader in an episode."""

    episode: Episode
    how: Reader
    heard: Heard
    asked: int = 0
    left: int = 0
    results: list[Any] = field(default_factory=list)

    def turn(self, calls: Sequence[tuple[str, dict[str, Any]]] = ()) -> Play:
        """One turn: calls, and beside them the next question."""
        question = next(iter(self.how.questions[self.asked :]), "")
        self.asked += 1
        seen = yield Action(assistant_message=question, tool_calls=[Call(name=name, args=args) for name, args in calls])
        self.left = seen["turns_left"]
        if seen["user"]:
            self.heard.texts.append(seen["user"])
        return seen["results"]

    def call(self, *calls: tuple[str, dict[str, Any]]) -> Play:
        """Calls in as many turns as they need, while one is left for the answer."""
        most, found = self.episode.axes.tool_calls, []
        for begin in range(0, len(calls), most):
            if self.left <= 1:
                break
            found += yield from self.turn(calls[begin : begin + most])
        return found

    def ask(self, keep: int) -> Play:
        while self.left > keep and self.asked < len(self.how.questions):
            yield from self.turn()

    def best(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        rate = self.how.rate(self.heard)
        return sorted(candidates, key=lambda each: (-rate(each), each.place))


def play_reader(how: Reader) -> Player:
    def play(episode: Episode) -> Generator[Action, dict[str, Any], None]:
        learnt, env = learn_words(episode.world), episode.task.env
        seat = Seat(episode, how, Heard([episode.task.opening], learnt, env, doubts=how.doubts), left=episode.most)
        answer = Answer()
        if not (how.refuses(seat.heard) and env in learnt.refusals):
            answer = yield from PLAYS.get(env, ask_and_give_up)(seat)
        else:
            counts = learnt.refusals[env].totals
            answer = Answer(refusal=max((each for each in counts if each), key=lambda each: counts[each], default=""))
        answer = answer.model_copy(update={"env": env})
        if env == "journey":
            answer = Answer(env=env, parts=[answer] * count_journey_parts(episode.axes))
        yield Action(answer=answer)

    return play


# By situation


def list_orders(seat: Seat) -> Play:
    results = yield from seat.call(("order_list", {}), ("datetime_now", {}))
    orders: list[dict[str, Any]] = next((each["orders"] for each in results if "orders" in each), [])
    seat.heard.today = next((each["now"][:10] for each in results if "now" in each), "")
    return orders


def track(seat: Seat) -> Play:
    orders = yield from list_orders(seat)
    yield from seat.ask(KEPT - 3)
    candidates: list[Candidate] = []
    for place, each in enumerate(orders):
        text = " ".join([each["order_id"], each["placed"], *(line["title"] for line in each["lines"])]).lower()
        things = len({line["product_id"] for line in each["lines"]})
        candidates.append(Candidate((each["order_id"],), text, each, place, each["placed"], things))
    found = seat.best(candidates)
    if not found:
        return Answer(refusal="not_found")
    id = found[0].id[0]
    told = yield from seat.call(("order_get_status", {"order_id": id}))
    told = told[0] if told else {}
    arrival = told.get("delivered", told.get("expected", ""))
    return Answer(selected_order_id=id, order_status=found[0].shown["status"], arrival_date=arrival)


def send_back(seat: Seat) -> Play:
    orders = yield from list_orders(seat)
    yield from seat.ask(KEPT - 1)
    candidates: list[Candidate] = []
    for each in orders:
        for line in each["lines"]:
            place = len(candidates)
            things = len({other["product_id"] for other in each["lines"]})
            text = " ".join([each["order_id"], each["placed"], line["title"]]).lower()
            candidates.append(Candidate((each["order_id"], line["line_id"]), text, line, place, each["placed"], things))
    found = seat.best(candidates)
    if not found:
        return Answer()
    order, line = found[0].id
    where = {"order_id": order, "line_id": line}
    wants = seat.heard.learnt.wants.name(seat.heard.text)
    if wants == "wants variant":
        results = yield from seat.call(("catalog_get_variants", {"product_id": found[0].shown["product_id"]}))
        offers = results[0].get("variants", []) if results else []
        had = found[0].shown["variant_id"]
        offers = [offer for offer in offers if offer["stock"] and offer["variant_id"] != had]
        picked = pick_variant(seat, offers)
        calls = ("return_exchange", {**where, "variant_id": picked}) if picked else ("return_initiate", where)
        results = yield from seat.call(calls)
    else:
        results = yield from seat.call(("return_initiate", where))
    if results and "error" in results[0] and "cannot be returned" in results[0]["error"]:
        return Answer(selected_order_id=order, selected_line_id=line, refusal="not_eligible")
    ids = []
    if wants == "wants product":
        ids = (yield from find_products(seat, but=found[0].shown["product_id"]))[:1]
    return Answer(selected_order_id=order, selected_line_id=line, recommended_product_ids=ids)


def pick_variant(seat: Seat, offers: Sequence[Mapping[str, Any]], text: str = "") -> str:
    said = (text or seat.heard.text).lower()
    told = set(content_words(said))

    def rate(offer: Mapping[str, Any]) -> float:
        values = [str(value).lower() for name, value in offer.items() if name not in ("variant_id", "price", "stock")]
        return sum((value in said) + len(told & set(content_words(value))) / 10 for value in values)

    return max(offers, key=rate)["variant_id"] if offers else ""


def answer_policy(seat: Seat) -> Play:
    results = yield from seat.call(("policy_search", {"query": seat.heard.texts[0][:400]}))
    yield from seat.ask(1)
    rules = results[0]["policies"] if results else []
    rated = seat.best(
        Candidate((rule["policy_id"],), f"{rule['title']} {rule['text']}".lower(), rule, place)
        for place, rule in enumerate(rules)
    )
    if not rated:
        return Answer(refusal="not_covered")
    guess = seat.heard.learnt.answers.name(seat.heard.texts[0])
    numbers = re.findall(r"\d+(?:\.\d+)?", rated[0].shown["text"])
    return Answer(policy_answer=numbers[0] if guess[:1].isdigit() and numbers else guess)


def limits_of(seat: Seat, text: str = "") -> dict[str, Any]:
    """For a search the limits of the price that were read, if there are some: one from above, or both ends of a span."""
    heard = seat.heard
    found = heard.learnt.numbers[heard.env].read(text or heard.text)
    limits = [read_number(each.value) or 0 for each in found if each.meaning in ("price at most", "price under")]
    span = sorted(read_number(each.value) or 0 for each in found if each.meaning == "price between")
    if limits and limits[0]:
        return {"max_price": limits[0]}
    return {"min_price": span[0], "max_price": span[-1]} if len(span) > 1 else {}


def to_candidates(results: Iterable[Mapping[str, Any]]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for each in results:
        facts = each.get("attributes", {})
        text = " ".join(map(str, [each["title"], each.get("brand"), each.get("color"), *facts.values()])).lower()
        id = each["product_id"]
        found[id] = Candidate((id,), text, each, found[id].place if id in found else len(found))
    return list(found.values())


def find_products(seat: Seat, but: str = "") -> Play:
    """Products of the kind that was named, the best first; the pages of some are read where turns are left."""
    heard = seat.heard
    things = heard.learnt.read_things(heard.text)
    values = [meant.value for meant in heard.learnt.read_values(heard.text)]
    args: dict[str, Any] = {"query": " ".join([*values, *(noun for noun, _ in things[-1:])])[:400] or heard.text[:400]}
    if things:
        args["category"] = things[-1][1]
    args |= limits_of(seat)
    results = yield from seat.call(("catalog_search", args))
    shown = [each for each in (results[0]["results"] if results else []) if each["in_stock"]]
    best = seat.best(to_candidates(shown))[:PAGES_READ]
    pages = yield from seat.call(*(("catalog_get_product", {"product_id": each.id[0]}) for each in best))
    pages = [each for each in pages if "title" in each]
    ranked = seat.best(to_candidates([*(each.shown for each in best), *pages]))
    return [each.id[0] for each in ranked if each.id[0] != but]


def discover(seat: Seat) -> Play:
    yield from seat.ask(KEPT - 2)
    ids = yield from find_products(seat)
    if not ids:
        return Answer(refusal="not_found")
    most = seat.episode.axes.recommendations if seat.how.many else 1
    return Answer(recommended_product_ids=ids[:most])


def replace_product(seat: Seat) -> Play:
    heard = seat.heard
    results = yield from seat.call(("catalog_search", {"query": heard.texts[0][:400]}))
    yield from seat.ask(KEPT - 2)
    found = to_candidates(results[0]["results"] if results else [])
    original = max(found, key=rate_words(Heard(heard.texts[:1], heard.learnt, heard.env)), default=None)
    if original is None:
        return Answer(refusal="not_found")
    args: dict[str, Any] = {"query": original.shown["title"], "category": original.shown["category"]}
    args |= limits_of(seat)
    results = yield from seat.call(("catalog_search", args))
    shown = [each for each in (results[0]["results"] if results else []) if each["in_stock"]]
    best = [each for each in seat.best(to_candidates(shown)) if each.id != original.id][:PAGES_READ]
    pages = yield from seat.call(*(("catalog_get_product", {"product_id": each.id[0]}) for each in best))
    ranked = seat.best(to_candidates([*(each.shown for each in best), *(each for each in pages if "title" in each)]))
    ids = [each.id[0] for each in ranked if each.id != original.id]
    most = seat.episode.axes.recommendations if seat.how.many else 1
    return Answer(recommended_product_ids=ids[:most]) if ids else Answer(refusal="not_found")


def fill_cart(seat: Seat) -> Play:
    heard = seat.heard
    results = yield from seat.call(
        ("user_get_visit_history", {}),
        ("user_get_visit_history", {"page": 2}),
        ("catalog_search", {"query": heard.texts[0][:400]}),
    )
    visits = to_candidates(each for found in results for each in found.get("visits", []))
    titled = to_candidates(each for found in results for each in found.get("results", []))
    picked: dict[str, str] = {}
    for _, category, window in list_windows(heard):
        near = Heard([window], heard.learnt, heard.env, heard.today)
        fitting = [each for each in visits if each.shown["category"] == category] or visits
        if fitting:
            picked.setdefault(max(fitting, key=seat.how.rate(near)).id[0], window)
    said = " ".join(heard.texts[0].lower().split())
    for each in [*titled, *visits]:
        if " ".join(each.shown["title"].lower().split()) in said:
            picked.setdefault(each.id[0], said)
    yield from seat.ask(2 + -(-2 * len(picked) // seat.episode.axes.tool_calls))
    offers = yield from seat.call(*(("catalog_get_variants", {"product_id": id}) for id in picked))
    calls = []
    for found in offers:
        stocked = [offer for offer in found.get("variants", []) if offer["stock"]]
        if stocked:
            window = picked[found["product_id"]] + " " + " ".join(heard.texts[1:])
            pieces = [m for m in heard.learnt.numbers[heard.env].read(window) if m.meaning == "pieces"]
            count = int(read_number(pieces[0].value) or 1) if pieces else 1
            calls.append(
                (
                    "cart_add",
                    {
                        "product_id": found["product_id"],
                        "variant_id": pick_variant(seat, stocked, window),
                        "quantity": max(1, min(count, 9)),
                    },
                )
            )
    yield from seat.call(*calls)
    return Answer() if calls else Answer(refusal="sold_out")


def list_windows(heard: Heard) -> list[tuple[str, str, str]]:
    """Each noun with its category, and the words from it to the next one."""
    text = heard.texts[0].lower()
    things = heard.learnt.read_things(text)
    places = [text.find(noun) for noun, _ in things] + [len(text)]
    return [
        (noun, category, text[max(0, places[at] - 20) : places[at + 1]])
        for at, (noun, category) in enumerate(things)
        if places[at] >= 0
    ]


def find_seller(shelves: Sequence[Sequence[Candidate]]) -> str | None:
    """The seller of most shelves; of equals the one that is shown first."""
    sellers = Counter[str | None]()
    for shelf in shelves:
        sellers.update(list(dict.fromkeys(each.shown.get("seller") for each in shelf)))
    return sellers.most_common(1)[0][0] if sellers else None


def list_things(seat: Seat) -> Play:
    """One product of each category that is named: the cheapest that fits, or of the seller that has most of them."""
    heard = seat.heard
    categories = list(dict.fromkeys(category for _, category in heard.learnt.read_things(heard.texts[0])))
    yield from seat.ask(2 + -(-len(categories) // seat.episode.axes.tool_calls))
    about: dict[str, str] = dict.fromkeys(categories, "")
    for text in heard.texts:
        for _, category, window in list_windows(Heard([text], heard.learnt, heard.env)):
            about[category] = f"{about.get(category, '')} {window}"
    calls = []
    for category in categories:
        values = [meant.value for meant in heard.learnt.read_values(about[category])]
        args: dict[str, Any] = {"query": " ".join(values) or category.lower(), "category": category}
        calls.append(("catalog_search", {**args, **limits_of(seat, about[category] or " ")}))
    results = yield from seat.call(*calls)
    shelves = [
        [each for each in to_candidates(found.get("results", [])) if each.shown["in_stock"]] for found in results
    ]
    one = find_seller(shelves) if heard.env == "one_seller" else None
    ids = []
    for category, shelf in zip(categories, shelves, strict=False):
        near = Heard([about[category]], heard.learnt, heard.env)
        own = [each for each in shelf if each.shown.get("seller") == one] or shelf
        if own:
            rate = seat.how.rate(near)
            ids.append(min(own, key=lambda each: (-round(rate(each)), each.shown["price"])).id[0])
    return Answer(recommended_product_ids=list(dict.fromkeys(ids))) if ids else Answer(refusal="not_found")


def play_parts(seat: Seat) -> Play:
    """One answer that serves whatever the parts ask."""
    order = yield from send_back(seat)
    policy = yield from answer_policy(seat)
    ids = yield from find_products(seat)
    told = {"policy_answer": policy.policy_answer, "recommended_product_ids": ids[:1]}
    return order.model_copy(update=told)


def ask_and_give_up(seat: Seat) -> Play:
    """In an environment that somebody has added, of which no reader knows what is to be done."""
    yield from seat.ask(1)
    return Answer()


PLAYS: dict[str, Callable[[Seat], Play]] = {
    "bundle_planning": list_things,
    "cart_building": fill_cart,
    "journey": play_parts,
    "one_seller": list_things,
    "order_tracking": track,
    "policy_qa": answer_policy,
    "product_discovery": discover,
    "return_replacement": send_back,
    "substitution": replace_product,
    "voucher": list_things,
}


def is_refused_by_words(heard: Heard) -> bool:
    """By the words of the opening, more likely than not."""
    return heard.learnt.feasible[heard.env].rate(heard.texts[0]) > 0


READERS: dict[str, Player] = {
    "pattern-bot": play_reader(Reader(rate_patterns)),
    "asks-everything": play_reader(Reader(rate_words)),
    "asks-twice": play_reader(Reader(rate_by(read_all), questions=BY_NAME, doubts=True)),
    "lexical": play_reader(Reader(rate_words, questions=())),
    "phrase-book": play_reader(Reader(rate_book)),
    "lists-and-guesses": play_reader(Reader(rate_nothing, questions=(), many=True)),
    "last-id": play_reader(Reader(rate_ids, questions=())),
    "classifier": play_reader(Reader(rate_by(read_all), refuses=is_refused_by_words)),
    "refuses-by-cues": play_reader(Reader(rate_words, questions=(), refuses=is_refused_by_words)),
}
"""By the name that a table has them under."""
