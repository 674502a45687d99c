"""Several requests in one conversation: taken apart, each served by its own expert with one memory, answered in the order asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shopwright.pipeline.experts.beliefs import Said
from shopwright.pipeline.experts.cart import ITEM
from shopwright.pipeline.experts.expert import Acts, Expert
from shopwright.pipeline.experts.lists import BUDGET
from shopwright.pipeline.experts.orders import ARRIVAL
from shopwright.pipeline.experts.recognize import ASKS_RULE, LONG, STATUS, count_slips, respell_cues
from shopwright.pipeline.reading.wishes import ShopVocabulary

COLON = re.compile(r"(?:^|(?<=[.!?:)]))(?P<words>[^.!?:]*):\s+(?=\S)")
"""Words with a colon: the next request may follow."""
NEXT_WORDS = frozenset(
    "next then after that and up when done once this with out of the way also besides another thing one more something else moving on to while"
    " we're at it as are since here now different change topic quick plus oh list is there furthermore you have please second other if i may add in"
    " addition not too much would ask afterwards dear might my request you're guess what there's so where was okay go we for"
    " first begin start things several few number a let's".split()
)
STRONG_WORDS = frozenset("next then also plus and thing".split())
"""One of these alone says in the midst of a sentence that something else follows."""
MORE_LATER = re.compile(
    r"\b(?:more|else|another|rest|other|further|last point)\b[^.!?]{0,30}\b(?:later|after\w*|through|come|follows)\b|\blater\b[^.!?]{0,30}\b(?:more|thing|request)\b"
    r"|\b(?:for later|can wait|to come|rest later|rest follows|then one more|one thing at a time)\b|\bi say the other later\b"
)
LABELS = {
    "cart_building": r"\bfor (?:my|the) cart\b",
    "substitution": r"\bfor the substitute\b",
    "product_discovery": r"\blooking for\b",
    "return_replacement": r"\bfor the return\b|\bwhat goes back\b|\bfor the (?:new one|one i want instead)\b",
    "order_tracking": r"\bfor the order\b",
    "policy_qa": r"\bfor my question\b",
    "bundle_planning": r"\bfor the list\b",
}
"""How a shopper says to which request a detail belongs."""
SAID_BEFORE = re.compile(
    r"\bas i (?:have )?said\b|\b(?:like i|i (?:already|aleady)|bro i|already) (?:said|told)\b|\bsame as before\b|\bdid(?:n't| not)? i say\b|\bi did say\b|\bchanged since\b|\banswer stays\b|\bmissed it\b|\bagain\b"
)
"""That something is told once more, which was only asked for by chance."""
IN_ORDER = re.compile(
    r"\b(?:in|with|inside) it\b|\bpart of it\b|\bin that order\b|\bsame order\b|\bin total\b|\btotal\b|\baltogether\b|\ball together it\b|\bordered\b|\bplaced it\b|\bshopping\b"
    r"|\beach\b|\ba piece\b|\bapiece\b|\bdifferent (?:things|products|articles|items)\b|\bamong the things\b"
)
OF_LINE = re.compile(
    r"\beach\b|\ba piece\b|\bapiece\b|\bcame with it\b|\bsame order\b|\bthat order\b|\bpaid for it\b|\bit cost\b"
)
"""What is said of one line of an order."""
OF_ORDERS = ("return_replacement", "policy_qa", "order_tracking")
"""Requests that tell of orders."""
LONGEST_REMARK = 12
"""Words of a remark; a request has more."""
SPARE = 6
"""Calls that each request is left with when it is asked for details."""


PLAIN = frozenset("know have need want tell that they were what make like will".split())
"""Short words that are no slip."""
SHORT = 4
"""Letters of a word that a slip may make of any other."""


class Request(NamedTuple):
    """One of the things that are asked."""

    situation: str
    text: str


def split_requests(text: str, find: Callable[[str], str], lexicon: ShopVocabulary) -> list[Request]:
    """The requests of a text, in their order. `find` says what a text is about; empty where it is about nothing."""
    plain = " ".join(text.split())
    starts = [(start, found.end()) for found in COLON.finditer(plain) if (start := find_next(found, lexicon)) >= 0]
    edges = [0, *(end for _, end in starts), len(plain)]
    stops = [*(start for start, _ in starts), len(plain)]
    pieces = [plain[start:stop].strip() for start, stop in zip(edges, stops, strict=False)]
    found: list[Request] = []
    before = ""
    for piece in pieces:
        situation = find(f"{before} {piece}".strip())
        if found and situation == "order_tracking" and found[-1].situation in OF_ORDERS:
            # What is told of an order does not ask for another.
            asks = respell_cues(piece.lower(), lexicon.words)
            situation = situation if STATUS.search(asks) or ARRIVAL.search(asks) else ""
        if found and situation == "policy_qa" and "?" not in piece and not ASKS_RULE.search(piece.lower()):
            situation = ""  # it tells of a case
        if found and (not situation or situation == found[-1].situation):
            joined = f"{found[-1].text} {piece}"
            found[-1] = Request(find(joined) or found[-1].situation, joined)
        elif situation:
            found.append(Request(situation, f"{before} {piece}".strip()))
            before = ""
        else:
            before = f"{before} {piece}".strip()
    return found


def find_next(found: re.Match[str], lexicon: ShopVocabulary) -> int:
    """Where the words before a colon begin that only say that something else follows; -1 where there are none."""
    words = list(re.finditer(r"[A-Za-z']+", found["words"]))
    kinds = [weigh_next_word(word[0].lower(), lexicon) for word in words]
    run = 0
    while run < len(words) and kinds[-1 - run] is not None:
        run += 1
    while run and not kinds[-run]:  # what may be anything does not begin it
        run -= 1
    clear = sum(filter(None, kinds[len(kinds) - run :]))
    whole = run == len(words) and clear > 0
    if not whole and not (clear > 1 and 2 * clear >= run) and not (run and words[-1][0].lower() in STRONG_WORDS):
        return -1
    return found.start("words") + words[-run].start()


def weigh_next_word(word: str, lexicon: ShopVocabulary) -> int | None:
    """1 for a word that goes from one request to the next, perhaps mistyped; 0 for one too short to tell; None for another."""
    if word in NEXT_WORDS:
        return 1
    near = min(count_slips(word, other) for other in NEXT_WORDS if abs(len(other) - len(word)) <= 2)
    if word not in lexicon.words and len(word) > 2 and near <= (2 if len(word) > LONG else 1):
        return 1
    return 0 if len(word) <= SHORT and near <= 1 and word not in PLAIN else None


class Journey(Expert):
    """Serves the requests of a conversation one after the other."""

    def __init__(
        self,
        opening: str,
        calls: int,
        lexicon: ShopVocabulary,
        *,
        requests: Sequence[Request],
        experts: Mapping[str, Callable[..., Any]],
        find: Callable[[str], str],
        guess: Callable[[str], str],
    ) -> None:
        super().__init__(opening, calls, lexicon)
        self.requests, self.experts, self.find, self.guess = list(requests), experts, find, guess
        self.first = len(self.requests)

    def play(self) -> Acts:
        answers: list[str] = []

        def read(answer: str) -> bool:
            answers.append(answer)
            self.add_late_request()
            heard = self.read(answer, self.list_things(), case=True)
            return bool(heard or ARRIVAL.search(answer.lower()))

        yield from self.ask_for_more(read, keep=SPARE * len(self.requests))
        routed = self.route(answers)
        done: list[dict[str, Any]] = []
        place = 0
        while place < len(self.requests):
            later = len(self.requests) - place - 1
            done.append((yield from self.serve(self.requests[place], routed.get(place, []), keep=SPARE * later)))
            self.add_late_request()
            place += 1
        for number, answer in enumerate(done, 1):
            yield from self.submit(**answer, more=number < len(done))

    def add_late_request(self) -> None:
        """What the shopper brings up on the way is the last request."""
        for said in list(self.asides):
            _, colon, rest = said.partition(": ")
            text = rest if colon and len(said) - len(rest) < 60 else said
            situation = self.find(text) or (self.guess(text) if self.expects_more(text) else "")
            if situation and situation not in [request.situation for request in self.requests]:
                self.requests.append(Request(situation, text))
                self.asides.remove(said)

    def expects_more(self, text: str) -> bool:
        """Whether it was said that more comes later, and this is more than a remark."""
        opening = respell_cues(" ".join(self.opening.lower().split()), self.memory.lexicon.words)
        late = len(self.requests) == self.first and MORE_LATER.search(opening)
        return bool(late) and len(text.split()) > LONGEST_REMARK

    def serve(self, request: Request, told: Sequence[str], *, keep: int) -> Acts:
        """Its answer; so many calls are kept for those that follow."""
        keep = min(keep, self.left // 2)
        expert = self.experts[request.situation](request.text, self.left - keep, self.memory.lexicon)
        expert.reserve = keep
        expert.memory, expert.asides, expert.told = self.memory, self.asides, list(told)
        answer = yield from expert.solve(
            " ".join([request.text, *told]) if request.situation == "policy_qa" else request.text
        )
        self.left, self.asides = expert.left + expert.reserve, expert.asides
        return answer

    def route(self, answers: Sequence[str]) -> dict[int, list[str]]:
        """Which request each answer is about: as it says, else by what it says; they come in the order of the requests."""
        found: dict[int, list[str]] = {}
        now = 0
        for answer in answers:
            takers = self.list_takers(answer)
            if not takers:
                continue
            later = [place for place in takers if place >= now]
            place = later[0] if later else takers[0]
            now = max(now, place)
            found.setdefault(place, []).append(answer)
        return found

    def list_takers(self, answer: str) -> list[int]:
        """The requests that an answer may be about."""
        said = respell_cues(" ".join(answer.lower().split()), self.memory.lexicon.words)
        labelled = [
            place
            for place, request in enumerate(self.requests)
            if re.search(LABELS.get(request.situation, r"(?!)"), said)
        ]
        heard = self.read(answer, case=True)
        if labelled or SAID_BEFORE.search(said) or any(each.wish.kind == "likes" for each in heard):
            return labelled
        named = {each.wish.value for each in heard if each.wish.kind == "thing"}
        kinds = {each.wish.kind for each in heard}
        takers = next(filter(None, map(self.find_all, self.rank_situations(said, named, kinds))), [])
        return [place for place in takers if self.knows_values(place, heard)] or takers

    def knows_values(self, place: int, heard: Sequence[Said]) -> bool:
        """Whether things that a request names come with the values that were said."""
        things = {each.wish.value for each in self.read(self.requests[place].text) if each.wish.kind == "thing"}
        facts = [self.memory.lexicon.values(thing) for thing in things]
        held = {value.lower() for each in facts for values in each.values() for value in values}
        return all(each.wish.value in held or "brand" in each.wish.facts for each in heard if each.wish.kind == "value")

    def rank_situations(self, said: str, named: set[str], kinds: set[str]) -> list[tuple[str, ...]]:
        """What an answer without a label is about, the likeliest first."""
        listed = named & self.list_things("bundle_planning")
        ranked: list[tuple[str, ...]] = []
        if ITEM.search(said):
            ranked.append(("cart_building",))
        if BUDGET.search(said) and "price at most" in kinds:  # what an order came to is said to the cent
            ranked.append(("bundle_planning",))
        if IN_ORDER.search(said) or kinds & {"date", "span", "kinds", "order"}:
            ranked += [("return_replacement",)] if OF_LINE.search(said) else []
            ranked.append(("return_replacement", "order_tracking"))
        if listed:
            ranked.append(("bundle_planning",))
        if ARRIVAL.search(said) and not kinds & {"shipping days"}:
            ranked.append(("order_tracking",))
        if BUDGET.search(said) and "price" in kinds:
            ranked.append(("bundle_planning",))
        if "case" in kinds:
            ranked.append(("policy_qa",))
        return [*ranked, ("product_discovery", "substitution"), ("return_replacement",), ("order_tracking",)]

    def find_all(self, situations: Sequence[str]) -> list[int]:
        return [place for place, request in enumerate(self.requests) if request.situation in situations]

    def list_things(self, situation: str = "") -> set[str]:
        """The categories that the requests of a situation name, or all of them."""
        texts = [request.text for request in self.requests if situation in ("", request.situation)]
        return {each.wish.value for text in texts for each in self.read(text) if each.wish.kind == "thing"}
