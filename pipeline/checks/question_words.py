"""What must be true of a question's words: they mean its tree, name what the trajectory holds and do not give the answer away."""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any

from shopwright.pipeline.checks.conditions import idle_in_tree
from shopwright.pipeline.checks.questions import (
    Trajectories,
    expected_answer_type,
    find_question_table,
    is_written,
    parse_question_tree,
)
from shopwright.pipeline.questions.answers import is_tied, type_of
from shopwright.pipeline.questions.conditions import idle_in_sql
from shopwright.pipeline.questions.log import Event, Log
from shopwright.pipeline.questions.log import split_query_words as typed
from shopwright.pipeline.questions.model_written import ABOUT
from shopwright.pipeline.questions.question_parser import Unclear, list_tree_differences, parse_readings, parse_trees
from shopwright.pipeline.questions.rating import (
    gives_away,
)
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.tree import Mention, Pick, list_tree_picks, tree_to_json
from shopwright.pipeline.questions.values import SETS
from shopwright.pipeline.questions.values import value_from_json as value_of
from shopwright.pipeline.reading.words import LogProduct, Names
from shopwright.pipeline.sandbox.sql import explain_refusal, parse_select
from shopwright.schemas.questions import Question

# Values in a set or list that a model asks for, so that it can be said.
MOST_NAMES = 8
# Words that may come after what a product is, in its name.
AFTER = frozenset("with for in by of from to w without up at on that as via per and or plus".split())
# Characters of a question that a model wrote.
LONGEST = 500
TEXTS = ("asin", "product_name", "brand", "color", "product_types", "search_query")
DAY = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d)|(?P<month>January|February|March|April|May|June|July|August|September|October|November|"
    r"December) (?P<day>\d{1,2}), (?P<year>\d{4})|(?P<day2>\d{1,2}) (?P<month2>January|February|March|April|May|June|July|"
    r"August|September|October|November|December) (?P<year2>\d{4})"
)
MONTHS = "January February March April May June July August September October November December".split()


def question_is_made_of_its_tree(question: Question) -> str | None:
    """Shape, kind, wording and SQL come from the tree; one without a tree keeps to the rules for those.

    Whether the wording also means the tree is for `question_says_its_tree` to find out.
    """
    if is_written(question):
        return find_written_fault(question)
    shape = SHAPES.get(question.shape)
    if shape is None:
        return "no such shape"
    try:
        tree = parse_question_tree(question)
    except ValueError:
        return "its tree cannot be read"
    if tree_to_json(tree) != question.tree:
        return "its tree is not in normal form"
    if shape.kind != question.kind:
        return "not the kind of its shape"
    if question.sql != sql_of(tree):
        return "its SQL is not its tree's"
    if question.answer_type not in (type_of(tree), "none"):
        return "not the type of its tree's answer"
    meaning = question.phrases[0].partition("#")[0] if question.phrases else ""
    return None if meaning.partition("/")[0] == question.shape else "its wording is none of its shape's"


def question_says_its_tree(question: Question, trajectories: Trajectories) -> str | None:
    """Its words, read by a grammar that knows nothing of the phrasing, mean its tree and nothing else."""
    table = find_question_table(question, trajectories)
    if table is None or is_written(question):
        return None
    try:
        tree = parse_question_tree(question)
        nothing = value_of(question.result, expected_answer_type(question)) in (None, 0)
    except ValueError:
        return None  # said by other checks
    names = (add_absent_names(list_tree_picks(tree), table.names) if nothing else table.names).on(question.asked_on)
    try:
        found = [list_tree_differences(each, tree, names) for each in parse_trees(question.question, names)]
    except Unclear:
        return "its words are not understood"
    others = sorted(set(chain.from_iterable(found)))
    if not others:
        return None
    return f"its words {'can also mean' if [] in found else 'mean'} another tree: {'; '.join(others)}"


def add_absent_names(picks: list[Pick], names: Names) -> Names:
    """With what picks name and the trajectory does not hold: where there is nothing, a question may name it."""
    mentions = dict.fromkeys(pick.product for pick in picks if pick.product)
    absent = [each for each in mentions if not names.products(each.model_dump())]
    products = (
        LogProduct(f"absent {place}", each.brand, each.color, " ".join(each.parts), each.category)
        for place, each in enumerate(absent)
    )
    others = (
        LogProduct("absent", pick.brand, pick.color, "", pick.category)
        for pick in picks
        if pick.brand or pick.color or pick.category
    )
    return Names([*names.items, *products, *others], names.asked_on)


def find_written_fault(question: Question) -> str | None:
    """What is wrong with a written question in itself: wording, kind, query, answer."""
    if not question.question or "\n" in question.question or len(question.question) > LONGEST:
        return f"a question that is not one line of at most {LONGEST} characters"
    if explain_refusal(question.sql):
        return None  # said by another check
    query = parse_select(question.sql)
    if not list_columns_and_texts(query).intersection(ABOUT[question.kind]):
        return f"its query looks at none of {', '.join(ABOUT[question.kind])}: not of the kind {question.kind}"
    if not selects_from_events(query):
        return "its query tells the answer and does not ask"
    if question.answer_type == "yes/no":
        return "a question of yes or no: guessable"
    try:
        value = value_of(question.result, expected_answer_type(question))
    except ValueError:
        return None  # said by another check
    if isinstance(value, Decimal) and not -2 <= int(value.as_tuple().exponent) <= 0:
        return "a figure that is not rounded to two decimals at most"
    if question.answer_type in SETS and value is not None:
        if len(value) > MOST_NAMES:
            return f"an answer of more than {MOST_NAMES} values"
        if "None" in value:
            return "an answer in which a value is NULL"
    return None


def list_columns_and_texts(query: Any) -> set[str]:
    """The columns and texts that a query names."""
    from sqlglot import exp

    texts = {each.name for each in query.find_all(exp.Literal) if each.is_string}
    return texts | {each.name.lower() for each in query.find_all(exp.Column)}


def selects_from_events(query: Any) -> bool:
    """Whether what it selects comes from the events, and is not written into it.

    >>> selects_from_events(parse_select("SELECT COUNT(*) FROM events")), selects_from_events(parse_select("SELECT brand, 3 FROM events"))
    (True, False)
    """
    from sqlglot import exp

    select = query.find(exp.Select)
    live = (exp.Column, exp.AggFunc, exp.Star, exp.Query)
    return select is not None and all(each.find(*live) for each in select.expressions)


def it_names_what_is_there(question: Question, trajectories: Trajectories) -> str | None:
    """Brands, colors, categories, searches and days are the trajectory's, a product's words mean exactly one of it.

    Unless the answer is none or zero: then it may name what is not there.
    """
    table = find_question_table(question, trajectories)
    if table is None:
        return None
    try:
        if is_written(question):
            return find_absent_value(question, table.log)
        tree = parse_question_tree(question)
        if value_of(question.result, expected_answer_type(question)) in (None, 0):
            return next((why for pick in list_tree_picks(tree) if (why := find_ambiguity(pick, table.log))), None)
    except ValueError:
        return None  # said by other checks
    absent = chain.from_iterable(list_absent_names(pick, table.log) for pick in list_tree_picks(tree))
    return next(absent, None)


def find_absent_value(question: Question, log: Log) -> str | None:
    """What a written question or its query names, and the trajectory does not hold. Raises ValueError where that cannot be told."""
    if value_of(question.result, expected_answer_type(question)) in (None, 0) or explain_refusal(question.sql):
        return None
    for column, text, whole in list_compared_texts(parse_select(question.sql)):
        values = {(getattr(each, column) or "").lower() for each in log.events}
        if whole:
            values &= {text}
        for part in re.split("[%_]", text):
            values = {value for value in values if part in value}
        if not values:
            return f"names a {column} that is not in the trajectory"
    first, last = log.events[0].day, log.events[-1].day
    days = map(parse_day_match, DAY.finditer(question.question))
    return None if all(first <= day <= last for day in days) else "names a day that is not in the trajectory"


def list_compared_texts(query: Any) -> Iterator[tuple[str, str, bool]]:
    """Column, text in lower case, and whether it is the whole value, wherever a query compares a column with a text."""
    from sqlglot import exp

    for node in query.find_all(exp.EQ, exp.In, exp.Like, exp.ILike):
        if isinstance(node.parent, exp.Not):
            continue  # what is left out need not be there
        columns = [each.name.lower() for each in node.this.find_all(exp.Column)]
        sides = node.expressions if isinstance(node, exp.In) else [node.expression]
        whole = isinstance(node, exp.EQ | exp.In)
        for text in (each.this for each in sides if isinstance(each, exp.Literal) and each.is_string):
            if len(columns) == 1 and columns[0] in TEXTS:
                yield columns[0], text.lower(), whole


def find_ambiguity(pick: Pick, log: Log) -> str | None:
    if pick.product is None:
        return None
    count = len({each.asin for each in list_mentioned_events(log, pick.product)})
    return "words that mean more than one product" if count > 1 else None


def list_mentioned_events(log: Log, mention: Mention) -> list[Event]:
    return log.pick(Pick(product=mention))


def list_absent_names(pick: Pick, log: Log) -> Iterator[str]:
    columns = {"brand": pick.brand, "color": pick.color, "product_types": pick.category, "search_query": pick.query}
    for name, value in columns.items():
        if value is not None and not any(getattr(each, name) == value for each in log.events):
            yield f"names a {name.replace('product_types', 'category')} that is not in the trajectory"
    if pick.word is not None and not any(pick.word in typed(each.search_query) for each in log.events):
        yield "names a word that was never searched for"
    if pick.product is not None:
        if not list_mentioned_events(log, pick.product):
            yield "names a product that is not in the trajectory"
        elif why := find_ambiguity(pick, log):
            yield why
    first, last = log.events[0].day, log.events[-1].day
    if any(day is not None and not first <= day <= last for day in (pick.first_day, pick.last_day)):
        yield "names a day that is not in the trajectory"


def ties_are_settled(question: Question, trajectories: Trajectories) -> str | None:
    """Where several tie, the question says which of them it means."""
    table = find_question_table(question, trajectories)
    if table is None or is_written(question):
        return None
    try:
        if not is_tied(parse_question_tree(question), table.log):
            return None
        readings = parse_readings(question.question, table.names.on(question.asked_on))
    except ValueError:
        return None  # said by other checks
    return None if any("_tie" in said for said, _ in readings) else "several tie, and it does not say which it means"


def it_is_asked_after_all(question: Question, trajectories: Trajectories) -> str | None:
    """The day of asking is after the last event: what it calls last week or May has passed."""
    table = find_question_table(question, trajectories)
    if table is None or not table.log.events:
        return None
    return None if question.asked_on > table.log.events[-1].day else "asked before the last event"


def none_is_offered(question: Question) -> str | None:
    """Where the answer is none, the question says that it may be."""
    if question.answer_type != "none" or re.search(r"\bnone\b", question.question, re.IGNORECASE):
        return None
    return "its answer is none, which it does not offer"


def idle_conditions_are_told(question: Question, trajectories: Trajectories) -> str | None:
    """The conditions without which the answer is the same are those that it tells."""
    table = find_question_table(question, trajectories)
    if table is None or explain_refusal(question.sql):
        return None
    try:
        if is_written(question):
            idle = idle_in_sql(table, question.sql, expected_answer_type(question))
        else:
            idle = idle_in_tree(question.tree, table.log, table.answer(question.tree).value)
    except (ValueError, KeyError, TypeError):
        return None  # said by other checks
    return None if idle == question.idle_conditions else "other conditions are idle than it says"


def products_are_named(question: Question, trajectories: Trajectories) -> str | None:
    """The words for a product say what it is: its category, or a word of the shop's categories or of its neighbours' names at their end."""
    table = find_question_table(question, trajectories)
    if table is None or is_written(question):
        return None
    try:
        products = {pick.product for pick in list_tree_picks(parse_question_tree(question)) if pick.product is not None}
    except ValueError:
        return None  # said by other checks
    return next((why for each in products if (why := find_noun_fault(each, table.log))), None)


def find_noun_fault(mention: Mention, log: Log) -> str | None:
    """Why its first words do not say what the product is. Of what is not there nothing can be said."""
    found = next(iter(list_mentioned_events(log, mention)), None)
    if found is None or mention.category is not None:  # a category says what it is
        return None
    name, products = mention.parts[0], log.products.values()
    last = typed(name)[-1]
    colors = set(chain.from_iterable(typed(each.color) for each in products))
    kin = [each for each in products if each.product_types == found.product_types]
    kinds = chain.from_iterable(typed(each.product_types) for each in products)
    sold = any(is_inflected(last, word) for word in kinds)
    if last in colors or not (sold or sum(last in typed(each.product_name) for each in kin) > 1):
        return "words that do not say what the product is"
    # Where it stands as words of its own, as one or as several: "pen" begins other words too.
    whole = re.search(rf"(?<!\w){re.escape(name)}(?:e?s)?(?!\w)", found.lower)
    end = whole.end() if whole else found.lower.index(name) + len(name)
    after = next(iter(found.lower[end:].split()), "").rstrip(",;:.")
    goes_on = after.isalpha() and after not in AFTER and after not in colors
    return "words that stop before what the product is" if goes_on else None


def is_inflected(one: str, other: str) -> bool:
    """Whether they are forms of one word, as far as letters tell.

    >>> is_inflected("battery", "batteries"), is_inflected("lens", "lenses"), is_inflected("case", "cable")
    (True, True, False)
    """
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return same >= 3 and same >= max(len(one), len(other)) - 3 and abs(len(one) - len(other)) < 3


def answer_is_not_in_the_question(question: Question) -> str | None:
    return "the answer stands in the question" if gives_away(question.question, question.answer) else None


def days_are_real(question: Question) -> str | None:
    """Every day that question and SQL name is in the calendar."""
    try:
        for found in DAY.finditer(f"{question.question} {question.sql} {question.second_sql}"):
            parse_day_match(found)
    except ValueError:
        return "a day that is not in the calendar"
    return None


def parse_day_match(found: re.Match[str]) -> date:
    """The day that `DAY` found. Raises ValueError for a day that is not in the calendar."""
    parts = found.groupdict()
    if parts["iso"]:
        return date.fromisoformat(parts["iso"])
    month = MONTHS.index(parts["month"] or parts["month2"]) + 1
    return date(int(parts["year"] or parts["year2"]), month, int(parts["day"] or parts["day2"]))
