"""Several requests in one conversation: taken apart, each served by its own expert with one memory, answered in the order asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import chain, combinations
from typing import Any, NamedTuple

from shopwright.pipeline.experts.beliefs import Said, read_placed
from shopwright.pipeline.experts.cart import ITEM
from shopwright.pipeline.experts.expert import Acts, Expert
from shopwright.pipeline.experts.lists import BUDGET
from shopwright.pipeline.experts.orders import ARRIVAL
from shopwright.pipeline.experts.policy import NO_DAY, asks_by_name
from shopwright.pipeline.experts.recognize import ASKS_RULE, LONG, RULE, STATUS, count_slips, respell_cues
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
MORE_LATER = re.compile(
    r"\b(?:more|else|another|rest|other|further|last point)\b[^.!?]{0,30}\b(?:later|after\w*|through|come|follows)\b|\blater\b[^.!?]{0,30}\b(?:more|thing|request)\b"
    r"|\b(?:for later|can wait|to come|rest later|rest follows|then one more|one thing at a time)\b|\bi say the other later\b"
    r"|\b(?:one (?:more|further|other)|another) (?:thing|request|matter|point)\b(?![^.!?]*:)"
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
    r"|\beach\b|\ba piece\b|\bapiece\b|\bdifferent (?:things|products|articles|items)\b|\bamong the things\b|\bcontain\w*\b|\bincluded\b"
)
VIEWED = re.compile(r"\b(?:viewed|look(?:ed|ing) at|had open|clicked|opened|i saw)\b")
INSTEAD = re.compile(
    r"\b(?:instead|replacement|replace|exchange|swap|refund|another one|just the return|in (?:its|their) place)\b"
)
LIMITS = ("price", "price at most", "price between", "rating", "shipping days")
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


PLAIN = frozenset("know have need want tell that they what make like will".split())
"""Short words that are no slip."""
SHORT = 4
"""Letters of a word that a slip may make of any other."""


VALUE_APART = 3
"""How doubtful it is that an answer belongs to a request none of whose things has what it says."""
THING_APART = 4
"""How doubtful it is that an answer about one kind of thing belongs to a request for another."""
UNLIKELY = 5
"""The rank of a request that nothing in an answer speaks for."""
MOST_REQUESTS = 5
UNCLEAR = 0.6
"""Against a way to cut: a piece of which it is not clear what it asks for."""
PASSED_OVER = 0.3
"""Against it: words that may begin a request, and were not taken so."""


STRAY = 0.7
"""Against it: a piece with words that belong to another."""
DETAIL = re.compile(r"(?:(?:and|also|plus|but|i (?:do )?(?:wish|want|need)),? )?(?:as )?(?:for )?(?:the )?")
"""What stands before a thing of which a detail is told after it was named."""
DAY_OF_ARRIVAL = re.compile(r"\barrival\b|\b(?:day|date|when) it (?:comes|gets|arrives|is here)\b")
OTHER_VERSION = re.compile(r"\b(?:(?:different|other|another) version|same thing)\b")
ONE_KIND = ("product_discovery", "substitution")
"""Requests for one product."""
OF_SEVERAL = ("bundle_planning", "cart_building")
"""Requests that name several things, of each of which there may be details."""


ASKS_FOR_LIKE = re.compile(
    r"\b(?:like|alike|similar|substitute|closest|nearest|near|close|alternative|twin|sibling|cousin|lookalike|dupe|instead|best|same|kind|sort|what now)\b"
)
"""How somebody asks for another product in place of one that is sold out."""


class Request(NamedTuple):
    """One of the things that are asked."""

    situation: str
    text: str


class Piece(NamedTuple):
    """What a piece of a text asks for, whether its words say so, and the things that it names, in their order."""

    situation: str
    is_clear: bool
    text: str
    things: Sequence[Said]

    def count_strays(self, before: Sequence["Piece"]) -> int:
        """How many signs there are that some of its words belong to a piece before it, or to one that was not cut off."""
        plain = " ".join(self.text.lower().split())
        return (
            (self.situation in ONE_KIND and len(self.list_kinds()) > 1)
            + self.begins_with_detail(before)
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
    cuts = [(start, found.end()) for found in COLON.finditer(plain) if (start := find_next(found, lexicon)) > 0]
    judged = cache(partial(judge_request, judge=judge, lexicon=lexicon))
    ways = chain.from_iterable(combinations(cuts, count) for count in range(min(len(cuts), MOST_REQUESTS - 1) + 1))
    cut = [[judged(piece) for piece in cut_text(plain, way)] for way in ways]
    best = max(cut, key=lambda pieces: weigh_pieces(pieces, len(cuts)))
    return [Request(piece.situation, piece.text) for piece in best]


def cut_text(text: str, cuts: Sequence[tuple[int, int]]) -> list[str]:
    """The pieces between the cuts, each of which begins and ends somewhere."""
    begins, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True)]


def judge_request(text: str, *, judge: Callable[[str], tuple[str, bool]], lexicon: ShopVocabulary) -> Piece:
    """What a piece asks for, and whether its words say so: what only tells of a case or an order does not ask."""
    situation, sure = judge(text)
    asks = respell_cues(text.lower(), lexicon.words)
    if situation == "order_tracking" and not STATUS.search(asks) and not ARRIVAL.search(asks):
        sure = False
    if situation == "policy_qa" and "?" not in text and not ASKS_RULE.search(asks) and not asks_by_name(asks):
        sure = False
    things = [each for each in read_placed(text, lexicon, NO_DAY) if each.wish.kind == "thing"]
    return Piece(situation, sure, text, things)


def weigh_pieces(pieces: Sequence[Piece], cuts: int) -> float:
    """How much sense it makes: each request is clear, of its own kind and whole, and nothing was passed over that says that another follows."""
    kinds = len({each.situation for each in pieces})
    clear = sum(each.is_clear for each in pieces)
    strays = sum(each.count_strays(pieces[:place]) for place, each in enumerate(pieces))
    wrong = UNCLEAR * (len(pieces) - clear) + 2 * (len(pieces) - kinds) + STRAY * strays
    return clear - wrong - PASSED_OVER * (cuts + 1 - len(pieces))


def find_next(found: re.Match[str], lexicon: ShopVocabulary) -> int:
    """Where the words before a colon begin that only say that something else follows; -1 where there are none."""
    words = list(re.finditer(r"[\w']+", found["words"]))
    meant = [respell_next_word(word[0].lower(), lexicon) for word in words]
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
    near = min((count_slips(word, other), other) for other in sorted(NEXT_WORDS) if abs(len(other) - len(word)) <= 2)
    if not known and len(word) > 2 and near[0] <= (2 if len(word) > LONG else 1):
        return near[1]
    short = len(word) <= SHORT and near[0] <= 1 and word not in PLAIN and not word.isdigit()
    return "" if short or not known else None


def count_settled(way: Sequence[int], place: int, topics: Sequence[frozenset[str]]) -> int:
    """How many answers of this request settle what the last one settles; `way`: the places of those before it."""
    return sum(at == place and bool(topic & topics[-1]) for at, topic in zip(way, topics, strict=False))


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
            self.add_late_request()
            heard = self.read(answer, self.list_things(), case=True)
            news = bool(heard or ARRIVAL.search(answer.lower()))
            answers.extend([answer] if news else [])
            return news

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
        """What the shopper brings up on the way is the last request; there is one at most."""
        for said in list(self.asides):
            if len(self.requests) > self.first:
                return
            _, colon, rest = said.partition(": ")
            text = rest if colon and len(said) - len(rest) < 60 else said
            situation = self.find(text) or (self.guess(text) if self.expects_more(text) else "")
            asks = respell_cues(text.lower(), self.memory.lexicon.words)
            if situation == "substitution" and not ASKS_FOR_LIKE.search(asks):
                continue  # only a remark that something sold out
            if situation and situation not in [request.situation for request in self.requests]:
                self.requests.append(Request(situation, text))
                self.asides.remove(said)

    def expects_more(self, text: str) -> bool:
        """Whether it was said that more comes later, and this asks for something or is more than a remark."""
        opening = respell_cues(" ".join(self.opening.lower().split()), self.memory.lexicon.words)
        return MORE_LATER.search(opening) is not None and ("?" in text or len(text.split()) > LONGEST_REMARK)

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
        """Which request each answer is about: as it says, else as all of them fit best together, for they come in the order of the requests."""
        found: dict[int, list[str]] = {}
        told = [(answer, self.list_labelled(answer)) for answer in answers]
        loose = [answer for answer, labelled in told if labelled is None]
        topics = [self.list_topics(answer) for answer in loose]
        places = iter(self.place_in_order([self.weigh_takers(answer) for answer in loose], topics))
        for answer, labelled in told:
            for place in [next(places)] if labelled is None else labelled[:1]:
                found.setdefault(place, []).append(answer)
        return found

    def place_in_order(self, doubts: Sequence[Sequence[int]], topics: Sequence[frozenset[str]] = ()) -> list[int]:
        """For each answer the place of its request, none before that of the answer before, with the least doubt in all.

        topics: what each answer settles; a request that two answers settle alike is doubtful.
        """
        best: list[tuple[int, list[int]]] = [(0, []) for _ in self.requests]
        for number, each in enumerate(doubts):
            until = [min(best[: place + 1], key=lambda way: way[0]) for place in range(len(best))]
            best = [
                (doubt + each[place] + count_settled(way, place, topics[: number + 1]), [*way, place])
                for place, (doubt, way) in enumerate(until)
            ]
        return min(best, key=lambda way: way[0])[1]

    def list_topics(self, answer: str) -> frozenset[str]:
        """The limits that an answer sets, each of which a request for one product has once."""
        return frozenset(each.wish.kind for each in self.read(answer, self.list_things()) if each.wish.kind in LIMITS)

    def list_labelled(self, answer: str) -> list[int] | None:
        """The requests that an answer names, or none if it is no news; None where it does not say what it is about."""
        said = respell_cues(" ".join(answer.lower().split()), self.memory.lexicon.words)
        labelled = [
            place
            for place, request in enumerate(self.requests)
            if re.search(LABELS.get(request.situation, r"(?!)"), said)
        ]
        likes = any(each.wish.kind == "likes" for each in self.read(answer, case=True))
        return labelled if labelled or likes or SAID_BEFORE.search(said) else None

    def weigh_takers(self, answer: str) -> list[int]:
        """For each request how doubtful it is that an answer without a label is about it."""
        said = respell_cues(" ".join(answer.lower().split()), self.memory.lexicon.words)
        heard = self.read(answer, self.list_things(), case=True)
        ranked = self.rank_situations(said, heard)
        doubts = []
        for place, request in enumerate(self.requests):
            rank = next((rank for rank, group in enumerate(ranked) if request.situation in group), UNLIKELY)
            other = THING_APART * self.names_other_thing(place, heard)
            strange = VALUE_APART * (not self.knows_values(place, heard))
            doubts.append(2 * rank + strange + self.says_otherwise(place, heard) + other)
        return doubts

    def names_other_thing(self, place: int, heard: Sequence[Said]) -> bool:
        """Whether an answer names a kind of thing of which a request for one product does not speak."""
        if self.requests[place].situation not in ("product_discovery", "substitution"):
            return False
        own = {each.wish.value for each in self.read(self.requests[place].text) if each.wish.kind == "thing"}
        named = {each.wish.value for each in heard if each.wish.kind == "thing"}
        return bool(own and named) and own.isdisjoint(named)

    def knows_values(self, place: int, heard: Sequence[Said]) -> bool:
        """Whether things that a request names come with the values that were said; also where it was not read what it names."""
        things = {each.wish.value for each in self.read(self.requests[place].text) if each.wish.kind == "thing"}
        facts = [self.memory.lexicon.values(thing) for thing in things]
        held = {value.lower() for each in facts for values in each.values() for value in values}
        values = [each.wish for each in heard if each.wish.kind == "value"]
        return not things or all(wish.value in held for wish in values)

    def says_otherwise(self, place: int, heard: Sequence[Said]) -> bool:
        """Whether a request has its own word already on what was said."""
        own = [
            each.wish for each in self.read(self.requests[place].text) if each.wish.facts or each.wish.kind in LIMITS
        ]
        return any(each.wish.kind == wish.kind and each.wish.facts == wish.facts for each in heard for wish in own)

    def rank_situations(self, said: str, heard: Sequence[Said]) -> list[tuple[str, ...]]:
        """What an answer without a label is about, the likeliest first."""
        kinds = {each.wish.kind for each in heard}
        listed = {each.wish.value for each in heard if each.wish.kind == "thing"} & self.list_things("bundle_planning")
        ranked: list[tuple[str, ...]] = []
        if ITEM.search(said) or RULE.search(said) or VIEWED.search(said):
            ranked.append(("cart_building",))
        if INSTEAD.search(said):
            ranked.append(("return_replacement",))
        if BUDGET.search(said) and "price at most" in kinds:  # what an order came to is said to the cent
            ranked.append(("bundle_planning",))
        if sum(each.wish.kind == "thing" for each in heard) > 2:
            ranked.append(("bundle_planning",))
        if IN_ORDER.search(said) or kinds & {"date", "span", "kinds", "order"}:
            ranked += [("return_replacement",)] if OF_LINE.search(said) else []
            ranked.append(("return_replacement", "order_tracking", *(["policy_qa"] if "case" in kinds else [])))
        if listed and kinds != {"thing"}:
            ranked.append(("bundle_planning",))
        if ARRIVAL.search(said) and not kinds & {"shipping days"}:
            ranked.append(("order_tracking",))
        if BUDGET.search(said) and "price" in kinds:
            ranked.append(("bundle_planning",))
        if "case" in kinds:
            ranked.append(("policy_qa",))
        return [*ranked, ("product_discovery", "substitution"), ("return_replacement",), ("order_tracking",)]

    def list_things(self, situation: str = "") -> set[str]:
        """The categories that the requests of a situation name, or all of them."""
        texts = [request.text for request in self.requests if situation in ("", request.situation)]
        return {each.wish.value for text in texts for each in self.read(text) if each.wish.kind == "thing"}
