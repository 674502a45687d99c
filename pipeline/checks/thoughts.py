"""What the thoughts of a rollout state, read from their words alone and proved against the question, the outputs and the log.

It shares nothing with what phrased them: it opens no phrase file. Every number, day, moment, name and column in a thought must stand in
the question, in an output before it or in the code, or follow from these by arithmetic that is listed here; and what a thought claims of
an output (nothing came, a tie, two ways agree, an error, so many rows of an action) must be so.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

from shopwright.pipeline.checks.question_words import DAY, parse_day_match
from shopwright.pipeline.rewards.matching import is_answer_shown
from shopwright.pipeline.sandbox.data_loader import list_event_columns
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import Rollout

MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
REPR = re.compile(
    r"datetime\.(?:datetime|date)\((\d+), (\d+), (\d+)(?:, (\d+))?(?:, (\d+))?(?:, (\d+))?[^()]*\)|date\((\d+), (\d+), (\d+)\)"
)
CLOCK = re.compile(r"-?\d+:\d\d:\d\d")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
DIGITS = re.compile(r"\d+(?:\.\d+)?")
QUOTED = re.compile(r'"([^"]*)"')
TICKED = re.compile(r"`([^`]*)`")
CAPITAL = re.compile(r"[A-Z][\w&'-]*")
SENTENCE = re.compile(r"(?<=[.?!;])\s+")
COUNTS = "two three four five six seven eight nine ten eleven twelve".split()
COUNT_WORD = re.compile(rf"\b({'|'.join(COUNTS)})\b", re.IGNORECASE)
OWN_WORDS = frozenset("I SQL NULL NaN NaT None True False Sat Sun DuckDB Python C".split())
"""Words with a capital that belong to nobody."""
HYPOTHETICAL = re.compile(
    r"\b(if|would|may|might|should|can|could|without|unless|whether|expect|->)\b|->|\?", re.IGNORECASE
)
NOTHING = re.compile(
    r"\b(frame is empty|is empty|nothing (came through|at all|there|found|equals|by title|in \d+|out of)|no row came back|"
    r"zero (of|out|rows)|no rows?\b(?! is| came twice)|0 of|both counts)",
    re.IGNORECASE,
)
"""Claims that an output has nothing."""
EMPTY = re.compile(r"(?<![\w.])0(?:\.0+)?(?![\w.])|\[\]|NaT|None|nan|Empty DataFrame|Series\(\[\]")
TIE = re.compile(
    r"\b(tie at|a tie|ties with|level at|are level|both have|shared|comes up more than once)\b", re.IGNORECASE
)
NO_TIE = re.compile(r"\bno tie\b|ties play no part|clearly apart", re.IGNORECASE)
AGREE = re.compile(r"\b(agrees?|(the|give the|comes to the) same|same result|say the same)\b", re.IGNORECASE)
DIFFER = re.compile(r"\b(differ|not the same|something else|mismatch)\b", re.IGNORECASE)
ERROR = re.compile(r"\b(\w+(?:Error|Exception))\b")
DECIDES = re.compile(
    r"\b(leaves just|which leaves|can only be|so that is the one|gives it away|one with|only .* has)\b", re.IGNORECASE
)
"""Claims that a detail tells one product from others of the last output."""
PRINTED_NAME = re.compile(r"'([^']*)'|\"([^\"]*)\"")
IN_ALL = re.compile(
    r"\b(whole log|in total|total of|in all(?! \d)|altogether|to start from|the log holds)\b", re.IGNORECASE
)
ORDERED = re.compile(
    r"\b(sorted,|sorted already|is in order|only increase|strictly increasing|order ok)", re.IGNORECASE
)
ROWS = {
    "searches": "search",
    "clicks": "click",
    "additions to the cart": "add to Cart",
    "cart additions": "add to Cart",
    "purchases": "purchase",
}
SCHEMA = " ".join(f"{name} {kind} {about}" for name, kind, about in list_event_columns())
GAP_MINUTES = "30"


@dataclass
class Known:
    """What may be spoken of at a turn: the question, and what was written and printed until then."""

    question: Question
    outputs: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([self.question.question, self.question.sql, SCHEMA, *self.outputs, *self.codes])

    @property
    def days(self) -> set[date]:
        """Those of the question and its query, with the day after each; and those of outputs."""
        asked = {parse_day_match(found) for found in DAY.finditer(f"{self.question.question}\n{self.question.sql}")}
        asked |= {each + timedelta(days=1) for each in asked if each < date.max}
        return asked | {each.date() for each in find_moments("\n".join(self.outputs))}

    @property
    def numbers(self) -> set[Decimal]:
        return set(map(Decimal, DIGITS.findall(self.text)))


def find_moments(text: str) -> set[datetime]:
    """Dates and times as tables and as Python print them; a date is its midnight.

    >>> sorted(map(str, find_moments("2024-05-03 10:00:01 and datetime.date(2024, 5, 4)")))
    ['2024-05-03 00:00:00', '2024-05-03 10:00:01', '2024-05-04 00:00:00']
    """
    found = {datetime.fromisoformat(f"{day} {time}") for day, time in MOMENT.findall(text)}
    for match in re.findall(r"\d{4}-\d\d-\d\d", text):
        try:
            found.add(datetime.fromisoformat(match))
        except ValueError:
            continue
    for match in REPR.finditer(text):
        numbers = [int(each) for each in match.groups() if each is not None]
        try:
            found.add(datetime(*numbers))  # type: ignore[arg-type]  # year, month, day and as much of the time as is printed
        except ValueError:
            continue
    return found


def split_thoughts(rollout: Rollout) -> list[str]:
    """What the agent says before each block, and at the end without its box."""
    turns = [each.content for each in rollout.messages[2:] if each.role == "assistant"]
    last = turns[-1].rpartition("\\boxed{")[0]
    return [*(each.partition("<code>")[0].strip() for each in turns[:-1]), last.strip()]


def find_thought_fault(rollout: Rollout, question: Question, events: Any) -> str | None:
    """The first statement of a thought that nothing bears out."""
    known = Known(question)
    actions = Counter(events["action_type"].to_pylist())
    times = events["timestamp"].to_pylist()
    thoughts = split_thoughts(rollout)
    for place, thought in enumerate(thoughts):
        code = rollout.calls[place].code if place < len(rollout.calls) else ""
        faults = [
            *find_unknown_facts(thought, known, code),
            *find_false_claims(thought, known, rollout, place),
            *find_false_counts(thought, actions),
        ]
        if ORDERED.search(thought) and times != sorted(set(times)):
            faults.append("an order that the log has not")
        if faults:
            return f"a thought that nothing bears out: {faults[0]}"
        if code:
            known.codes.append(code)
            known.outputs.append(rollout.calls[place].output)
    return find_repeated_sentence(thoughts)


# Facts


def find_unknown_facts(thought: str, known: Known, code: str) -> Iterator[str]:
    """Days, moments, spans, numbers, names and columns that come from nowhere."""
    outputs, text = "\n".join(known.outputs), known.text
    moments = find_moments(outputs)
    for day, time in MOMENT.findall(thought):
        if datetime.fromisoformat(f"{day} {time}") not in moments:
            yield f"the moment {day} {time}"
    rest = MOMENT.sub("x", thought)
    days = known.days
    for found in DAY.finditer(rest):
        if parse_day_match(found) not in days:
            yield f"the day {found[0]}"
    rest = DAY.sub("x", rest)
    for span in CLOCK.findall(rest):
        if not is_answer_shown(outputs, span, "duration"):
            yield f"the time {span}"
    rest = CLOCK.sub("x", rest)
    folded = fold_spaces(text)
    for quoted in QUOTED.findall(rest):
        if fold_spaces(quoted) not in folded:
            yield f'"{quoted}"'
    for ticked in TICKED.findall(rest):
        if ticked not in text and ticked not in code:
            yield f"`{ticked}`"
    yield from find_unknown_numbers(rest, known, outputs)
    for word in list_inner_capitals(rest):
        if word not in OWN_WORDS and word.casefold() not in folded:
            yield word


def list_inner_capitals(text: str) -> Iterator[str]:
    """Words with a capital that do not begin a sentence.

    >>> list(list_inner_capitals('Only Brooks fits. "So" it is, by Nike.'))
    ['Brooks', 'Nike']
    """
    begins = True
    for token in text.split():
        found = CAPITAL.match(token.lstrip('("'))
        if found and not begins:
            yield found[0].removesuffix("'s").rstrip("-'")
        begins = token.rstrip(')"`')[-1:] in ".?!:;" or not token.strip(')"')


def fold_spaces(text: str) -> str:
    return " ".join(text.casefold().split())


def find_unknown_numbers(rest: str, known: Known, outputs: str) -> Iterator[str]:
    """Numbers that do not stand there and do not follow by arithmetic."""
    numbers = known.numbers
    for found in NUMBER.findall(rest):
        number = Decimal(found.replace(",", ""))
        if number not in numbers and not follows(number, rest, known, outputs):
            yield found
    for word in COUNT_WORD.findall(rest):
        if Decimal(COUNTS.index(word.lower()) + 2) not in numbers:
            yield word


def follows(number: Decimal, rest: str, known: Known, outputs: str) -> bool:
    """Whether it is the number of days of the window, minutes or seconds of a span, a span in seconds, a rounded figure, or the session's gap."""
    asked = sorted(parse_day_match(found) for found in DAY.finditer(known.question.sql))
    if asked and "days" in rest and number == (asked[-1] - asked[0]).days + 1:
        return True
    printed = [int(float(each)) for each in DIGITS.findall(outputs) if "." not in each or each.endswith(".0")]
    if "min" in rest and any(number in (each // 60, each % 60) for each in printed):
        return True
    if f"{number}:00" in rest and number - 1 in known.numbers:  # an hour's end, of which the query has the last hour
        return True
    if str(number) == GAP_MINUTES and "1800" in known.question.sql:
        return True
    if number == number.to_integral_value() and is_answer_shown(outputs, format_clock(int(number)), "duration"):
        return True
    return is_answer_shown(outputs, str(number), "decimal")


def format_clock(seconds: int) -> str:
    """
    >>> format_clock(3661)
    '1:01:01'
    """
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


# Claims


def find_false_claims(thought: str, known: Known, rollout: Rollout, place: int) -> Iterator[str]:
    """Statements about the outputs so far that are not so."""
    last = known.outputs[-1] if known.outputs else ""
    recent, printed = "\n".join(known.outputs[-2:]), list(map(Decimal, DIGITS.findall(last)))
    for sentence in SENTENCE.split(thought):
        if (
            NOTHING.search(sentence)
            and not HYPOTHETICAL.search(sentence)
            and known.outputs
            and not EMPTY.search(recent)
        ):
            yield f"that nothing came: {sentence}"
        numbers = list_sizes(sentence)
        if NO_TIE.search(sentence):
            if len(numbers) >= 2 and len(set(numbers)) == 1:
                yield f"that there is no tie: {sentence}"
        elif TIE.search(sentence) and numbers and not any(printed.count(each) > 1 for each in numbers):
            yield f"a tie: {sentence}"
        for quoted in QUOTED.findall(sentence) if DECIDES.search(sentence) else []:
            if count_names(quoted, last) != 1:
                yield f"that one name alone has it: {sentence}"
        for error in ERROR.findall(sentence):
            if not any(error in call.output for call in rollout.calls[:place] if not call.ok):
                yield f"the error {error}"
        if (
            place == len(rollout.calls)
            and AGREE.search(sentence)
            and not DIFFER.search(sentence)
            and not ways_agree(rollout)
        ):
            yield f"that two ways agree: {sentence}"


def count_names(part: str, output: str) -> int:
    """How many of the names in a printed list have this part."""
    names = [one or other for one, other in PRINTED_NAME.findall(output)]
    return sum(part.casefold() in name.casefold() for name in names)


def list_sizes(sentence: str) -> list[Decimal]:
    """The numbers of a sentence that are no part of days and moments."""
    rest = DAY.sub(" ", MOMENT.sub(" ", sentence))
    found = []
    for each in NUMBER.findall(rest):
        try:
            found.append(Decimal(each.replace(",", "")))
        except InvalidOperation:
            continue
    return found


def ways_agree(rollout: Rollout) -> bool:
    """Whether two different blocks printed the answer, the last of them among these."""
    kind = guess_answer_type(rollout.answer)
    shown = [is_answer_shown(call.output, rollout.answer, kind) for call in rollout.calls if call.ok]
    return len(shown) > 1 and shown[-1] and any(shown[:-1])


def guess_answer_type(answer: str) -> str:
    """The type by the text's form, as far as it matters for finding it in an output.

    >>> guess_answer_type("3"), guess_answer_type("1:02:03"), guess_answer_type("a; b"), guess_answer_type("none")
    ('decimal', 'duration', 'set', 'none')
    """
    if answer == "none":
        return "none"
    if re.fullmatch(r"-?\d+:\d\d:\d\d", answer):
        return "duration"
    if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", answer):
        return "date-time"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", answer):
        return "date"
    if re.fullmatch(r"-?\d+(\.\d+)?", answer):
        return "decimal"
    if re.fullmatch(r"(yes|no)(; (yes|no))*", answer):
        return "yes/no"
    return "set" if "; " in answer else "text"


def find_false_counts(thought: str, actions: Counter[str]) -> Iterator[str]:
    """Totals of an action over the whole log that are another number there."""
    for sentence in SENTENCE.split(thought):
        if not IN_ALL.search(sentence) or HYPOTHETICAL.search(sentence):
            continue
        named = [action for words, action in ROWS.items() if words in sentence]
        numbers = list_sizes(sentence)
        if len(set(named)) == 1 and len(numbers) == 1 and int(numbers[0]) != actions[named[0]]:
            yield f"a total: {sentence}"


def find_repeated_sentence(thoughts: list[str]) -> str | None:
    """No sentence comes twice in an episode."""
    sentences = map(str.split, chain.from_iterable(map(SENTENCE.split, thoughts)))
    found = Counter(" ".join(words) for words in sentences if len(words) > 3)
    again = [sentence for sentence, times in found.items() if times > 1]
    return f"a thought twice: {again[0]}" if again else None
