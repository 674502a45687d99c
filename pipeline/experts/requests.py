"""The requests of a text that has several: where it may be cut, and which cuts make the most sense."""

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain, combinations
from typing import NamedTuple

from shopwright.pipeline.experts.beliefs import Said, read_placed
from shopwright.pipeline.experts.orders import ARRIVAL
from shopwright.pipeline.experts.policy import NO_DAY, asks_by_name
from shopwright.pipeline.experts.recognize import ASKS_RULE, CART, LONG, STATUS, count_slips, respell_cues
from shopwright.pipeline.reading.wishes import ShopVocabulary

COLON = re.compile(r"(?:^|(?<=[.!?:)]))(?P<words>[^.!?:]*):(?=\s+\S)")
"""Words with a colon: the next request may follow."""
NEXT_WORDS = frozenset(
    "next then after that and up when done once this with out of the way also besides another thing one more something else moving on to while"
    " we're were at it as are since here now different change topic quick plus oh list is there furthermore you have please second other if i may add in"
    " addition not too much would ask afterwards dear might my request smth sth stuff you're guess what there's so where was okay go we for"
    " first begin start things several few number a let's".split()
)
STRONG_WORDS = frozenset("next then also plus and thing".split())
"""One of these alone says in the midst of a sentence that something else follows."""
COUNTED = frozenset("next then also plus thing first second third other another more besides".split())
"""Words that number requests: a cut without one may only begin what is told of a request."""
DETAIL_WORDS = frozenset(
    "remember recall background details info facts important clear exact hint helps matters noted note case wishes easier precise specific clues".split()
)
"""Words before a colon after which more is told of the same request."""
ALONE_NEXT = ("then", "next", "also", "plus")
"""One of these may be all that stands before the colon; then a word that is one slip from it is meant so."""
REST_OF_NEXT = 3
"""Words after which one more before the colon may be typed badly past reading: "now for the nr:"."""
PLAIN = frozenset("know have need want tell that they what make like will new".split())
"""Short words that are no slip."""
SHORT = 4
"""Letters of a word that a slip may make of any other."""
MOST_REQUESTS = 5
UNCLEAR = 0.6
"""Against a way to cut: a piece of which it is not clear what it asks for."""
LIKELY = 0.1
"""Against it: a piece that speaks of the shopper's order, but does not say what of it."""
PASSED_OVER = 0.3
"""Against it: words that may begin a request and count it, and were not taken so."""
PASSED_WEAK = 0.15
"""Against it: other words that may begin one."""
STRAY = 0.7
"""Against it: a piece with words that belong to another."""
DETAIL = re.compile(
    r"(?:(?:and|also|plus|but|i (?:do )?(?:wish|want|need)),? )?(?:as )?(?:for )?(?:the )?(?:(?:bag|box|pair|set|pack) of )?"
)
"""What stands before a thing of which a detail is told after it was named."""
MY_OWN_ORDER = re.compile(r"(?<!in )(?<!of )(?<!from )\bmy (?:order|parcel|package|delivery)\b")
DAY_OF_ARRIVAL = re.compile(r"\barrival\b|\b(?:day|date|when) it (?:comes|gets|arrives|is here)\b")
OTHER_VERSION = re.compile(r"\b(?:(?:different|other|another) version|same thing)\b")
ONE_KIND = ("product_discovery", "substitution")
"""Requests for one product."""
LIMITS = ("price", "price at most", "price between", "rating", "shipping days")
"""Kinds of wishes that say how a thing has to be: no request begins with one."""
BEFORE_LIMIT = re.compile(
    r"(?:(?:and|with|for|a|price|priced|costing|rated|rating|of|at|below|under|less|cheaper|than|no|more|most|max|up|to)\b\W*)*"
)
"""What may stand before a limit that itself stands at the beginning."""
OF_SEVERAL = ("bundle_planning", "cart_building")
"""Requests that name several things, of each of which there may be details."""


class Request(NamedTuple):
    """One of the things that are asked."""

    situation: str
    text: str


class Cut(NamedTuple):
    """Where one request may end and the next begin, and how much it tells against a way to cut that passes over it."""

    start: int
    end: int
    weight: float


class Piece(NamedTuple):
    """What a piece of a text asks for, how much its words leave that open, and the things and limits that it names, in their order."""

    situation: str
    doubt: float
    text: str
    things: Sequence[Said]
    limits: Sequence[Said]

    def count_strays(self, before: Sequence["Piece"]) -> int:
        """How many signs there are that some of its words belong to a piece before it, or to one that was not cut off."""
        plain = " ".join(self.text.lower().split())
        return (
            (self.situation in ONE_KIND and len(self.list_kinds()) > 1)
            + self.begins_with_detail(before)
            + any(BEFORE_LIMIT.fullmatch(self.text[: each.start].lower()) is not None for each in self.limits)
            + (self.situation != "order_tracking" and DAY_OF_ARRIVAL.search(plain) is not None)
            + (self.situation != "return_replacement" and OTHER_VERSION.search(plain) is not None)
        )

    def list_kinds(self) -> set[str]:
        return {each.wish.value for each in self.things}

    def begins_with_detail(self, before: Sequence["Piece"]) -> bool:
        """Whether it first tells more of a thing that a list before it named."""
        first = min(self.things, key=lambda each: each.start, default=None)
        named = {kind for each in before if each.situation in OF_SEVERAL for kind in each.list_kinds()}
        return (
            first is not None
            and first.wish.value in named
            and DETAIL.fullmatch(self.text[: first.start].lower()) is not None
        )


def split_requests(text: str, judge: Callable[[str], tuple[str, bool]], lexicon: ShopVocabulary) -> list[Request]:
    """The requests of a text, in their order: of all ways to cut it where something else may follow, the one whose pieces make the most sense.

    judge: what a text is about, and whether its words say so.
    """
    plain = " ".join(text.split())
    cuts = list_cuts(plain, lexicon)
    judged = cache(partial(judge_request, judge=judge, lexicon=lexicon))
    ways = chain.from_iterable(combinations(cuts, count) for count in range(min(len(cuts), MOST_REQUESTS - 1) + 1))
    total = sum(cut.weight for cut in cuts)
    weighed = [
        ([judged(piece) for piece in cut_text(plain, way)], total - sum(cut.weight for cut in way)) for way in ways
    ]
    best, _ = max(weighed, key=lambda each: weigh_pieces(each[0]) - each[1])
    return [Request(piece.situation, piece.text) for piece in best]


def list_cuts(text: str, lexicon: ShopVocabulary) -> list[Cut]:
    """Where another request may begin, in order."""
    cuts = []
    for found in COLON.finditer(text):
        if (start := find_next(found, lexicon)) > 0:
            words = re.findall(r"[\w']+", text[start : found.end()].lower())
            counted = not COUNTED.isdisjoint(respell_next_word(word, lexicon) for word in words)
            cuts.append(Cut(start, found.end(), PASSED_OVER if counted else PASSED_WEAK))
    return cuts


def cut_text(text: str, cuts: Sequence[Cut]) -> list[str]:
    """The pieces between the cuts, each of which begins and ends somewhere."""
    begins, ends = [0, *(cut.end for cut in cuts)], [*(cut.start for cut in cuts), len(text)]
    return [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True)]


def judge_request(text: str, *, judge: Callable[[str], tuple[str, bool]], lexicon: ShopVocabulary) -> Piece:
    """What a piece asks for, and how surely: what only tells of a case or an order does not ask."""
    situation, sure = judge(text)
    asks = respell_cues(text.lower(), lexicon.words)
    doubt = 0.0 if sure else UNCLEAR
    if situation == "order_tracking" and not STATUS.search(asks) and not ARRIVAL.search(asks):
        doubt = LIKELY if MY_OWN_ORDER.search(asks) else UNCLEAR
    by_name = asks_by_name(asks) and not CART.search(asks)
    if situation == "policy_qa" and "?" not in text and not ASKS_RULE.search(asks) and not by_name:
        doubt = UNCLEAR
    said = read_placed(text, lexicon, NO_DAY)
    things = [each for each in said if each.wish.kind == "thing"]
    return Piece(situation, doubt, text, things, [each for each in said if each.wish.kind in LIMITS])


def weigh_pieces(pieces: Sequence[Piece]) -> float:
    """How much sense it makes: each request is clear, of its own kind and whole."""
    kinds = len({each.situation for each in pieces})
    clear = sum(not each.doubt for each in pieces)
    strays = sum(each.count_strays(pieces[:place]) for place, each in enumerate(pieces))
    return clear - sum(each.doubt for each in pieces) - 2 * (len(pieces) - kinds) - STRAY * strays


def find_next(found: re.Match[str], lexicon: ShopVocabulary) -> int:
    """Where the words before a colon begin that only say that something else follows; -1 where there are none."""
    words = list(re.finditer(r"[\w']+", found["words"]))
    meant = [respell_next_word(word[0].lower(), lexicon) for word in words]
    if not DETAIL_WORDS.isdisjoint(word[0].lower() for word in words):
        return -1
    if len(words) == 1 and meant[0] is None and any(count_slips(words[0][0].lower(), each) == 1 for each in ALONE_NEXT):
        meant[0] = "then"
    if len(meant) > REST_OF_NEXT and meant[-1] is None and all(meant[:-1]):
        meant[-1] = ""
    run = 0
    while run < len(words) and meant[-1 - run] is not None:
        run += 1
    while run and not meant[-run]:  # what may be anything does not begin it
        run -= 1
    clear = len(list(filter(None, meant[len(meant) - run :])))
    whole = run == len(words) and clear > 0
    if not whole and not (clear > 1 and 2 * clear >= run) and not (run and meant[-1] in STRONG_WORDS):
        return -1
    return found.start("words") + words[-run].start()


def respell_next_word(word: str, lexicon: ShopVocabulary) -> str | None:
    """The word that is meant of those which go from one request to the next; empty for one that may be anything, None for another."""
    if word in NEXT_WORDS:
        return word
    known = word in lexicon.words or word in PLAIN or word.isdigit()
    words = sorted(NEXT_WORDS | DETAIL_WORDS)
    near = min((count_slips(word, other), other) for other in words if abs(len(other) - len(word)) <= 2)
    slips = 2 if len(word) > LONG else 1
    if near[1] in DETAIL_WORDS and near[0] <= slips:
        return None
    if not known and len(word) > 2 and near[0] <= slips:
        return near[1]
    short = len(word) <= SHORT and near[0] <= 1 and word not in PLAIN and not word.isdigit()
    return "" if short or not known else None
