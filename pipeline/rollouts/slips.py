"""First queries as analysts write them in a hurry: too narrow or too broad, so that their output looks odd.

Each has its code, reads from the output what is odd about it, and may have a look at the data that shows why.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

from shopwright.pipeline.phrases.bank import Ref
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.rollouts.considerations import ACTIONS, find_main_pick, name_rows
from shopwright.pipeline.rollouts.expert_output import UnreadableOutput, parse_printed_literal
from shopwright.pipeline.rollouts.pandas_code import Script, emit_selection, quote_python, write_text_test
from shopwright.pipeline.rollouts.thoughts import Remark, Speaker, noun, remark

SPELLINGS = {
    "add to Cart": ("add to cart", "add_to_cart", "cart"),
    "purchase": ("buy", "purchased", "order"),
    "click": ("view", "clicked"),
    "search": ("query", "searched"),
}
"""How the actions might be called, and are not."""
OTHER_ACTIONS = 0.15
"""How often another action than the cart, whose spelling is odd, is called by a wrong name, where it could be."""
Reads = Callable[[Any, Speaker], Iterator[Remark]]
Sees = Callable[[str], bool]
"""Whether a text stands in the question or in what was printed by now."""


@dataclass(frozen=True)
class Slip:
    """A query that is not right yet: its code, what its output shows, and a look that tells why."""

    name: str
    lines: tuple[str, ...]
    imports: tuple[str, ...]
    read: Reads
    why: tuple[str, ...] = ()
    """Code of a look at the data that explains it; none where the output says enough."""
    explain: Reads | None = None

    def remarks(self, text: str, speaker: Speaker, read: Reads | None = None) -> list[Remark]:
        try:
            return list((read or self.read)(parse_printed_literal(text.strip()), speaker))
        except (UnreadableOutput, TypeError, ValueError, IndexError):
            return []


def list_slips(tree: Any, random: Random, sees: Sees) -> list[Slip]:
    """Those that somebody could make with this question."""
    pick = find_main_pick(tree)
    ways = (
        slip_last_day,
        slip_one_day,
        slip_title,
        slip_action,
        slip_all_actions,
        slip_brand,
        slip_category,
        slip_word,
        slip_case,
    )
    return [found for way in ways if (found := way(pick, random, sees)) is not None]


def select(pick: t.Pick, random: Random, **without: None) -> tuple[Script, str]:
    """The events of a pick without some of its conditions."""
    script = Script(random)
    script.manner = "mask"
    return script, emit_selection(script, pick.model_copy(update=without))


def end_script(script: Script, expression: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    code = script.code(expression, "literal")
    return code.lines, code.imports


def slip_last_day(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """The last day is compared as a moment, its midnight, and so left out."""
    last = pick.last_day
    if last is None or last == date.max or last == pick.first_day:
        return None
    script, frame = select(pick, random, first_day=None, last_day=None)
    times = script.column(frame, "timestamp")
    tests = [f'{times} >= "{pick.first_day}"'] if pick.first_day else []
    tests.append(f'{times} <= "{last}"')
    script.write(f"part = {frame}[{' & '.join(f'({each})' for each in tests) if len(tests) > 1 else tests[0]}]")
    end = script.column("part", "timestamp")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, latest = found
        facts = {"last": speaker.day(last), "next": speaker.day(last + timedelta(days=1))}
        if not n:
            yield remark("odd empty before midnight", **facts)
        elif latest.date() < last and n == 1:
            yield remark("odd last day lone", latest=str(latest), **facts)
        elif latest.date() < last:
            yield remark("odd last day", n=str(n), latest=str(latest), **facts)

    return Slip("last day", *end_script(script, f"(len(part), {end}.max())"), read)


def slip_one_day(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """A day is compared with times to the second."""
    day = pick.first_day
    if day is None or day != pick.last_day:
        return None
    script, frame = select(pick, random, first_day=None, last_day=None)
    times = script.column(frame, "timestamp")
    script.write(f'part = {frame}[{times} == "{day}"]')

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, every = found
        if not n and every:
            yield remark("odd day as moment", day=speaker.day(day), n=str(every), rows=name_rows(pick))
        elif not n:
            yield remark("odd nothing on any day", rows=name_rows(pick))

    return Slip("one day", *end_script(script, f"(len(part), len({frame}))"), read)


def slip_title(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """The whole title is taken to be what the question calls the product."""
    if pick.product is None or pick.product.category or not sees(pick.product.parts[0]):
        return None
    words = pick.product.parts[0]
    script = Script(random)
    title = script.column("df", "product_name")
    script.write(f"product = df[{title} == {quote_python(words)}]")
    lines, imports = end_script(script, "(len(product), len(df))")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        if not found[0]:
            yield remark("odd title", words=words)

    look = Script(random)
    held = write_text_test(look.column("df", "product_name"), words)
    look.write(f"names = sorted(set(df.loc[{held}, {look.text('product_name')}]))")

    def explain(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, names = found
        if n:
            several = n > 1
            yield remark("why titles" if several else "why title", n=str(n), words=words, name=names[0])

    return Slip("title", lines, imports, read, (*look.lines, "(len(names), names[:4])"), explain)


def slip_action(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """The action is called by another name than the table's."""
    if pick.action is None or (pick.action != "add to Cart" and random.random() > OTHER_ACTIONS):
        return None
    action = pick.action
    # The cart's are spellings of the name that the prompt has; any other name is the question's.
    names = [each for each in SPELLINGS[action] if action == "add to Cart" or sees(each)]
    if not names:
        return None
    wrong = names[int(random.random() * len(names))]
    script = Script(random)
    column = script.column("df", "action_type")
    script.write(f"those = df[{column} == {quote_python(wrong)}]")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, every = found
        if not n and every:
            yield remark("odd action", wrong=wrong, n=str(every))

    def explain(found: Any, speaker: Speaker) -> Iterator[Remark]:
        if action in found:
            yield remark("why action", right=action, wrong=wrong)

    look = (f"sorted({column}.unique())",)
    return Slip("action", *end_script(script, "(len(those), len(df))"), read, look, explain)


def slip_all_actions(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """Nothing says which action is meant, so that clicks stand among purchases."""
    others = pick.model_copy(update={"action": None})
    if pick.action in (None, "search") or others == t.Pick() or pick.ever or pick.never:
        return None
    action, (script, frame) = pick.action, select(pick, random, action=None)
    column = script.column(frame, "action_type")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        n, mine = found
        facts: dict[str, str | Ref] = {"n": str(n), "rows": name_rows(pick), "row": noun(f"row {ACTIONS[action]}")}
        if not n:
            yield remark("odd nothing at all")
        elif 1 in (n, mine):
            return
        elif mine < n:
            yield Remark("odd all actions", {**facts, "k": str(mine)})
        else:
            yield Remark("fine one action", facts)

    return Slip(
        "all actions", *end_script(script, f"(len({frame}), ({column} == {quote_python(str(action))}).sum())"), read
    )


def slip_brand(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """The brand is looked for in the titles."""
    brand = pick.brand
    if brand is None or not sees(brand):
        return None
    script, frame = select(pick, random, brand=None)
    title, column = script.column(frame, "product_name"), script.column(frame, "brand")
    script.write(f"part = {frame}[{write_text_test(title, brand)}]")
    brands = script.column("part", "brand")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        in_title, of_brand, others = found
        facts = {"value": brand, "n": str(in_title), "m": str(of_brand)}
        if others:
            yield remark("odd other brands", k=str(others), **facts)
        elif in_title < of_brand:
            yield remark("odd brand in titles", **facts)
        elif of_brand == in_title and of_brand:
            yield remark("fine brand", **facts)
        else:
            yield remark("odd no brand", value=brand)

    counts = f"(len(part), ({column} == {quote_python(brand)}).sum(), ({brands} != {quote_python(brand)}).sum())"
    return Slip("brand", *end_script(script, counts), read)


def slip_category(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """The category is looked for in the titles."""
    category = pick.category
    if category is None or not sees(category):
        return None
    script, frame = select(pick, random, category=None)
    title, column = script.column(frame, "product_name"), script.column(frame, "product_types")
    script.write(f"part = {frame}[{write_text_test(title, category)}]")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        in_title, of_kind = found
        facts = {"value": category, "n": str(in_title), "m": str(of_kind)}
        if in_title < of_kind:
            yield remark("odd category in titles" if in_title else "odd category not in titles", **facts)
        elif not of_kind:
            yield remark("odd no category", value=category)

    return Slip("category", *end_script(script, f"(len(part), ({column} == {quote_python(category)}).sum())"), read)


def slip_word(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """A search that has a word is taken for one that is nothing but this word."""
    if pick.word is None or not sees(pick.word):
        return None
    word, (script, frame) = pick.word, select(pick, random, word=None)
    typed = script.column(frame, "search_query")
    script.write(f"exact = {frame}[{typed} == {quote_python(word)}]")
    held = write_text_test(typed, word)

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        exact, within = found
        facts = {"value": word, "n": str(exact), "m": str(within)}
        if exact < within:
            yield remark("odd word alone" if exact else "odd word never alone", **facts)
        elif not within:
            yield remark("odd no word", value=word)

    return Slip("word", *end_script(script, f"(len(exact), {held}.sum())"), read)


def slip_case(pick: t.Pick, random: Random, sees: Sees) -> Slip | None:
    """A brand is typed without its capitals."""
    brand = pick.brand or (pick.product.brand if pick.product else None)
    if brand is None or brand == brand.lower() or not sees(brand):
        return None
    small, script = brand.lower(), Script(random)
    column = script.column("df", "brand")
    script.write(f"those = df[{column} == {quote_python(small)}]")

    def read(found: Any, speaker: Speaker) -> Iterator[Remark]:
        if not found[0]:
            yield remark("odd case", value=small)

    def explain(found: Any, speaker: Speaker) -> Iterator[Remark]:
        if found:
            yield remark("why case", right=found[0], wrong=small)
        else:
            yield remark("why no brand", value=small)

    look = (f"sorted(set({column}[{column}.str.lower() == {quote_python(small)}]))",)
    return Slip("case", *end_script(script, "(len(those), len(df))"), read, look, explain)
