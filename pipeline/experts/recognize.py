"""Which situation an opening begins, by its words alone, also where they are badly typed."""

import re
from collections.abc import Collection
from functools import lru_cache

from shopwright.pipeline.reading.spelling import Speller
from shopwright.pipeline.reading.wishes import ONE_SELLER, VOUCHER, WANTS

RULE = dict(WANTS)["rule"]
EACH = re.compile(r"\bone (?:of |from |off |pf )?(?:each|ea|every)\b|\beach one\b|\bone per\b|\bof each\b")
BACK = re.compile(
    r"\breturn(?:ing|s|ed)?\b|\bback\b|\bnot keeping\b|\bchanged my mind\b|\bgood for me\b|\bno use for\b|\bget along\b|\bin (?:its|their) place\b|\bswap\b|\bexchanged?\b"
)
SOLD_OUT = re.compile(
    r"\bsold ?-?out\b|out of stock|no longer|\bunavailable\b|(?:none|nothing) left|not (?:in stock|available)|\bgone\b(?! ask)|\brun out\b|ran out|any ?more of|\bno more (?!than\b)\w"
    r"|\b(?:similar|substitute|closest|nearest|alternative|twin|sibling|cousin|lookalike|dupe)\b|most like|(?<!should )(?<!would )like it\b|next best|(?:close|near) (?:to|as)\b|same (?:kind|sort)\b"
    r"|another of the kind|\breplacement\b|\bare out of (?:the|my|this|that)\b|is finish\b|more alike|had my heart|nowhere"
)
ORDER = re.compile(r"(?<!\bin )\b(?:orders?|ordered|parcels?|packages?|stuff|delivery|tracking)\b")
MY_ORDER = re.compile(
    r"\b(?:my|mine|the|an|that|any) (?:\w+ )?(?:orders?|parcels?|packages?|delivery)\b|\border of mine\b|\bmy stuff\b|\bordered (?:it|yesterday|today|last|in|on|some)\b|\border status\b"
)
STATUS = re.compile(
    r"\bwhere(?:s|'s)?\b|\bstatus\b|\btrac(?:k|king|e)\b|\bcheck\b|\blook up\b|\bnews\b|\bupdate\b|\bwhat(?:'s| is|s)? (?:happened|about|up|became|has become|with)\b|\bhappened\b"
    r"|\bwere my\b|\bhere (?:on \w+ )?is my (?:order|parcel|package|stuff)\b|\blook \w{2,3} my (?:order|parcel|package)\b|\bhas \w{1,3} (?:order|parcel|package)\b|\bhow far\b|\bwonder(?:ing)?\b|\b(?:writing|asking|calling|know) (?:about|abt)\b|\bbecame\b|\bbecome\b|\bastray\b|\bhas my\b|\bhow (?:is it|it is|my order is)\b"
    r"|\b(?:order|parcel|package|stuff)(?: been)? (?:shipped|sent)\b"
)
HAS_COME = re.compile(
    r"\bhas my (?:\w+ )?(?:orders?|parcels?|packages?|stuff|delivery)\b|\bwhere my (?:order|parcel|package|stuff|delivery) is\b"
    r"|\bwhere(?:'?s| is) my (?:order|package|stuff|delivery)\b"
    r"|\b(?:update|news|status) (?:on|of|about) my (?:order|parcel|package|stuff|delivery)\b"
)
IN_ORDER = re.compile(r"\bin it\b")
ARRIVAL_DATE = re.compile(r"\barrival (?:date|day)\b")
ASKS_RULE = re.compile(
    r"\bhow (?:long|many|much|often|fast|late)\b|\bwhat \w+ of \w+ do (?:you|u|i)\b|\buntil when\b|\bwhat (?:do i|does|will|would|kind|form|must|fee|compensation|do you|do u|is your|is the (?!status))\b|\bsign(?:ature)?\b"
    r"|\b(?:left|leave)\b.*\b(?:parcel|door|locker)\b|\b(?:parcel|package)\b.*\b(?:left|end up|does .* go)\b|\bwill the driver\b|\bpost office\b|\blocker\b|\bparcel (?:drop|go)\b"
    r"|\bdelivery time\b|\breferral\b|\bwhat is given\b|\bwhen will\b|\bwhen is my money\b|\bdo i get my refund\b|\bmy reward\b|\bwhat(?=[.,]|$)|\bwhat would (?:you|u) (?:ask|charge|want) for\b|\bwhat (?:an?|the) [\w ]{2,40} costs?\b|\bwhat (?:do|does|would|will) (?:u|it|an?) (?:[\w ]{2,30} )?(?:charge|cost)\b"
)
CART = re.compile(
    r"\bcart\b|\bbasket\b|\b(?:put|add|throw|drop|toss|pop)\b[^.!?]{0,80}\b(?:viewed|looked at|had open|clicked on|saw)\b"
)
WEAK_TOPICS = frozenset(
    ["", "delivery time", "parcel drop", "referral reward", "membership fee", "answer time", "cleaning charge"]
)
"""What people may seem to ask about who ask about something else."""
CUES = frozenset(
    "return returning back send sending take keeping mind changed swap instead replacement sold stock longer unavailable gone none left"
    " similar substitute closest nearest alternative twin sibling cousin kind close near possible like"
    " order orders ordered parcel package stuff delivery has where status track trace check news update happened wonder wondering became about"
    " voucher each out cart card seller how long many much until match days method form drop arrive arrives arrived shipped arrival day date know"
    " refund shipping warranty repair restocking currency parcel membership compensation prices invoice signature"
    " later through follows afterwards cancel engraving installation pickup claim proof purchase damage damaged delay".split()
)
"""Words by which a situation or a topic is known, which may be mistyped."""
TYPED = re.compile(r"(?<![\w$&'’-])[a-z]{3,}(?![\w&-])")
LONG = 5
"""Letters of a word from which it is known with two slips."""


def recognize(text: str, *, things: int, products: bool, topic: str) -> str:
    """The situation. things: categories that a text names; products: whether it names any product or brand; topic: of the policies, which is asked about."""
    if ONE_SELLER.search(text) and things:
        return "one_seller"
    if VOUCHER.search(text) and (EACH.search(text) or things > 1):
        return "voucher"
    if RULE.search(text):
        return "cart_building"
    if things > 1 and EACH.search(text):
        return "bundle_planning"
    if not products and HAS_COME.search(text):
        return "order_tracking"
    if not products:
        return "order_tracking" if ORDER.search(text) and not asks_about_rule(text, topic) else "policy_qa"
    if BACK.search(text):
        return "return_replacement"
    if things > 2:
        return "bundle_planning"
    if SOLD_OUT.search(text):
        return "substitution"
    if MY_ORDER.search(text) or (ORDER.search(text) and STATUS.search(text)):
        return "order_tracking"
    if IN_ORDER.search(text) and (STATUS.search(text) or ARRIVAL_DATE.search(text)):
        return "order_tracking"
    return "product_discovery"


def asks_about_rule(text: str, topic: str) -> bool:
    """Whether a text asks about this topic of the policies, and does not only touch on it."""
    return bool(topic) and (ASKS_RULE.search(text) is not None or topic not in WEAK_TOPICS)


def respell_cues(text: str, words: Collection[str]) -> str:
    """The text with those words that tell what it is about as they are spelt; `words` are right as they are.

    >>> respell_cues("my oderr is wher, a vouhhre", {"my", "is", "a"})
    'my order is where, a voucher'
    """
    speller = make_speller(frozenset(words))
    return TYPED.sub(lambda found: found[0] if found[0] in words else find_cue(found[0], speller), text)


@lru_cache(maxsize=4)
def make_speller(words: frozenset[str]) -> Speller:
    return Speller(words)


def find_cue(typed: str, speller: Speller) -> str:
    """The cue that is meant by a word that is none; the word as it is where another one is nearer."""
    near = sorted((count_slips(typed, cue), cue) for cue in CUES if abs(len(cue) - len(typed)) <= 2)
    most = 2 if len(typed) >= LONG else 1
    if not near or near[0][0] > most or near[0][0] * 2 >= len(near[0][1]):
        return typed
    nearer = near[0][0] > 1 and speller.find_neighbors(typed)
    return typed if nearer else near[0][1]


def count_slips(one: str, other: str) -> int:
    """Letters that are missing, too much, wrong, or swapped with their neighbors.

    >>> count_slips("roderr", "order"), count_slips("where", "where"), count_slips("vuoher", "voucher")
    (2, 0, 2)
    """
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, wanted in enumerate(other, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]
