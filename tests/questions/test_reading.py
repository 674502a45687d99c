"""English read back: every wording as its own tree, and no other tree, nor one slip of the pen, as the same."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from shopwright.pipeline.checks.question_words import add_absent_names
from shopwright.pipeline.questions.answers import Undecided, answer_tree
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.questions.question_parser import Unclear, list_tree_differences, parse_trees
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.tree import Count, Sets, list_tree_picks, tree_from_json, tree_to_json
from shopwright.pipeline.run import Run
from tests.questions.mutants import mutants
from tests.questions.phrasings import phrasings
from tests.questions.test_audit import cases, table

REAL = Path(__file__).parents[3] / "shared" / "data" / "walmart_amazon_tableB_amazon.csv"
SLIPS = (
    *("distinct ", "never "),
    *("first/last", "last/first", "second/third", "third/third-to-last", "before/after", "after/before"),
    *(
        "lowest/highest",
        "highest/lowest",
        "longest/shortest",
        "cheapest/most expensive",
        "most/least",
        "at least/at most",
    ),
    *("bought/clicked on", "clicks/purchases", "click/purchase", "products/categories", "brand/category"),
    *("How many/Which", "Which/How many", "Count/List", "List/Count", "sum/average", "mean/lowest", "number/share"),
    *("2024-05-1/2024-05-2", "May 1/May 2", "1 May/2 May", "on or after/after", "up to and including/before"),
    *(" 2 / 3 ", "or more/or less", "more than 30/more than 20", "both days/one day", " by / not by "),
)
"""What stands there / what stands there after a slip; nothing, if only one is given."""
OTHER_PRODUCT = re.compile(
    r"its words can also mean another tree: [a-z.]*product is another(; [a-z.]*product is another)*"
)


@pytest.fixture(scope="module", params=["the sample shop", pytest.param("a real catalog", marks=pytest.mark.slow)])
def asked(request, untuned, tmp_path_factory):
    """A run with many questions, on an invented shop and on a real one."""
    if request.param == "the sample shop":
        return untuned
    if not REAL.exists():
        pytest.skip(f"needs {REAL.name}")
    run = Run(tmp_path_factory.mktemp("asked"), seed=7, workers=2)
    run.build("questions", source=str(REAL), invent_prices=True, count=12, tokens="32k", per_trajectory=40)
    return run


@pytest.fixture(scope="module")
def rows(asked):
    """Each question with what its trajectory has names for on the day of asking."""
    engines = Engines(asked.read("trajectories"))
    columns = ["trajectory_id", "shape", "question", "tree", "answer_type", "result", "asked_on"]
    found = asked.read("questions").table(columns).to_pylist()[::2]
    return [(row, tree_from_json(row["tree"]), names_for(row, engines.of(row["trajectory_id"]))) for row in found]


def names_for(row, table):
    """Where the answer is none or zero, a question may name what is not there."""
    tree = tree_from_json(row["tree"])
    names = (
        table.names
        if row["result"] not in ("null", "0", '"0.00"')
        else add_absent_names(list_tree_picks(tree), table.names)
    )
    return names.on(row["asked_on"])


def misread(text, tree, names):
    """What a text says otherwise than a tree, if it can be read at all."""
    try:
        return [each for found in parse_trees(text, names) for each in list_tree_differences(found, tree, names)]
    except Unclear as error:
        return [str(error)]


@pytest.mark.slow
def test_a_question_is_held_back_for_its_words_only_where_several_products_are_called_that(asked):
    manifest = asked.read("questions").manifest
    held = {reason: count for reason, count in manifest.rejects.items() if reason.startswith("its words")}
    assert [reason for reason in held if not OTHER_PRODUCT.fullmatch(reason)] == []
    assert sum(held.values()) < 0.03 * manifest.rows


def test_each_question_is_read_as_its_tree(rows):
    wrong = [(row["question"], why) for row, tree, names in rows if (why := misread(row["question"], tree, names))]
    assert len(rows) > 200
    assert wrong == []


def test_a_question_with_a_slip_is_read_as_another_or_not_at_all(rows):
    slips = [(before, after) for before, _, after in (slip.partition("/") for slip in SLIPS)]
    missed = [
        words
        for row, tree, names in rows
        for slip in slips
        if not (slip[0] == "distinct " and is_distinct_by_itself(tree))
        for words in with_slip(row["question"], *slip)
        if not misread(words, tree, names)
    ]
    assert missed == []


def is_distinct_by_itself(tree):
    """What two sets have in common, and how many brands there are, is distinct, said or not."""
    return isinstance(tree, Sets) or (isinstance(tree, Count) and tree.what == "brand")


def with_slip(text, before, after):
    """The text with each occurrence changed in turn; nothing in quotation marks, which a name may hold."""
    quoted = [found.span() for found in re.finditer(r'"[^"]*"', text)]
    for found in re.finditer(re.escape(before), text):
        if not any(start < found.start() < end for start, end in quoted):
            yield text[: found.start()] + after + text[found.end() :]


def read_case(shape, case, dice=0):
    """The tree of a case, what its trajectory names, and all wordings for it."""
    tree, here = tree_from_json(case["tree"]), table(case["trajectory"])
    asked_on = here.log.events[-1].day + timedelta(days=1)
    names = add_absent_names(list_tree_picks(tree), here.names).on(asked_on)
    return tree, names, list(phrasings(shape, tree, asked_on, dice=dice))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_wording_of_a_shape_is_read_as_its_tree(shape):
    """Each on one of the cases; the tests of `phrases` prove each on a trajectory of the small run."""
    every = cases(shape)
    for number, case in enumerate(every):
        check_wordings(shape, case, 1, slice(number, None, len(every)))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_every_wording_of_a_shape_is_read_as_its_tree_in_every_case(shape):
    for case in cases(shape):
        for dice in range(2):
            check_wordings(shape, case, dice)


def check_wordings(shape, case, dice, chosen=slice(None)):
    tree, names, wordings = read_case(shape, case, dice)
    for words in wordings[chosen]:
        assert misread(words, tree, names) == [], words


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_field_is_changed_the_words_do_not_mean_that_tree(shape):
    """Unless it means the same, as a product does by its id and by its name: then it has the same answer."""
    for case in cases(shape)[:2]:
        tree, names, wordings = read_case(shape, case)
        log = table(case["trajectory"]).log
        read = {tree_to_json(found): found for words in wordings[::3] for found in parse_trees(words, names)}
        for place, mutant in mutants(tree):
            if is_tree(mutant) and not all(list_tree_differences(each, mutant, names) for each in read.values()):
                assert value(mutant, log) == value(tree, log), place


def is_tree(mutant):
    try:
        return bool(tree_from_json(tree_to_json(mutant)))
    except ValueError:
        return False


def value(tree, log):
    try:
        return answer_tree(tree, log).value
    except Undecided:
        return None
