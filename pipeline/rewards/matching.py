"""Whether what an agent said means the answer, and whether the answer is to be seen in what a tool printed.

| type | what is taken for the canonical text | what is not |
| --- | --- | --- |
| integer | 1234: 1,234 · 1234.0 | 1234 % · number words · 1 234 |
| decimal | 66.70: 66.7 · 66.7 % · 66.7 percent | a share of one (0.667) · more digits (66.71) |
| money | 1299.00: $1,299 · 1299 USD · 1299.0 dollars | another currency · parts of a cent |
| date | 2024-05-12: 2024/5/12 · May 12, 2024 · Sunday, 12 May 2024 | 12/05/2024 · no year · the wrong weekday |
| date-time | 2024-05-12 21:00:01: with T · May 12, 2024 at 9:00:01 PM | a time zone · no seconds, where they are not 00 |
| duration | 26:04:59: 1 day, 2:04:59 · 26h 4m 59s · 93899 · 93899 seconds | 4:59 |
| text | any case and white space, in quotes, with a full stop | other words |
| set | in any order; one a line, or with `;`, or a Python or JSON list; with commas where no element has one | one twice |
| ordered list | as a set, in order | another order |
| yes/no | yes; no: Yes, no · [True, False] | 1 and 0 |
| none | none, None | nothing, null, 0, an empty list |

Two texts that differ only in case, width, white space, the shape of quotes and dashes, quotes around them or a last full stop
count as the same; `strict` tells them apart.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, time
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from itertools import chain
from typing import Any
from unicodedata import normalize

# Characters by which what was said may be longer than the answer; longer is wrong unread.
LONGEST = 10_000
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
MONTH_NAMES = "january february march april may june july august september october november december".split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
SAME_CHARACTERS = str.maketrans("‘’ʼ“”‐‒–—−", "'''\"\"-----")
VOTES = {"yes": True, "true": True, "no": False, "false": False}
UNITS = {"d": 86_400, "day": 86_400, "h": 3_600, "hr": 3_600, "hour": 3_600} | {
    "m": 60, "min": 60, "minute": 60, "s": 1, "sec": 1, "second": 1
}  # fmt: skip
NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)")
DAYS = [
    re.compile(rf"(?:(?P<weekday>[a-z]+),? )?{form}")
    for form in (
        r"(?P<year>\d{4})(?P<dash>[-/])(?P<month>\d{1,2})(?P=dash)(?P<day>\d{1,2})",
        r"(?P<month>[a-z]+)\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})",
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?P<month>[a-z]+)\.?,? (?P<year>\d{4})",
    )
]
MOMENT = re.compile(r"(.+?)(?:,? (?:at )?|t)(\d{1,2}):(\d\d)(?::(\d\d)(?:\.0+)?)?(?: ?([ap])\.?m\.?)?")
CLOCK = r"(?:(?P<days>-?\d{1,9}) days?,? \+?|(?P<minus>-))?(?P<hours>\d{1,9}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)"
SPAN = re.compile(rf"{CLOCK}(?:\.0+)?")
WITH_UNITS = re.compile(r"(?:\d{1,9} ?[a-z]+(?:,? (?:and )?|$))+")
QUOTED = r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
LITERAL = re.compile(rf"(?:(?:frozen)?set\()?[\[({{]\s*{QUOTED}(?:\s*,\s*{QUOTED})*\s*,?\s*[\])}}]\)?")


def extract_boxed_answer(text: str) -> str | None:
    r"""What stands in the last `\boxed{}`, without LaTeX's dressing; None where there is none, or it never closes.

    >>> extract_boxed_answer(r"It was \boxed{3}, no: \boxed{\text{66.7}\%}."), extract_boxed_answer(r"\boxed{3")
    ('66.7%', None)
    """
    openings = list(re.finditer(r"\\boxed\s*\{", text))
    if not openings:
        return None
    start, depth = openings[-1].end(), 1
    for brace in re.finditer(r"\\.|[{}]", text[start:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(brace.group(), 0)
        if not depth:
            return strip_latex(text[start : start + brace.start()])
    return None


def strip_latex(latex: str) -> str:
    r"""
    >>> strip_latex(r"\$1{,}299.00"), strip_latex(r"$12\,500$"), strip_latex(r"\text{Pell \& Thatch}")
    ('$1,299.00', '12500', 'Pell & Thatch')
    """
    text = re.sub(r"\{([,:])\}", r"\1", latex.strip())
    for _ in range(4):  # dressed more often than that, it is no answer, and nesting without end would take minutes
        text = re.sub(r"\\(?:text\w{0,2}|math\w{2}|mbox)\s*\{([^{}]*)\}", r"\1", text)
        text = re.sub(r"^(\$\$?|\\\()(.*)(?<!\\)(?:\1|\\\))$", r"\2", text, flags=re.DOTALL).strip()
    text = re.sub(r"(?<=\d)\\[,!](?=\d)", "", text.replace(r"\\", "\n"))
    return re.sub(r"\\([$%_&#{}])", r"\1", re.sub(r"\\[,;:! ]", " ", text)).strip()


def is_right_answer(said: str | None, answer: str, answer_type: str, *, strict: bool = False) -> bool:
    """Does what was said mean this canonical answer? Strict: the same text, white space around it aside.

    >>> is_right_answer("$1,299", "1299.00", "money"), is_right_answer("1 day, 2:04:59", "26:04:59", "duration"), is_right_answer("b, a", "a; b", "set")
    (True, True, True)
    >>> is_right_answer("12/05/2024", "2024-05-12", "date"), is_right_answer("0", "none", "none"), is_right_answer("none", "0", "integer")
    (False, False, False)
    """
    if said is None or not said.strip() or len(said) > LONGEST + len(answer):
        return False
    if strict:
        return said.strip() == answer.strip()
    if answer_type in ("set", "ordered list"):
        order: Callable[[list[str]], list[str]] = list if answer_type == "ordered list" else sorted
        elements = order(split_elements([answer]))
        return any(order(split_elements(reading)) == elements for reading in list_possible_lists(said))
    read = READERS[answer_type]
    truth = read(answer)
    return truth is not None and read(said) == truth


def fold_answer(text: str) -> str:
    """Without what differs between two writings of the same text."""
    text = normalize("NFKC", normalize("NFKC", text).translate(SAME_CHARACTERS).casefold())
    return " ".join(text.split())


def strip_answer_quotes(text: str) -> str:
    """Folded, without quotes around it and a last full stop.

    >>> strip_answer_quotes('"Pell & Thatch".'), strip_answer_quotes('12"')
    ('pell & thatch', '12"')
    """
    bare = fold_answer(text)
    for _ in range(2):
        bare = bare.removesuffix(".")
        if len(bare) > 2 and bare[0] == bare[-1] and bare[0] in "\"'`":
            bare = bare[1:-1].strip()
    return bare


def parse_answer_number(text: str) -> Decimal | None:
    """
    >>> parse_answer_number("1,234.50"), parse_answer_number("1,23"), parse_answer_number("nan"), parse_answer_number("1e9")
    (Decimal('1234.50'), None, None, None)
    """
    text = fold_answer(text).removesuffix(".")
    return Decimal(text.replace(",", "")) if NUMBER.fullmatch(text) else None


def parse_answer_percent(text: str) -> Decimal | None:
    return parse_answer_number(re.sub(r" ?(?:%|per ?cent)\.?$", "", fold_answer(text)))


def parse_answer_money(text: str) -> Decimal | None:
    return parse_answer_number(re.sub(r"^(-?)(?:(?:us)?\$|usd) ?| ?(?:usd|dollars?|\$)\.?$", r"\1", fold_answer(text)))


def parse_answer_day(text: str) -> date | None:
    """
    >>> parse_answer_day("Sun, May 12th, 2024"), parse_answer_day("Mon, May 12th, 2024"), parse_answer_day("12/05/2024")
    (datetime.date(2024, 5, 12), None, None)
    """
    text = fold_answer(text).removesuffix(".").removesuffix(" 00:00:00")
    found = next((match for form in DAYS if (match := form.fullmatch(text))), None)
    if found is None or (month := parse_month(found["month"])) is None:
        return None
    with suppress(ValueError):
        meant = date(int(found["year"]), month, int(found["day"]))
        if (found["weekday"] or WEEKDAYS[meant.weekday()]) in (name := WEEKDAYS[meant.weekday()], name[:3]):
            return meant
    return None


def parse_month(name: str) -> int | None:
    if name.isdigit():
        return int(name)
    for names in (MONTHS, MONTH_NAMES, [*MONTHS[:8], "sept"]):
        if name in names:
            return names.index(name) + 1
    return None


def parse_answer_moment(text: str) -> datetime | None:
    """
    >>> parse_answer_moment("2024-05-12T09:00"), parse_answer_moment("May 12, 2024, 9:00:01 pm")
    (datetime.datetime(2024, 5, 12, 9, 0), datetime.datetime(2024, 5, 12, 21, 0, 1))
    """
    found = MOMENT.fullmatch(fold_answer(text).removesuffix("."))
    if found is None or (meant := parse_answer_day(found[1])) is None:
        return None
    hour, half = int(found[2]), found[5]
    if half and not 1 <= hour <= 12:
        return None
    with suppress(ValueError):
        hour = hour % 12 + 12 * (half == "p") if half else hour
        return datetime.combine(meant, time(hour, int(found[3]), int(found[4] or 0)))
    return None


def parse_answer_duration(text: str) -> Decimal | None:
    """In seconds.

    >>> parse_answer_duration("26 hours, 4 minutes and 59 seconds"), parse_answer_duration("-1 days +23:59:55"), parse_answer_duration("4:59")
    (Decimal('93899'), Decimal('-5'), None)
    """
    text = fold_answer(text).removesuffix(".")
    if found := SPAN.fullmatch(text):
        return Decimal(count_clock_seconds(found))
    if WITH_UNITS.fullmatch(text):
        return sum_duration_units(re.findall(r"(\d+) ?([a-z]+)", text))
    return parse_answer_number(text)


def count_clock_seconds(clock: re.Match[str]) -> int:
    hours, minutes, seconds = (int(clock[part]) for part in ("hours", "minutes", "seconds"))
    length = hours * 3_600 + minutes * 60 + seconds
    return int(clock["days"]) * 86_400 + length if clock["days"] else -length if clock["minus"] else length


def sum_duration_units(parts: list[tuple[str, str]]) -> Decimal | None:
    """Each unit once, the long ones first."""
    units = [UNITS.get(name, UNITS.get(name.removesuffix("s"), 0)) for _, name in parts]
    if 0 in units or units != sorted(set(units), reverse=True):
        return None
    return Decimal(sum(int(count) * unit for (count, _), unit in zip(parts, units, strict=True)))


def parse_votes(text: str) -> list[bool] | None:
    """
    >>> parse_votes("[True, False]"), parse_votes("yes; no."), parse_votes("yes, perhaps")
    ([True, False], [True, False], None)
    """
    words = re.sub(r"[\[\](){}'\";,]", " ", strip_answer_quotes(text)).split()
    return [VOTES[word] for word in words] if words and all(word in VOTES for word in words) else None


def parse_none_answer(text: str) -> bool | None:
    return True if strip_answer_quotes(text) == "none" else None


READERS: dict[str, Callable[[str], Any]] = {
    "integer": parse_answer_number, "decimal": parse_answer_percent, "money": parse_answer_money, "date": parse_answer_day, "date-time": parse_answer_moment, "duration": parse_answer_duration,
    "text": strip_answer_quotes, "yes/no": parse_votes, "none": parse_none_answer,
}  # fmt: skip


def split_elements(elements: list[str]) -> list[str]:
    """Of elements with a `;` in them the parts: the canonical text cannot tell the two apart."""
    parts = chain.from_iterable(element.split(";") for element in elements)
    return [strip_answer_quotes(part) for part in parts if part.strip()]


def list_possible_lists(said: str) -> Iterator[list[str]]:
    """The lists that a text can mean."""
    text = said.strip()
    yield [text]
    if LITERAL.fullmatch(text):
        yield [unescape_text(found[1:-1]) for found in re.findall(QUOTED, text)]
    lines = text.splitlines()
    yield lines
    yield [re.sub(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+", "", line) for line in lines]
    bare = text[1:-1] if text[0] + text[-1] in ("[]", "()", "{}") else text
    yield [bare]
    yield re.split(r"[,;\n]", bare)


def unescape_text(text: str) -> str:
    r"""
    >>> unescape_text(r"O\'Neill caf\u00e9")
    "O'Neill café"
    """
    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", decode_escape, text, flags=re.DOTALL)


def decode_escape(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else {"n": "\n", "t": "\t"}.get(escape[3], escape[3])


# What a tool printed.

DATED = re.compile(r"datetime\.\w+\([^()]*\)|(?<!\d)\d{4}-\d\d-\d\d(?:[T ][0-2]\d:\d\d(?::\d\d)?(?:\.\d+)?)?(?!\d)")
SEPARATE = re.compile(r"[^\s()\[\]{}'\"=|;$%<>*`]+")
PRINTED = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d{1,2})?")
NOTHING = re.compile(
    r"(?<!\w)(?:none|nan|nat|null)(?!\w)|<na>|\[\]|\(\)|\{\}|empty dataframe|series\(\[\]|(?<![\d,.])0 rows"
)
# For numbers that a tool may print: up to 40 digits, times 10 to the 99.
ROOM = Context(prec=200)


def is_answer_shown(output: str, answer: str, answer_type: str) -> bool:
    """Is this canonical answer to be seen in a tool's output? It sees that it is there, not what it is there for.

    >>> is_answer_shown("[(Decimal('24.95'),)]", "24.95", "money"), is_answer_shown("66.66666666666667", "66.7", "decimal")
    (True, True)
    >>> is_answer_shown("2024-05-12", "12", "integer"), is_answer_shown("Oak lamp", "a lamp", "text"), is_answer_shown("[]", "none", "none")
    (False, False, True)
    """
    match answer_type:
        case "integer":
            return parse_answer_number(answer) in find_lone_numbers(output)
        case "decimal" | "money":
            return any(is_rounded_to(each, answer) for each in find_lone_numbers(output))
        case "date":
            return shows_day(output, answer)
        case "date-time":
            return shows_moment(output, answer)
        case "duration":
            return parse_answer_duration(answer) in [*find_lone_numbers(output), *find_durations(output)]
        case "text":
            return compile_word_pattern(answer).search(fold_answer(output)) is not None
        case "set":
            return shows_all(fold_answer(output), split_answer_list(answer))
        case "ordered list":
            return shows_in_order(fold_answer(output), split_answer_list(answer))
        case "yes/no":
            return shows_votes(output, answer)
        case "none":
            return NOTHING.search(fold_answer(output)) is not None
    raise ValueError(f"{answer_type} is not a type of answer")


def find_lone_numbers(output: str) -> list[Decimal]:
    """Those that stand alone: not the parts of dates, times, names and versions.

    >>> find_lone_numbers("total: $1,234.50 (3 rows), Decimal('-2.0'), P12, 2024-05-12 09:00:01, 1.2.3")
    [Decimal('1234.50'), Decimal('3'), Decimal('-2.0')]
    """
    output = DATED.sub(" ", output.replace("-$", "$-"))
    found = chain.from_iterable(map(find_numbers_in_word, SEPARATE.findall(output)))
    return [Decimal(each.replace(",", "")) for each in found]


def find_numbers_in_word(word: str) -> list[str]:
    word = re.sub(r"^[^\d:]*:", "", word).rstrip(".,:!?")
    parts = [word] if PRINTED.fullmatch(word) else word.split(",")
    return [part for part in parts if len(part) <= 40 and PRINTED.fullmatch(part)]


def is_rounded_to(found: Decimal, answer: str) -> bool:
    wanted = parse_answer_number(answer)
    return wanted is not None and any(
        found.quantize(wanted, rounding=way, context=ROOM) == wanted for way in (ROUND_HALF_EVEN, ROUND_HALF_UP)
    )


def shows_day(output: str, answer: str) -> bool:
    meant = parse_answer_day(answer)
    if meant is None:
        return False
    called = rf"datetime\.date(?:time)?\({meant.year}, {meant.month}, {meant.day}[,)]"
    return re.search(rf"(?<!\d){meant.isoformat()}(?!\d)|{called}", output) is not None


def shows_moment(output: str, answer: str) -> bool:
    meant = parse_answer_moment(answer)
    if meant is None:
        return False
    forms = [re.escape(repr(meant)), rf"(?<!\d){meant.date()}[T ]{meant.time()}(?:\.0+)?(?!\d|\.\d)"]
    if meant.time() == time():
        forms.append(rf"(?<!\d){meant.date()}(?!\d|[T ]\d\d:)")  # data frames leave out midnights
    return re.search("|".join(forms), output) is not None


def find_durations(output: str) -> Iterator[Decimal]:
    """The durations in it, in seconds.

    >>> list(find_durations("0 days 00:00:05, 1 day, 2:04:59, datetime.timedelta(days=1, seconds=5), 2024-05-12 09:00:01"))
    [Decimal('86405'), Decimal('5'), Decimal('93899')]
    """
    for found in re.finditer(r"datetime\.timedelta\(([a-z=\-\d, ]*)\)", output):
        parts = dict(re.findall(r"(days|seconds)=(-?\d{1,9})(?!\d)", found[1]))
        if "micro" not in found[1]:
            yield Decimal(int(parts.get("days", 0)) * 86_400 + int(parts.get("seconds", 0)))
    for found in re.finditer(rf"(?<![\w:.-]){CLOCK}(?:\.0+)?(?![\d:]|\.\d)", DATED.sub(" ", output)):
        yield Decimal(count_clock_seconds(found))


def compile_word_pattern(text: str) -> re.Pattern[str]:
    """The text as words of their own, also in the escapes of a Python or JSON string."""
    ways = []
    for form in (text, repr(text)[1:-1], json.dumps(text)[1:-1]):
        folded = fold_answer(form)
        before = r"(?<!\w)" if folded[:1].isalnum() else ""
        after = r"(?!\w)" if folded[-1:].isalnum() else ""
        ways.append(f"{before}{re.escape(folded)}{after}")
    return re.compile("|".join(sorted(ways)))


def split_answer_list(answer: str) -> list[str]:
    return [part.strip() for part in answer.split(";") if part.strip()]


def shows_all(output: str, names: list[str]) -> bool:
    """The longer ones first, so that an element inside another is not seen there."""
    for name in sorted(names, key=len, reverse=True):
        output, times = compile_word_pattern(name).subn("\0", output)
        if not times:
            return False
    return True


def shows_in_order(output: str, names: list[str]) -> bool:
    start = 0
    for name in names:
        found = compile_word_pattern(name).search(output, start)
        if found is None:
            return False
        start = found.end()
    return True


def shows_votes(output: str, answer: str) -> bool:
    """Where there are words like True, ones and zeros are row numbers."""
    wanted = parse_votes(answer)
    said = [VOTES[word] for word in re.findall(r"(?<![a-z])(?:true|false|yes|no)(?![a-z])", output.lower())]
    said = said or [each == 1 for each in find_lone_numbers(output) if each in (0, 1)]
    return wanted is not None and wanted in (said[: len(wanted)], said[-len(wanted) :])
