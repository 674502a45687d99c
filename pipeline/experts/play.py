"""Which expert takes an opening, and how it begins."""

from collections.abc import Callable
from datetime import date
from typing import Any

from shopwright.pipeline.experts.beliefs import read_placed
from shopwright.pipeline.experts.cart import Cart
from shopwright.pipeline.experts.expert import Acts
from shopwright.pipeline.experts.lists import Bundle, OneSeller, VoucherList
from shopwright.pipeline.experts.orders import Return, Tracking
from shopwright.pipeline.experts.policy import Policy, read_topic_of_question
from shopwright.pipeline.experts.products import Discovery, Substitution
from shopwright.pipeline.experts.recognize import CUES, recognize
from shopwright.pipeline.reading.wishes import ShopVocabulary

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


def name_situation(opening: str, lexicon: ShopVocabulary) -> str:
    """What an opening is about, by its words alone."""
    said = read_placed(opening, lexicon, date(2000, 1, 1), case=True)
    cases = sum(each.wish.kind == "case" for each in said)
    plain = read_placed(opening, lexicon, date(2000, 1, 1))
    things = {each.wish.value for each in plain if each.wish.kind == "thing"}
    spelt = lexicon.speller.read_text(" ".join(opening.lower().split()), CUES)
    return recognize(spelt, cases=cases, things=len(things), question=bool(read_topic_of_question(opening, lexicon)))


def play(opening: str, calls: int, lexicon: ShopVocabulary) -> Acts:
    """The calls of the expert for an opening: yields steps, is sent what the tools said. It ends when an answer is handed in."""
    expert = EXPERTS[name_situation(opening, lexicon)](opening, calls, lexicon)
    yield from expert.play()
