"""What makes an end of a task right: every end state that earns everything, or the proof that there is none.

A certificate is one of four kinds: `AnyOf` end states; `OneOfEach`, one product for each item of a list; `Parts`, a certificate for
each part of a task; `Infeasible`, the right refusal and its proof. Rows hold it as JSON, which says its `kind`.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, TypeAdapter, ValidationError, model_serializer

from shopwright.schemas.record import Part
from shopwright.schemas.shop import Voucher
from shopwright.schemas.tasks import Answer

KINDS = "AnyOf, OneOfEach, Parts or Infeasible"


class Malformed(ValueError):
    """What was expected, and what was found instead."""


class Constraint(Part):
    """Something that a product must be: `brand is Norrvik`, `price at most 40.00`."""

    fact: str
    op: Literal["is", "at most", "at least", "fits"]
    value: str
    """As a shopper says it: `Norrvik`, `$40`, `12 in`; for `fits` what a product must fit, with `and` between: the fact is its kind."""
    number: float | None = None
    """For `at most` and `at least`; a price in cents."""


class Lines(Part):
    """Pieces of a product, each in any of these variants."""

    product_id: str
    variants: list[str] = Field(default_factory=list)
    """Empty for a product that has none."""
    quantity: int = 1


class Return(Part):
    """A line of an order that goes back, and the variant that comes for it; empty where none does."""

    order_id: str
    line_id: str
    instead: str = ""


class End(Part):
    """How an episode may end: what is handed in, and what the shop then holds. What is left out has to be empty.

    >>> certificate_to_text(End(answer=Answer(policy_answer="30")))
    '{"answer":{"policy_answer":"30"}}'
    >>> certificate_to_text(End(some_of=["B01", "B02"], after_sell_out=True))
    '{"after_sell_out":true,"some_of":["B01","B02"]}'
    """

    answer: Answer = Field(default_factory=Answer)
    some_of: list[str] = Field(default_factory=list)
    """Of these products one or more are recommended, none twice, and no other; then `answer` recommends none."""
    cart: list[Lines] = Field(default_factory=list)
    bought: list[Lines] = Field(default_factory=list)
    returns: list[Return] = Field(default_factory=list)
    after_sell_out: bool = False
    """It counts once the goal's `event` has sold something out. Where a certificate has such ends, its others count until then."""


class Kind(Part):
    """What says in JSON of which kind it is, so that it can be read again."""

    @model_serializer(mode="wrap")
    def with_kind(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.__class__.model_fields["kind"].default, **rest(self)}


class AnyOf(Kind):
    """Any of these end states is right, and nothing else.

    >>> certificate_to_text(AnyOf(ends=[End(answer=Answer(policy_answer="30"))]))
    '{"ends":[{"answer":{"policy_answer":"30"}}],"kind":"AnyOf"}'
    """

    kind: Literal["AnyOf"] = "AnyOf"
    ends: list[End] = Field(min_length=1)


class BundleItem(Part):
    """One place of a list: any product of a category that meets all constraints and is in stock."""

    category: str
    constraints: list[Constraint] = Field(default_factory=list)
    count: int
    """So many products do, when the episode begins."""
    cheapest: str = ""
    """The cheapest of them, or one of the cheapest; empty where none does."""


class Assortment(Part):
    """What one seller has for a list."""

    seller: str
    product_ids: list[list[str]]
    """For each item all of its products that do, when the episode begins."""


class OneOfEach(Kind):
    """One product for each item and none beside, together within the budget; of one seller where `sellers` are named.

    >>> parse_certificate('{"kind": "OneOfEach", "items": [{"category": "Mugs", "count": 3}], "budget": 900, "least": 450}').budget
    900
    """

    kind: Literal["OneOfEach"] = "OneOfEach"
    items: list[BundleItem] = Field(min_length=1)
    budget: int = 0
    """Cents; 0 where it may cost anything."""
    least: int
    """What the cheapest of each item cost together, in cents."""
    sells_out: str = ""
    """A product that the goal's `event` sells out: from then on it does nowhere."""
    sellers: list[Assortment] = Field(default_factory=list)
    """Where all must be of one seller: every seller that has something for each item."""
    voucher: Voucher | None = None
    """Taken off before the cost is held against the budget."""
    lists: int = 0
    """With a voucher: so many lists are right, when the episode begins."""
    right: list[str] = Field(default_factory=list)
    """One that is right, where the cheapest products make none."""


class PartOf(Part):
    """One part of a task that has several."""

    env: str
    certificate: "Certificate"


class Parts(Kind):
    """Each part is right by its own certificate, in this order.

    >>> certificate_to_text(Parts(parts=[PartOf(env="policy_qa", certificate=AnyOf(ends=[End()]))]))
    '{"kind":"Parts","parts":[{"certificate":{"ends":[{}],"kind":"AnyOf"},"env":"policy_qa"}]}'
    """

    kind: Literal["Parts"] = "Parts"
    parts: list[PartOf] = Field(min_length=1)


# Proofs that there is nothing: each names what somebody else can count again.


class NothingFits(Kind):
    """No product of the category is in stock and meets all constraints."""

    kind: Literal["NothingFits"] = "NothingFits"
    category: str
    constraints: list[Constraint]
    products: int
    """So many the category has."""
    products_sold_out: list[str] = Field(default_factory=list)
    """Those that meet the constraints and are in the shop: all variants of each are sold out."""
    unsure: list[str] = Field(default_factory=list)
    """Sold out too: all else is right, and nobody can tell from what the shop says whether they fit the same device."""
    but_for_price: int = 0
    """So many meet all but the limit of the price, where that is what is wrong."""
    cheapest: int = 0
    """What the cheapest of these costs, in cents."""


class NoList(Kind):
    """No list has one product for each item within the budget: one item has none, or the cheapest list costs more."""

    kind: Literal["NoList"] = "NoList"
    items: list[BundleItem] = Field(min_length=1)
    budget: int
    least: int = 0
    """What the cheapest list costs, in cents; 0 where an item has none."""
    voucher: Voucher | None = None
    """Taken off what a list costs."""


class NoSeller(Kind):
    """No seller has something for each item."""

    kind: Literal["NoSeller"] = "NoSeller"
    items: list[BundleItem] = Field(min_length=1)
    sellers: list[list[str]]
    """Of each item all sellers that have something for it."""


class Unavailable(Part):
    """A product, and what it would have to be."""

    product_id: str
    choices: dict[str, str] = Field(default_factory=dict)
    """Of the variant that is asked for; empty where any would do."""
    sold_out: list[str] = Field(default_factory=list)
    """The variants that are so: none of them can be had."""
    offered: list[str] = Field(default_factory=list)
    """What the product comes in, in words."""


class NotForSale(Kind):
    """Each product that is asked for is sold out as it is asked for, or does not come so."""

    kind: Literal["NotForSale"] = "NotForSale"
    lines: list[Unavailable] = Field(min_length=1)


class NoOrder(Kind):
    """No order that the customer is shown is what is remembered of it."""

    kind: Literal["NoOrder"] = "NoOrder"
    orders: list[str] = Field(min_length=1)
    fact: str
    """`date`, `category`, `brand`, `total`, `number`."""
    value: str


class NoRule(Kind):
    """No rule of the shop's policies is about this topic."""

    kind: Literal["NoRule"] = "NoRule"
    policies: str
    """Which policies."""
    topic: str = Field(min_length=1)
    rules: int
    """So many were looked through."""


class NotReturnable(Kind):
    """A line that cannot be returned at this time."""

    kind: Literal["NotReturnable"] = "NotReturnable"
    order_id: str
    line_id: str
    now: datetime
    reason: str
    policy_id: str
    until: str
    """The last day on which it could be; empty: there is none."""


Proof = Annotated[
    NothingFits | NoList | NoSeller | NotForSale | NoOrder | NoRule | NotReturnable, Field(discriminator="kind")
]


class Infeasible(Kind):
    """It cannot be done: the right answer is this refusal, and to change nothing.

    >>> Infeasible(refusal="not_covered", proof=NoRule(policies="train-000007", topic="repair fee", rules=222)).proof.topic
    'repair fee'
    """

    kind: Literal["Infeasible"] = "Infeasible"
    refusal: str
    proof: Proof


Certificate = Annotated[AnyOf | OneOfEach | Parts | Infeasible, Field(discriminator="kind")]
PartOf.model_rebuild()
Parts.model_rebuild()
CERTIFICATE: TypeAdapter[Certificate] = TypeAdapter(Certificate, config=ConfigDict(defer_build=True))


class Miss(Part):
    """An end state that is nearly right, and what is wrong with it.

    >>> certificate_to_text(Miss(breaks=["price"], end=End(some_of=["B01"])))
    '{"breaks":["price"],"end":{"some_of":["B01"]}}'
    """

    breaks: list[str]
    """The constraints that it breaks; of an environment's task exactly one."""
    end: End
    part: int = 0
    """Of a task with parts: the one that it is of, from 1 on; the others are right."""


def certificate_to_text(value: Part) -> str:
    """A certificate or a part of one as the text that a row holds."""
    return json.dumps(
        value.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )


def parse_certificate(text: str) -> AnyOf | OneOfEach | Parts | Infeasible:
    """The certificate in a row's text. Raises Malformed.

    >>> parse_certificate('[["B01"], ["B02"]]')
    Traceback (most recent call last):
    shopwright.schemas.certificates.Malformed: expected AnyOf, OneOfEach, Parts or Infeasible, found a list of 2 lists of str
    >>> parse_certificate('{"kind": "AnyOf", "ends": [{"cart": "B01"}]}')
    Traceback (most recent call last):
    shopwright.schemas.certificates.Malformed: expected AnyOf; at ends.0.cart: Input should be a valid list, found the text 'B01'
    """
    value = parse_json(text)
    known = isinstance(value, dict) and value.get("kind") in ("AnyOf", "OneOfEach", "Parts", "Infeasible")
    if not known:
        raise Malformed(f"expected {KINDS}, found {describe(value)}")
    return validate_value(CERTIFICATE.validate_python, value, value["kind"])


def parse_miss(text: str) -> Miss:
    """The nearest miss in a row's text. Raises Malformed."""
    return validate_value(Miss.model_validate, parse_json(text), "Miss")


def parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed(f"expected JSON, found the text {text[:40]!r}") from None


def validate_value(validate: Callable[[Any], Any], value: Any, name: str) -> Any:
    try:
        return validate(value)
    except (ValidationError, RecursionError) as error:
        if isinstance(error, RecursionError):
            raise Malformed(f"expected {name}, found something nested too deep") from None
        first = error.errors(include_url=False)[0]
        steps = [str(step) for step in first["loc"]]
        # Of a union pydantic names the kind first.
        where = ".".join(steps[1:] if steps and steps[0] == name else steps)
        raise Malformed(
            f"expected {name}; at {where or 'its top'}: {first['msg']}, found {describe(first['input'])}"
        ) from None


def describe(value: Any) -> str:
    """What something is, for an error.

    >>> describe([["a"], ["b"]]), describe({"any_of": 1}), describe(AnyOf(ends=[End()])), describe(None)
    ('a list of 2 lists of str', "a dict with 'any_of'", 'AnyOf with 1 end', 'None')
    """
    if isinstance(value, AnyOf):
        return f"AnyOf with {describe_count(value.ends, 'end')}"
    if isinstance(value, OneOfEach):
        return f"OneOfEach with {describe_count(value.items, 'item')}"
    if isinstance(value, Parts):
        return f"Parts with {describe_count(value.parts, 'part')}"
    if isinstance(value, Infeasible):
        return f"Infeasible as {value.refusal!r}"
    if isinstance(value, dict):
        keys = ", ".join(repr(str(key)) for key in list(value)[:4])
        return f"a dict with {keys}" if value else "an empty dict"
    if isinstance(value, list | tuple):
        return describe_list(value)
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "None" if value is None else f"{value!r:.40} ({type(value).__name__})"


def describe_list(value: Sequence[Any]) -> str:
    if not value:
        return "an empty list"
    inner = Counter(type(each).__name__ for each in value)
    name, _ = inner.most_common(1)[0]
    if name == "list" and len(inner) == 1:
        deeper = Counter(type(each).__name__ for each in chain.from_iterable(value))
        return f"a list of {describe_count(value, 'list')} of {' and '.join(deeper) or 'nothing'}"
    return f"a list of {len(value)} {' and '.join(inner)}"


def describe_count(value: Sequence[Any], noun: str) -> str:
    return f"{len(value)} {noun}{'' if len(value) == 1 else 's'}"
