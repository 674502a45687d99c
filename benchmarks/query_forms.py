"""A learner that chooses the query of a question among those it was taught, and puts the question's own values into it.

The baseline of Finegan-Dollak et al. 2018 (section 5): a question's words are sorted into the forms of queries, a form being a query
with its values as marks. The classifier is linear: ridge regression on how often one to three words stand together. Needs scikit-learn.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from benchmarks.wordings import MARK, Language, decode_query, encode_query
from shopwright.schemas.questions import Question

FEATURES, WORDS = 4_096, 3


class FormLearner:
    """It is taught the rows of a language."""

    def __init__(self, language: Language) -> None:
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
        self.model.fit(self.vectors.fit_transform([each.words for each in shown]).toarray(), wanted)

    def write(self, rows: Sequence[Question]) -> list[str]:
        """The likeliest query of each question of which it has all values, rather one that needs all that the question names."""
        shown = [self.language.encode(row) for row in rows]
        scores = self.model.predict(self.vectors.transform([each.words for each in shown]).toarray())
        found = []
        for each, own in zip(shown, scores, strict=True):
            there = {mark.partition(":")[0] for mark in each.marks}
            named = {mark for mark in there if mark[0] != "w"}
            able = [place for place in np.argsort(-own) if self.needs[place] <= there]
            likeliest = next((place for place in able if named <= self.needs[place]), able[0] if able else None)
            found.append("" if likeliest is None else decode_query(self.forms[likeliest], each.marks))
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
