"""Which expert takes an opening, and how it begins."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from shopwright.pipeline.experts.beliefs import Said, read_placed
from shopwright.pipeline.experts.cart import Cart
from shopwright.pipeline.experts.expert import Acts
from shopwright.pipeline.experts.journey import MORE_LATER, Journey
from shopwright.pipeline.experts.lists import Bundle, OneSeller, VoucherList
from shopwright.pipeline.experts.orders import Return, Tracking
from shopwright.pipeline.experts.policy import NO_DAY, Policy, asks_by_name, read_topic_of_question
from shopwright.pipeline.experts.products import Discovery, Substitution
from shopwright.pipeline.experts.recognize import CART, MY_ORDER, STATUS, asks_about_rule, recognize, respell_cues
from shopwright.pipeline.experts.requests import Request, split_requests
from shopwright.pipeline.reading.wishes import ShopVocabulary, leave_out_contrast

EXPERTS: dict[str, Callable[..., Any]] = {
    "bundle_planning": Bundle,
    "cart_building": Cart,
    "one_seller": OneSeller,
    "order_tracking": Tracking,
    "policy_qa": Policy,
    "product_discovery": Discovery,
    "return_replacement": Return,
    "substitution": Substitution,
    "voucher": VoucherList,
}
"""By the situation that an opening begins."""
# What an expert raises where it makes no sense of a text.
CONFUSED = (ArithmeticError, LookupError, TypeError, ValueError)
ALONE = ("one_seller", "voucher")
"""Situations that are no part of a conversation about several things."""


def name_situation(opening: str, lexicon: ShopVocabulary) -> str:
    """What an opening is about, by its words alone."""
    return recognize_text(opening, lexicon)[0]


def recognize_text(text: str, lexicon: ShopVocabulary) -> tuple[str, bool]:
    """What a text is about, and whether its words say so: else it is what is left over."""
    said = read_placed(text, lexicon, NO_DAY)
    things = {each.wish.value for each in said if each.wish.kind == "thing"}
    brands = [each for each in said if each.wish.kind == "value" and "brand" in each.wish.facts]
    plain = respell_cues(" ".join(text.lower().split()), lexicon.words)
    topic = read_topic_of_question(plain, lexicon)
    products = bool(things or brands)
    found = recognize(plain, things=len(things), products=products, topic=topic)
    if found == "policy_qa":
        return found, asks_about_rule(plain, topic) or asks_by_name(plain)
    if found == "order_tracking":
        return found, STATUS.search(plain) is not None or MY_ORDER.search(plain) is not None
    beside = respell_cues(blank_out(" ".join(text.lower().split()), said), lexicon.words)
    if CART.search(beside) and products and found in ("product_discovery", "bundle_planning"):
        return "cart_building", True
    if found == "product_discovery":
        return found, any(each.wish.kind == "number" for each in said)
    return found, products


def blank_out(text: str, said: Sequence[Said]) -> str:
    """A text without the things and values that it names: a storage basket is no shopping basket."""
    for each in said:
        if each.wish.kind in ("thing", "value") and each.start >= 0:
            text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text


def find_requests(opening: str, lexicon: ShopVocabulary) -> list[Request]:
    """What an opening asks for, in its order; nothing where a request of it is never one of several."""
    requests = split_requests(opening, partial(recognize_text, lexicon=lexicon), lexicon)
    alone = name_situation(opening, lexicon) in ALONE
    if alone and (len(requests) < 2 or any(each.situation in ALONE for each in requests)):
        return []
    return requests


def play(opening: str, calls: int, lexicon: ShopVocabulary) -> Acts:
    """The calls of the expert for an opening: yields steps, is sent what the tools said. It ends when an answer is handed in."""
    opening = leave_out_contrast(opening)

    def find(text: str) -> str:
        situation, sure = recognize_text(text, lexicon)
        return situation if sure else ""

    plain = respell_cues(opening.lower(), lexicon.words)
    requests = find_requests(opening, lexicon)
    expert: Any
    if len(requests) > 1 or (requests and MORE_LATER.search(plain)):
        guess = partial(name_situation, lexicon=lexicon)
        expert = Journey(opening, calls, lexicon, requests=requests, experts=EXPERTS, find=find, guess=guess)
    else:
        expert = EXPERTS[name_situation(opening, lexicon)](opening, calls, lexicon)
    yield from expert.play()
