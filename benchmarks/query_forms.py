"""A learner that chooses the query of a question among those it was taught, and puts the question's own values into it.

The baseline of Finegan-Dollak et al. 2018 (section 5): a question's words are sorted into the forms of queries, a form being a query
with its values as marks. The classifier is linear: ridge regression on how often one to three words stand together. Needs scikit-learn.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from benchmarks.marks import MARK, Encoded, decode_query, encode_query
from benchmarks.wordings import Language
from shopwright.schemas.questions import Question

FEATURES, WORDS = 4_096, 3


class FormLearner:
    """It is taught the rows of a language, or its first ones; of the others it knows the words and forms, but not which form is whose."""

    def __init__(self, language: Language, taught: int | None = None) -> None:
        self.language = language
        shown = [language.encode(row) for row in language.rows]
        forms = [tuple(encode_query(row.sql, each.marks)) for row, each in zip(language.rows, shown, strict=True)]
        self.forms = sorted(set(forms))
        self.needs = [{piece.partition(":")[0] for piece in form if MARK.fullmatch(piece)} for form in self.forms]
        self.vectors = TfidfVectorizer(
            analyzer=join_neighbours, max_features=FEATURES, sublinear_tf=True, dtype=np.float32
        )
        number = {form: place for place, form in enumerate(self.forms)}
        wanted = np.eye(len(self.forms), dtype=np.float32)[[number[form] for form in forms]]
        self.model = Ridge(alpha=0.3, solver="cholesky")
        self.model.fit(self.vectors.fit_transform([each.words for each in shown]).toarray()[:taught], wanted[:taught])

    def read(self, rows: Sequence[Question]) -> tuple[list[Encoded], np.ndarray]:
        """Of each question what is shown of it, and its features."""
        shown = [self.language.encode(row) for row in rows]
        return shown, self.vectors.transform([each.words for each in shown]).toarray()

    def list_able(self, shown: Encoded) -> list[int]:
        """The forms of which a question has all values: those that need all that it names, or else all."""
        there = {mark.partition(":")[0] for mark in shown.marks}
        named = {mark for mark in there if mark[0] in "bcdkq"}
        able = [place for place, needs in enumerate(self.needs) if needs <= there]
        return [place for place in able if named <= self.needs[place]] or able

    def write(self, rows: Sequence[Question]) -> list[str]:
        """The likeliest query of each question."""
        shown, features = self.read(rows)
        found = []
        for each, own in zip(shown, self.model.predict(features), strict=True):
            able = self.list_able(each)
            found.append(decode_query(self.forms[max(able, key=own.__getitem__)], each.marks) if able else "")
        return found


def join_neighbours(words: Sequence[str]) -> list[str]:
    """
    >>> join_neighbours(["how", "c0"])
    ['^', 'how', 'c0', '^ how', 'how c0', '^ how c0']
    """
    words = ["^", *words]
    return [
        " ".join(words[place : place + length])
        for length in range(1, WORDS + 1)
        for place in range(len(words) - length + 1)
    ]
