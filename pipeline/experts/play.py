"""Which expert takes an opening, and how it begins."""

from collections.abc import Callable
from typing import Any

from shopwright.pipeline.experts.beliefs import read_placed
from shopwright.pipeline.experts.cart import Cart
from shopwright.pipeline.experts.expert import Acts
from shopwright.pipeline.experts.lists import Bundle, OneSeller, VoucherList
from shopwright.pipeline.experts.orders import Return, Tracking
from shopwright.pipeline.experts.policy import NO_DAY, Policy, read_topic_of_question
from shopwright.pipeline.experts.products import Discovery, Substitution
from shopwright.pipeline.experts.recognize import recognize, respell_cues
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
    said = read_placed(opening, lexicon, NO_DAY)
    things = {each.wish.value for each in said if each.wish.kind == "thing"}
    brands = [each for each in said if each.wish.kind == "value" and "brand" in each.wish.facts]
    text = respell_cues(" ".join(opening.lower().split()), lexicon.words)
    topic = read_topic_of_question(text, lexicon)
    return recognize(text, things=len(things), products=bool(things or brands), topic=topic)


def play(opening: str, calls: int, lexicon: ShopVocabulary) -> Acts:
    """The calls of the expert for an opening: yields steps, is sent what the tools said. It ends when an answer is handed in."""
    expert = EXPERTS[name_situation(opening, lexicon)](opening, calls, lexicon)
    yield from expert.play()
