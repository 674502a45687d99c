"""What an agent can do in the shop, and what is so for one episode only: clock, cart, what is sold out, returns.

A tool is a method of `Shop`; its signature becomes its JSON schema and its docstring is the agent's manual. It returns what JSON can
hold and never raises: what cannot be done comes back as `{"error": ...}`. A call that no tool takes (no such name, wrong arguments) is
illegal, which the episode is told by `IllegalCall`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from random import Random
from typing import Any, Protocol, get_type_hints
from zlib import crc32

import numpy as np

from shopwright.pipeline.shop.policies import USUAL, ShopPolicies, load_policies
from shopwright.pipeline.shop.store import Customer, Option, Store, seconds_to_shop_time
from shopwright.schemas.shop import Line, Order, Voucher

# Results on a page.
PAGE = 10
# Of one variant in a cart.
MOST_PIECES = 100
# Different things of the seller of a voucher that an order needs, where the voucher is for one seller.
SELLER_THINGS = 2
KINDS: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class IllegalCall(Exception):
    """A call that no tool takes."""


class Finder(Protocol):
    """Finds products by words and filters (`shopwright.pipeline.catalog.search`)."""

    def find(
        self,
        text: str,
        *,
        limit: int,
        category: str = "",
        brand: str = "",
        least: int | None = None,
        most: int | None = None,
        rating: float | None = None,
        days: int | None = None,
        seller: str = "",
    ) -> np.ndarray:
        """Rows of the store, the best first; prices in cents."""

    def rank(self, text: str, rows: np.ndarray) -> np.ndarray:
        """These rows, the best first."""

    def correct(self, text: str) -> str:
        """The text with words that no product has as what was meant."""


@dataclass
class Shop:
    """The shop as one agent meets it: cheap to make, nothing of the catalog is copied."""

    store: Store
    finder: Finder
    customer: Customer
    now: datetime
    depth: int = 200
    """Results of a search that can be paged to."""
    distractors: float = 0.0
    """Share of them that does not fit."""
    orders_shown: int = 100
    seed: str = ""
    policies: ShopPolicies = field(default_factory=lambda: load_policies(USUAL))
    """By which returns go, and which a search finds."""
    ask: Callable[[str], str] | None = None
    """Who answers `ask_user`."""
    gone: set[str] = field(default_factory=set)
    """Variants that were sold out since, beside those of the store."""
    cart: dict[str, int] = field(default_factory=dict)
    """Pieces by variant."""
    bought: dict[str, int] = field(default_factory=dict)
    """What was in the cart when it was checked out."""
    returns: list[dict[str, Any]] = field(default_factory=list)
    vouchers: tuple[Voucher, ...] = ()
    """That the customer holds."""
    seen: set[str] = field(default_factory=set)
    """Products that some tool has returned."""
    carted: set[str] = field(default_factory=set)
    """Products that were ever put into the cart."""

    # Search and products

    def catalog_search(
        self,
        query: str,
        category: str = "",
        brand: str = "",
        min_price: float = 0.0,
        max_price: float = 0.0,
        min_rating: float = 0.0,
        max_shipping_days: int = 0,
        seller: str = "",
        page: int = 1,
    ):
        """Search the catalog; filters are applied before ranking.

        Args:
            query: Words to look for; may be empty when a filter is given.
            category: Exact name of a category, as products show it.
            brand: Exact name of a brand.
            min_price: Lowest price in dollars; 0 for none.
            max_price: Highest price in dollars; 0 for none.
            min_rating: Lowest mean rating, 1 to 5; 0 for none.
            max_shipping_days: Longest shipping time in days; 0 for none.
            seller: Exact name of a seller of the marketplace, as products show it.
            page: Page of ten results, from 1.
        """
        if page < 1 or min(min_price, max_price, min_rating, max_shipping_days) < 0:
            return {"error": "Pages count from 1, and no filter is below 0."}
        text = self.finder.correct(query[:400])
        rows = self.finder.find(
            text,
            limit=self.depth,
            category=category,
            brand=brand,
            least=round(min_price * 100) or None,
            most=round(max_price * 100) or None,
            rating=min_rating or None,
            days=max_shipping_days or None,
            seller=seller,
        )
        begin = (page - 1) * PAGE
        shown = self.add_distractors(rows[begin : begin + PAGE], rows, page)
        corrected = {"searched_for": text} if text != query[:400] else {}
        return {**corrected, "results": [self.brief(row) for row in shown], "page": page, "found": len(rows)}

    def add_distractors(self, shown: np.ndarray, rows: np.ndarray, page: int) -> list[int]:
        """The results with a share of them replaced by neighbours from elsewhere, the same for the same search."""
        found: list[int] = shown.tolist()
        if not self.distractors or not found:
            return found
        dice = Random(crc32(f"{self.seed}/{page}/{found[0]}/{len(rows)}".encode()))
        leaf = int(self.store.leaf_of[found[0]])
        near = (leaf + 1 + dice.randrange(3)) % len(self.store.leaves)
        others = self.store.rows_of(near)
        for place in range(len(found)):
            if dice.random() < self.distractors and len(others):
                other = int(others[dice.randrange(len(others))])
                if other not in found and not (rows == other).any():
                    found.insert(place, other)
        return found[:PAGE]

    def brief(self, row: int) -> dict[str, Any]:
        """A product as lists show it."""
        found = self.store.brief(row)
        self.seen.add(found["product_id"])
        return {**found, "in_stock": self.is_in_stock(row)}

    def catalog_rerank(self, query: str, product_ids: str):
        """Order products by how well they fit a query, the best first.

        Args:
            query: What they should fit.
            product_ids: Up to 50 product ids, separated by commas.
        """
        ids = [id.strip() for id in product_ids.split(",") if id.strip()]
        rows = {id: self.store.row(id) for id in ids[:50]}
        if unknown := [id for id, row in rows.items() if row is None]:
            return {"error": f"There is no product {unknown[0]}."}
        order = self.finder.rank(query[:400], np.array(list(rows.values()), np.int64)) if rows else ()
        return {"product_ids": [self.store.ids[int(row)].as_py() for row in order]}

    def catalog_get_product(self, product_id: str):
        """All that the shop knows of a product.

        Args:
            product_id: As a search returned it.
        """
        row = self.store.row(product_id)
        if row is None:
            return {"error": f"There is no product {product_id}."}
        item = self.store.item(row)
        facts = {each.name.replace("_", " "): each.value for each in item.attributes}
        more = {"color": item.color, "reviews": item.review_count, "attributes": facts, "description": item.description}
        return {**self.brief(row), **more}

    def catalog_get_variants(self, product_id: str):
        """The variants of a product, each with its options, price and stock.

        Args:
            product_id: As a search returned it.
        """
        row = self.store.row(product_id)
        if row is None:
            return {"error": f"There is no product {product_id}."}
        self.seen.add(product_id)
        return {"product_id": product_id, "variants": [self.offer(option) for option in self.store.options(row)]}

    def offer(self, option: Option) -> dict[str, Any]:
        choices = {choice.name: choice.value for choice in option.choices}
        return {"variant_id": option.id, **choices, "price": option.cents / 100, "stock": self.stock(option)}

    def stock(self, option: Option) -> int:
        return 0 if option.id in self.gone else option.stock

    def is_in_stock(self, row: int) -> bool:
        if not self.store.in_stock[row]:
            return False
        return not self.gone or any(self.stock(option) for option in self.store.options(row))

    # The cart

    def cart_add(self, product_id: str, variant_id: str, quantity: int = 1):
        """Put pieces of a variant into the cart.

        Args:
            product_id: The product.
            variant_id: One of its variants.
            quantity: How many pieces, from 1 to 100.
        """
        option = self.store.option_of(variant_id)
        if option is None or option.product_id != product_id:
            return {"error": f"Product {product_id} has no variant {variant_id}."}
        return self.put(option, self.cart.get(variant_id, 0) + quantity, quantity)

    def cart_set_quantity(self, variant_id: str, quantity: int):
        """Set how many pieces of a variant are in the cart.

        Args:
            variant_id: A variant in the cart.
            quantity: How many pieces, from 1 to 100.
        """
        option = self.store.option_of(variant_id)
        if option is None or variant_id not in self.cart:
            return {"error": f"There is no {variant_id} in the cart."}
        return self.put(option, quantity, quantity)

    def put(self, option: Option, pieces: int, asked: int) -> dict[str, Any]:
        if asked < 1 or pieces > MOST_PIECES:
            return {"error": f"A quantity is from 1 to {MOST_PIECES}."}
        if pieces > self.stock(option):
            return {"error": f"Only {self.stock(option)} of {option.id} are in stock."}
        self.cart[option.id] = pieces
        self.carted.add(option.product_id)
        return self.cart_view()

    def cart_remove(self, variant_id: str):
        """Take a variant out of the cart.

        Args:
            variant_id: A variant in the cart.
        """
        if self.cart.pop(variant_id, None) is None:
            return {"error": f"There is no {variant_id} in the cart."}
        return self.cart_view()

    def cart_view(self):
        """What is in the cart."""
        options = [(self.store.option_of(id), pieces) for id, pieces in self.cart.items()]
        lines = [(option, pieces) for option, pieces in options if option is not None]
        shown = [
            {
                "product_id": option.product_id,
                "variant_id": option.id,
                "options": option.label,
                "quantity": pieces,
                "price": option.cents / 100,
            }
            for option, pieces in lines
        ]
        return {"lines": shown, "total": sum(option.cents * pieces for option, pieces in lines) / 100}

    def order_checkout(self):
        """Buy what is in the cart."""
        if not self.cart:
            return {"error": "The cart is empty."}
        for id, pieces in self.cart.items():
            self.bought[id] = self.bought.get(id, 0) + pieces
        total = self.cart_view()["total"]
        self.cart = {}
        return {"bought": True, "total": total}

    # Orders and returns

    def visible(self) -> tuple[Order, ...]:
        """The customer's latest orders, as far as they are shown, the newest first."""
        placed = [order for order in self.customer.orders if order.placed <= self.now]
        return tuple(reversed(placed[-self.orders_shown :]))

    def order_of(self, order_id: str) -> Order | None:
        return next((order for order in self.visible() if order.id == order_id), None)

    def status(self, order: Order) -> str:
        """Where an order is at the shop's time: processing, cancelled, shipped, delivered."""
        return status_at(order, self.now)

    def order_list(self):
        """The customer's orders, the newest first."""
        shown = []
        for order in self.visible():
            lines = [self.line(line) for line in order.lines]
            shown.append(
                {
                    "order_id": order.id,
                    "placed": f"{order.placed:%Y-%m-%d}",
                    "status": self.status(order),
                    "total": float(order.total),
                    "lines": lines,
                }
            )
        return {"orders": shown}

    def line(self, line: Line) -> dict[str, Any]:
        self.seen.add(line.product_id)
        return {
            "line_id": line.line_id,
            "product_id": line.product_id,
            "variant_id": line.variant_id,
            "title": line.title,
            "quantity": line.quantity,
            "price": float(line.price),
        }

    def order_get_status(self, order_id: str):
        """Where an order is, with its dates.

        Args:
            order_id: One of the customer's orders.
        """
        order = self.order_of(order_id)
        if order is None:
            return {"error": f"The customer has no order {order_id}."}
        found: dict[str, Any] = {
            "order_id": order.id,
            "status": self.status(order),
            "placed": f"{order.placed:%Y-%m-%d}",
        }
        for name in ("shipped", "delivered", "cancelled"):
            when = getattr(order, name)
            if when is not None and when <= self.now:
                found[name] = f"{when:%Y-%m-%d}"
        if found["status"] in ("processing", "shipped") and order.delivered is not None:
            found["expected"] = f"{order.delivered:%Y-%m-%d}"
        return found

    def return_check_eligibility(self, order_id: str, line_id: str):
        """Whether a line of an order can be returned now, and by which rule.

        Args:
            order_id: One of the customer's orders.
            line_id: One of its lines.
        """
        found = self.order_line(order_id, line_id)
        return found if isinstance(found, dict) else self.verdict(*found)

    def verdict(self, order: Order, line: Line) -> dict[str, Any]:
        row = self.store.row(line.product_id)
        item = self.store.item(row) if row is not None else None
        return self.policies.return_verdict(order, line, item, self.customer, self.now)

    def order_line(self, order_id: str, line_id: str) -> tuple[Order, Line] | dict[str, Any]:
        order = self.order_of(order_id)
        line = next((line for line in order.lines if line.line_id == line_id), None) if order else None
        if order is None or line is None:
            return {"error": f"The customer has no line {line_id} in an order {order_id}."}
        return order, line

    def return_initiate(self, order_id: str, line_id: str, reason: str = ""):
        """Start the return of a line.

        Args:
            order_id: One of the customer's orders.
            line_id: One of its lines.
            reason: Why, in a few words.
        """
        return self.give_back(order_id, line_id, "")

    def return_exchange(self, order_id: str, line_id: str, variant_id: str):
        """Start the return of a line in exchange for a variant.

        Args:
            order_id: One of the customer's orders.
            line_id: One of its lines.
            variant_id: What the customer gets instead; it must be in stock.
        """
        option = self.store.option_of(variant_id)
        if option is None or not self.stock(option):
            return {"error": f"{variant_id} is not to be had."}
        return self.give_back(order_id, line_id, variant_id)

    def give_back(self, order_id: str, line_id: str, instead: str) -> dict[str, Any]:
        found = self.order_line(order_id, line_id)
        if isinstance(found, dict):
            return found
        if any(each["line_id"] == line_id for each in self.returns):
            return {"error": f"The return of {line_id} has been started already."}
        verdict = self.verdict(*found)
        if not verdict["eligible"]:
            return {"error": f"{line_id} cannot be returned: {verdict['reason']}."}
        self.returns.append({"order_id": order_id, "line_id": line_id, "instead": instead})
        return {"started": True, "order_id": order_id, "line_id": line_id, **({"instead": instead} if instead else {})}

    # Policies, time, the customer

    def policy_search(self, query: str):
        """The shop's policies that fit a question, the best first.

        Args:
            query: The question, or a few words of it.
        """
        found = self.policies.search(query[:400])
        return {"policies": [{"policy_id": rule.id, "title": rule.title, "text": rule.text} for rule in found]}

    def datetime_now(self):
        """The shop's date and time."""
        return {"now": f"{self.now:%Y-%m-%d %H:%M}", "weekday": f"{self.now:%A}"}

    def user_get_visit_history(self, page: int = 1):
        """The products that the customer looked at, the latest first.

        Args:
            page: Page of ten visits, from 1.
        """
        if page < 1:
            return {"error": "Pages count from 1."}
        upto = int(
            np.searchsorted(
                self.customer.visited_at, (self.now - seconds_to_shop_time(0)).total_seconds(), side="right"
            )
        )
        last = upto - (page - 1) * PAGE
        shown = []
        for place in range(last - 1, max(-1, last - 1 - PAGE), -1):
            when = seconds_to_shop_time(float(self.customer.visited_at[place]))
            visited = when.isoformat(" ", "minutes")
            shown.append({"visited": visited, **self.brief(int(self.customer.visited[place]))})
        return {"visits": shown, "page": page, "found": upto}

    def voucher_list(self):
        """The vouchers that the customer holds: what each takes off an order, and when; a share is rounded down to the cent."""
        return {"vouchers": [show_voucher_terms(each) for each in self.vouchers]}

    def ask_user(self, question: str):
        """Ask the shopper something; the answer comes at once.

        Args:
            question: One question, in plain words.
        """
        return {"answer": self.ask(question[:1_000]) if self.ask else ""}


# In the order in which trainers list them.
TOOLS = (
    *("ask_user", "cart_add", "cart_remove", "cart_set_quantity", "cart_view", "catalog_get_product"),
    *("catalog_get_variants", "catalog_rerank", "catalog_search", "datetime_now", "order_checkout", "order_get_status"),
    *("order_list", "policy_search", "return_check_eligibility", "return_exchange", "return_initiate"),
    *("user_get_visit_history", "voucher_list"),
)


def show_voucher_terms(voucher: Voucher) -> dict[str, Any]:
    """The terms that a voucher has, each under a name of its own.

    >>> show_voucher_terms(Voucher(off=1_200, least=6_000))
    {'dollars_off': 12.0, 'least_total': 60.0}
    >>> show_voucher_terms(Voucher(percent=15, most=2_000, seller="Cobblewick"))
    {'percent_off': 15, 'most_dollars_off': 20.0, 'only_of_seller': 'Cobblewick', 'least_things_of_seller': 2}
    """
    shown = {
        "dollars_off": voucher.off / 100,
        "percent_off": voucher.percent,
        "most_dollars_off": voucher.most / 100,
        "least_total": voucher.least / 100,
        "only_of_seller": voucher.seller,
        "least_things_of_seller": SELLER_THINGS if voucher.seller else 0,
    }
    return {name: value for name, value in shown.items() if value}


def compute_discount(voucher: Voucher, things: Sequence[tuple[int, str]]) -> int:
    """Cents that a voucher takes off different things, each given by its price in cents and its seller.

    >>> compute_discount(Voucher(percent=15, most=2_000, seller="Cobblewick"), [(999, "Cobblewick"), (1_000, "Cobblewick"), (5, "Wexcombe")])
    299
    """
    counts = [cents for cents, seller in things if voucher.seller in ("", seller)]
    if sum(cents for cents, _ in things) < voucher.least or (voucher.seller and len(counts) < SELLER_THINGS):
        return 0
    return min(voucher.most, sum(counts) * voucher.percent // 100) if voucher.percent else min(voucher.off, sum(counts))


def status_at(order: Order, now: datetime) -> str:
    if order.cancelled is not None and order.cancelled <= now:
        return "cancelled"
    if order.delivered is not None and order.delivered <= now:
        return "delivered"
    return "shipped" if order.shipped is not None and order.shipped <= now else "processing"


def call_tool(shop: Shop, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Runs one tool call. Raises IllegalCall where no tool takes it."""
    wanted = read_tool_signatures().get(name)
    if wanted is None:
        raise IllegalCall(f"there is no tool {str(name)[:60]}")
    if strange := arguments.keys() - wanted.keys():
        raise IllegalCall(f"{name} takes no {min(map(str, strange))[:60]}")
    for argument, (kind, required) in wanted.items():
        if argument not in arguments:
            if required:
                raise IllegalCall(f"{name} needs {argument}")
        elif not is_of_type(arguments[argument], kind):
            raise IllegalCall(f"{argument} of {name} is no {KINDS[kind]}")
    found: dict[str, Any] = getattr(shop, name)(**arguments)
    return found


def is_of_type(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, kind)


@cache
def read_tool_signatures() -> dict[str, dict[str, tuple[type, bool]]]:
    """For each tool its arguments: their type, and whether they must be given."""
    signatures = {}
    for name in TOOLS:
        method = getattr(Shop, name)
        types = get_type_hints(method)
        parameters = list(inspect.signature(method).parameters.values())[1:]  # without self
        signatures[name] = {each.name: (types[each.name], each.default is each.empty) for each in parameters}
    return signatures


@cache
def build_tool_schemas() -> tuple[Mapping[str, Any], ...]:
    """Every tool as chat models are told of it: name, description and the JSON schema of its arguments."""
    found = []
    for name, arguments in read_tool_signatures().items():
        about, _, rest = (inspect.getdoc(getattr(Shop, name)) or "").partition("\n\nArgs:\n")
        lines = (line.strip().partition(": ") for line in rest.splitlines())
        told = {argument: text for argument, sign, text in lines if sign}
        properties = {
            argument: {"type": KINDS[kind], "description": told[argument]} for argument, (kind, _) in arguments.items()
        }
        required = [argument for argument, (_, needed) in arguments.items() if needed]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        found.append({"name": name, "description": about, "parameters": schema})
    return tuple(found)
