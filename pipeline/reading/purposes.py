"""For whom, for what or for where a thing is wanted, or that it is to be good of its kind: words that narrow nothing, unless the
category has a fact that they could mean."""

import re
from collections.abc import Iterable

PERSON = (
    r"(?:mom|mother|dad|father|wife|husband|sister|brother|girlfriend|boyfriend|aunt|uncle|friend|son|daughter|nephew|niece|grandson"
    r"|granddaughter|little (?:boy|girl)|kid)"
)
PLACE = r"(?:living room|guest room|bedroom|dorm room|home office|office|apartment|summer house|house|home|pantry)"
OCCASION = (
    r"(?:work|school|college|(?:everyday|daily) use|(?:the )?weekend|date night|birthday party|birthday|party|baby shower|(?:the )?holidays"
    r"|breakfast|vacation|(?:the )?summer|daycare|kindergarten|family dinner|dinner with friends|trip with friends)"
)
GIFT = rf"as an? (?:(?:little|wedding|birthday) )?(?:gift|present)(?: for (?:my|a) {PERSON})?"
QUALITY = (
    r"(?:easy to (?:use|clean|store|wear|assemble|install|set up|wash|care for|apply|make|prepare)|(?:high|good) (?:quality|performance)"
    r"|comfortable|stylish|durable|reliable|sturdy|(?:nice|good) looking|nice|good|cute|tasty|delicious|fresh)"
)
# Each kind of purpose, and the facts that it could be meant for.
PURPOSES: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(rf"\b{GIFT}\b"), frozenset({"recipient", "occasion", "age"})),
    (
        re.compile(rf"\bfor (?:my|our|a) {PERSON}\b"),
        frozenset({"recipient", "gender", "learner", "cut", "garment", "age"}),
    ),
    (
        re.compile(rf"\bfor (?:(?:my|our|the) )?(?:new |first )?{PLACE}\b"),
        frozenset({"room", "place", "fitting", "use"}),
    ),
    (re.compile(rf"\bfor (?:(?:my|a) )?{OCCASION}\b"), frozenset({"occasion", "season", "use", "slot"})),
    (re.compile(rf"\b{QUALITY}\b"), frozenset()),
    (re.compile(r"\blong lasting\b"), frozenset({"battery", "runtime", "duration", "wear"})),
)


def find_purpose(text: str, facts: Iterable[str]) -> re.Match[str] | None:
    """The first purpose in a text that none of these facts could be, or the first wish for what no fact tells.

    >>> find_purpose("a lamp for my living room", ["color"])[0], find_purpose("a visit for my living room", ["room"])
    ('for my living room', None)
    """
    known = frozenset(facts)
    found = (pattern.search(text) for pattern, meant in PURPOSES if not meant & known)
    return next((match for match in found if match), None)
