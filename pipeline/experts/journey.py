"""Several requests in one conversation: each served by its own expert with one memory, answered in the order asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shopwright.pipeline.experts.beliefs import Said
from shopwright.pipeline.experts.cart import ITEM
from shopwright.pipeline.experts.expert import Acts, Expert
from shopwright.pipeline.experts.lists import BUDGET
from shopwright.pipeline.experts.orders import ARRIVAL
from shopwright.pipeline.experts.recognize import RULE, respell_cues
from shopwright.pipeline.experts.requests import LIMITS, ONE_KIND, Request
from shopwright.pipeline.reading.wishes import ShopVocabulary

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
OF_LINE = re.compile(
    r"\beach\b|\ba piece\b|\bapiece\b|\bcame with it\b|\bsame order\b|\bthat order\b|\bpaid for it\b|\bit cost\b"
)
"""What is said of one line of an order."""
CENTS = re.compile(r"\$\d+\.\d\d\b")
"""A price to the cent, as of what was bought."""
LONGEST_REMARK = 12
"""Words of a remark; a request has more."""
NOTHING_MORE = re.compile(
    r"\b(?:nothing|no|nope|nah|none|that(?:'s| is)? (?:it|all|everything)|everything|have it all|covers it|full list|all i (?:want|need|have))\b"
)
"""How a shopper says that all is told."""
UNREAD = 1
"""Answers that are not understood before no more is asked."""
SPARE = 6
"""Calls that each request is left with when it is asked for details."""
VALUE_APART = 3
"""How doubtful it is that an answer belongs to a request none of whose things has what it says."""
THING_APART = 4
"""How doubtful it is that an answer about one kind of thing belongs to a request for another."""
UNLIKELY = 5
"""The rank of a request that nothing in an answer speaks for."""
ASKS_FOR_LIKE = re.compile(
    r"\b(?:like|alike|similar|substitute|closest|nearest|near|close|alternative|twin|sibling|cousin|lookalike|dupe|instead|best|same|kind|sort|what now)\b"
)
"""How somebody asks for another product in place of one that is sold out."""


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

        unread = 0

        def read(answer: str) -> bool:
            nonlocal unread
            self.add_late_request()
            heard = self.read(answer, self.list_things(), case=True)
            known = NOTHING_MORE.search(answer.lower()) or SAID_BEFORE.search(answer.lower())
            news = bool(heard or ARRIVAL.search(answer.lower()) or (self.is_a_kind_unread() and not known))
            answers.extend([answer] if news else [])
            unread += not news
            return news or (unread <= UNREAD and NOTHING_MORE.search(answer.lower()) is None)

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

    def is_a_kind_unread(self) -> bool:
        """Whether a request is for a product whose kind is not read from its words: what is told of it is read when the product is found."""
        texts = [request.text for request in self.requests if request.situation in ONE_KIND]
        return any(all(each.wish.kind != "thing" for each in self.read(text)) for text in texts)

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
        answer = yield from expert.solve(request.text)
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
        if self.requests[place].situation not in ONE_KIND:
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
        if OF_LINE.search(said) and CENTS.search(said):
            ranked.append(("return_replacement",))
        if INSTEAD.search(said):
            ranked.append(("return_replacement",))
        if BUDGET.search(said) and "price at most" in kinds:  # what an order came to is said to the cent
            ranked.append(("bundle_planning",))
        if sum(each.wish.kind == "thing" for each in heard) > 2:
            ranked.append(("bundle_planning",))
        if listed and "value" in kinds:  # of a thing of the list, though it may have something "in it"
            ranked.append(("bundle_planning",))
        if IN_ORDER.search(said) or kinds & {"date", "span", "kinds", "order"}:
            ranked += [("return_replacement",)] if OF_LINE.search(said) else []
            ranked.append(("return_replacement", "order_tracking", *(["policy_qa"] if "case" in kinds else [])))
        if "thing" in kinds and not listed:
            ranked.append(("product_discovery", "substitution", "cart_building"))
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
