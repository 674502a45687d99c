"""Which situation an opening begins, by its words alone."""

import re

from shopwright.pipeline.reading.wishes import ONE_SELLER, VOUCHER, WANTS

RULE = dict(WANTS)["rule"]
EACH = re.compile(
    r"\bone (?:of |from )?(?:each|ea|every|sch|eac|ach)\b|\bone each\b|\beach one\b|\b(?:exactly |just )?one (?:pe|de|fo) ?(?:each)?\b|\bof each\b"
)
SOLD_OUT = re.compile(
    r"sold ?-?out|out of stock|no longer (?:in stock|available)|unavailable|(?:none|nothing) left|not (?:in stock|available)|no more (?!than|or )|any more of"
    r"|\b(?:is|it's|its|us) (?:out|gone)\b|ran out|nearest|nowhere|similar|substitute|closest|alternative|next best|nearest|mo?st like|twin of|sibling of|close cousin|in(?:s|st)tead of it|any ?more\b(?!.*\border)|close(?:st)? (?:to|as)|same kind|kind of thing|look-?alike|as near to it"
    r"|more alike|most like|stand-in|replacement for"
)
BACK = re.compile(
    r"\bre?t?[ur]*rn?\w{0,3}\b|\bretu?r?n?\w*|\breurn|\b(?:send|sending|take|taken|give|bring|goes|go|sent|back)\b.*\bback\b|\bgoes back\b|swap|not good for me"
)
MINE = re.compile(r"\bmy\b|\bi got\b|\borders?\b|ordered|bought|goes back|sending back|send back")
TRACK = re.compile(r"\border\b|\bparcel\b|\bstuff\b|\bpackage\b|\bdelivery\?|track|arriv\w+|\border\w*\?|\borders\b")
WHERE = re.compile(r"\bmy order|orders?\b.*\?|where|status|track|whats? up")
ORDER = re.compile(
    r"\b(?:my|the|an|of) (?:order|orders|package|stuff)\b.*\?|orders?\?|status|track|where is (?:it|my)|my package|my parcel|my stuff"
)
CUES = frozenset(
    "return returning back order orders ordered sold out gone closest nearest similar substitute where track status package parcel stuff bought"
    " voucher each cart send seller keeping swap".split()
)
"""Words by which a situation is known, which may be mistyped."""
ASKS_HOW = re.compile(
    r"\bhow (?:long|many|much|often|will|ought|do|can|late|soon)\b|for how|what (?:is the|does|do you|fee|will)|window|\bfee\b|which form"
)
CART = re.compile(r"\bcart\b|\badd\b|\bbasket\b")


def recognize(opening: str, *, cases: int, things: int, question: bool) -> str:
    """The situation. cases: facts of a case in it; things: categories that it names; question: a topic of the policies is asked about."""
    text = " ".join(opening.lower().split())
    listed = EACH.search(text) or things > 1
    if ONE_SELLER.search(text) and things:
        return "one_seller"
    if EACH.search(text) and VOUCHER.search(text):
        return "voucher"
    if RULE.search(text):
        return "cart_building"
    if listed and VOUCHER.search(text) and things > 1:
        return "voucher"
    if EACH.search(text) and things > 1:
        return "bundle_planning"
    if question and cases and not things and not ORDER.search(text):
        return "policy_qa"
    if BACK.search(text) and MINE.search(text) and not (ASKS_HOW.search(text) and (question and not things)):
        return "return_replacement"
    if SOLD_OUT.search(text) and (things or not question):
        return "substitution"
    if TRACK.search(text) and (not cases or WHERE.search(text)) and not ASKS_HOW.search(text.replace("how far", "")):
        return "order_tracking"
    if things and not cases and not (question and ASKS_HOW.search(text)):
        return "bundle_planning" if things > 2 else "product_discovery"
    return "policy_qa"
