"""What the expert knows of a question: its words, what they are read as, and no answer."""

from typing import Any

from shopwright.pipeline.questions.engines import collect_names
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.question_parser import Unclear, parse_trees
from shopwright.pipeline.questions.tree import tree_to_json
from shopwright.schemas.questions import WRITTEN, Question

# What is known of a question by its answer alone.
ANSWER = {"answer": "", "answer_type": "none", "result": "null", "evidence": [], "sql": "", "second_sql": ""}


def read_question(question: Question, events: Any) -> Question | None:
    """The question without its answer, its tree as the parser reads it from the words; None where it cannot.

    events: the Arrow table of its trajectory, which holds the names that its words may use. A question that a model wrote
    keeps its query: the words of those are beyond the parser.
    """
    if question.shape == WRITTEN:
        return question
    try:
        tree = parse_trees(question.question, collect_names(Log.of(events)).on(question.asked_on))[0]
    except Unclear:
        return None
    return question.model_copy(update=ANSWER | {"tree": tree_to_json(tree)})
