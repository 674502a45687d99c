"""What words that it was never shown cost a learner: a transformer of half a million parameters, trained from nothing, writes a question's query.

    pip install torch                                     # a build for the CPU will do
    python -m benchmarks.wordings                         # 360 customers, 36,000 questions; an hour on one core
    python -m benchmarks.wordings --run data/runs/mine    # of a run that is there; nothing is written to the page

Of each meaning of the phrase bank one template of training is held out. The learner is asked about customers that it does not know, with templates that
it was taught and with those held out; then the split `test_wording`, in which templates, rules and customers are new.

It sees what any text-to-SQL system has: times are resolved to days by the reader of `shopwright.pipeline.reading.calendar`; the brands, categories and colors of the table are found in the
question, each with its column, and so are parts of the names of the customer's products; what is quoted is one thing, numbers are counted in their order, and rare words
are numbered. All are put back into what it writes, which names nothing that is not in the question. Of a question that it learns from, some words are numbered as if
they were rare, so that it can do without one, and the numbers of words are drawn. A query is right if it is the question's, or has its answer in the customer's log.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.marks import (
    MARK,
    Encoded,
    Values,
    decode_query,
    encode_query,
    encode_question,
    list_values,
    mark_question,
    renumber_words,
)
from benchmarks.trajectories import machine, write
from shopwright.pipeline.evaluate.statistics import compute_wilson_interval
from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.questions.engines import Engines, QueryFailed
from shopwright.pipeline.questions.values import value_from_json
from shopwright.pipeline.run import Run
from shopwright.schemas.questions import Question

if TYPE_CHECKING:
    from benchmarks.learner import Learner

RARE = 1 / 600
"""Share of the questions of training that must have a word, else it is numbered."""
MERGES = 600
TESTED = 0.12
"""Share of the trajectories of training that the learner is asked about instead."""
MOST_ASKED = 1_500
"""Questions of a kind that it is asked at most."""
HIDDEN = 0.1
"""Share of the common words of a question to learn from that are numbered like rare ones."""


def learn_merges(queries: Iterable[Sequence[str]], count: int) -> list[tuple[str, str]]:
    """Neighbours that often stand together, which become one token each; the commonest first."""
    rows = [(list(row), number) for row, number in Counter(map(tuple, queries)).items()]
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for row, number in rows:
            for pair in pairwise(row):
                if not any(map(MARK.fullmatch, pair)):  # their numbers are drawn
                    pairs[pair] += number
        taken: set[str] = set()
        chosen = []
        for pair, number in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:60]:
            if number > 3 and taken.isdisjoint(pair):
                chosen.append(pair)
                taken.update(pair)
        if not chosen:
            break
        merges += chosen
        rows = [(merge_tokens(row, chosen), number) for row, number in rows]
    return merges


GLUE = "\x1f"


def merge_tokens(row: Sequence[str], merges: Iterable[tuple[str, str]]) -> list[str]:
    """
    >>> merge_tokens(["a", "b", "c"], [("a", "b")]) == ["a" + GLUE + "b", "c"]
    True
    """
    wanted = set(merges)
    found: list[str] = []
    for token in row:
        if found and (found[-1], token) in wanted:
            found[-1] = f"{found[-1]}{GLUE}{token}"
        else:
            found.append(token)
    return found


class Language:
    """The tokens of questions and queries, as numbers."""

    def __init__(
        self,
        rows: Sequence[Question],
        values: Values,
        seed: int,
        hide: Callable[[Encoded], Encoded] = lambda each: each,
    ) -> None:
        """hide: what is seen of a question."""
        self.values, self.rows, self.hide = values.learn_names(rows), rows, hide
        self.marked = [mark_question(row, self.values) for row in rows]
        counts = Counter(word for each in self.marked for word in {word.lower() for word in each.words})
        self.common = frozenset(word for word, count in counts.items() if count >= RARE * len(rows))
        self.order = random.Random(seed)
        encoded = [(each, encode_query(row.sql, each.marks)) for row, each in self.draw_encoded()]
        self.merges = learn_merges((query for _, query in encoded), MERGES)
        self.levels = self.group_merges()
        from benchmarks.learner import SPECIAL

        seen = Counter(token for _, query in encoded for token in self.merge(query))
        seen.update(word for each, _ in encoded for word in each.words)
        tokens = [*SPECIAL, *sorted(token for token, count in seen.items() if count > 1)]
        self.number = {token: place for place, token in enumerate(tokens)}
        self.tokens = tokens
        self.needs = [self.number.get(token.partition(":")[0], -1) if MARK.fullmatch(token) else -1 for token in tokens]

    def draw_encoded(self) -> Iterator[tuple[Question, Encoded]]:
        """Each question with some of its common words numbered, too, and rare words with drawn numbers."""
        for row, marked in zip(self.rows, self.marked, strict=True):
            common = frozenset(word for word in map(str.lower, marked.words) if self.shows(word))
            yield row, self.hide(renumber_words(encode_question(marked, common), self.order))

    def shows(self, word: str) -> bool:
        return word in self.common and self.order.random() >= HIDDEN

    def draw_pairs(self) -> list[tuple[list[int], list[int]]]:
        """What is learnt from in one round."""
        return [
            (self.count(each.words), self.count(self.merge(encode_query(row.sql, each.marks))))
            for row, each in self.draw_encoded()
        ]

    def encode(self, row: Question) -> Encoded:
        return self.hide(encode_question(mark_question(row, self.values), self.common))

    def group_merges(self) -> list[list[tuple[str, str]]]:
        """Merges that were chosen together, which share no token."""
        groups: list[list[tuple[str, str]]] = []
        taken: set[str] = set()
        for pair in self.merges:
            if not groups or not taken.isdisjoint(pair):
                groups.append([])
                taken = set()
            groups[-1].append(pair)
            taken.update(pair)
        return groups

    def merge(self, query: Sequence[str]) -> list[str]:
        found = list(query)
        for group in self.levels:
            found = merge_tokens(found, group)
        return found

    def count(self, tokens: Iterable[str]) -> list[int]:
        from benchmarks.learner import UNKNOWN

        return [self.number.get(token, UNKNOWN) for token in tokens]

    def spell(self, numbers: Iterable[int]) -> list[str]:
        return [token for number in numbers for token in self.tokens[number].split(GLUE)]


def choose_held_out(rows: Iterable[Question], seed: int) -> frozenset[str]:
    """One template of each meaning that training asks with two or more."""
    used = {row.phrases[0] for row in rows}
    order = random.Random(seed)
    held = []
    for templates in load_grammar_bank("questions").templates.values():
        known = sorted({each.id for each in templates if each.use == "train"} & used)
        if len(known) > 1:
            held.append(order.choice(known))
    return frozenset(held)


def share_rows(rows: Sequence[Question], seed: int) -> dict[str, list[Question]]:
    """What is learnt, and what is asked: with templates that were taught, with those held out, and with the bank's own test of wordings."""
    taught = [row for row in rows if row.split in ("sft", "rl")]
    held = choose_held_out(taught, seed)
    asked = {
        id for id in sorted({row.trajectory_id for row in taught}) if random.Random(f"{seed}/{id}").random() < TESTED
    }
    return {
        "taught": [row for row in taught if row.trajectory_id not in asked and row.phrases[0] not in held],
        "templates that were taught": [
            row for row in taught if row.trajectory_id in asked and row.phrases[0] not in held
        ],
        "templates held out": [row for row in taught if row.phrases[0] in held],
        "`test_wording`": [row for row in rows if row.split == "test_wording"],
    }


def judge(row: Question, query: str, engines: Engines) -> bool:
    """Whether it is the question's query, or answers as that does in the customer's log."""
    if query.casefold() == decode_query(encode_query(row.sql, {}), {}).casefold():
        return True
    with suppress(QueryFailed, ValueError):
        return bool(query) and engines.of(row.trajectory_id).duckdb(query, row.answer_type) == value_from_json(
            row.result, row.answer_type
        )
    return False


def write_queries(learner: "Learner", language: Language, rows: Sequence[Question]) -> list[str]:
    """The query that it takes for likeliest, of each question."""
    from benchmarks.learner import continue_prefixes

    encoded = [language.encode(row) for row in rows]
    written = continue_prefixes(learner, [language.count(each.words) for each in encoded])
    return [decode_query(language.spell(tokens), each.marks) for each, tokens in zip(encoded, written, strict=True)]


def examine(run: Run, seed: int, epochs: int, say: Callable[[str], None]) -> Iterator[str]:
    """Lines of a table: what was asked, how often the learner was right."""
    from benchmarks.learner import train_learner

    shares = share_rows(list(run.read("questions")), seed)
    language = Language(shares["taught"], list_values(run), seed)
    say(f"{len(shares['taught']):,} questions to learn from, {len(language.tokens):,} tokens")
    learner = train_learner(language.draw_pairs, language.needs, epochs, seed, say)
    engines = Engines(run.read("trajectories"))
    yield "| asked with | questions | right | 95 % |"
    yield "| --- | --- | --- | --- |"
    for name, rows in list(shares.items())[1:]:
        chosen = random.Random(seed).sample(rows, min(MOST_ASKED, len(rows)))
        chosen.sort(key=lambda row: row.trajectory_id)
        written = write_queries(learner, language, chosen)
        right = sum(judge(row, query, engines) for row, query in zip(chosen, written, strict=True))
        low, high = compute_wilson_interval(right, len(chosen))
        yield f"| {name} | {len(chosen):,} | {right / len(chosen):.1%} | {low:.1%} to {high:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="the questions of this run")
    parser.add_argument("--customers", type=int, default=360, help="default: 360")
    parser.add_argument("--epochs", type=int, default=8, help="default: 8")
    parser.add_argument("--seed", type=int, default=77, help="default: 77")
    args = parser.parse_args()

    def say(line: str) -> None:
        print(line, flush=True)

    if args.run:
        for line in examine(Run(args.run), args.seed, args.epochs, say):
            say(line)
        return
    with TemporaryDirectory() as folder:
        run = Run(Path(folder), seed=args.seed)
        run.build("questions", count=args.customers, per_trajectory=50)
        lines = list(examine(run, args.seed, args.epochs, say))
    print("\n".join(lines))
    write("wordings", "\n".join(["`python -m benchmarks.wordings`", "", *lines, "", machine()]))


if __name__ == "__main__":
    main()
