"""A `phrases` dataset as the bank that questions are asked from."""

from functools import cache
from itertools import chain
from pathlib import Path

from shopwright.pipeline.files import parquet
from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank
from shopwright.pipeline.phrases.grammar import Template
from shopwright.pipeline.problem import Problem

COLUMNS = ["family", "meaning", "tone", "words", "split"]


def list_bank_files(folder: str) -> tuple[Path, ...]:
    """The Parquet files of a bank; none for the bank of the package. Raises Problem where a folder has none."""
    if not folder:
        return ()
    files = tuple(sorted(Path(folder).glob("*.parquet")))
    if not files:
        raise Problem(f"--bank {folder}: no Parquet files there. Give the folder of a phrases dataset, as RUN/phrases.")
    for file in files:
        missing = sorted(set(COLUMNS) - set(parquet(file).schema_arrow.names))
        if missing:
            raise Problem(f"--bank {folder}: {file.name} has no column {missing[0]}, so it is no phrases dataset.")
    return files


@cache
def load_bank(folder: str) -> PhraseBank:
    """The phrases of a folder for each meaning that it has; those of the package for the rest, such as times and notes."""
    own = load_grammar_bank("questions")
    rows = chain.from_iterable(parquet(file).read(COLUMNS).to_pylist() for file in list_bank_files(folder))
    found = [
        Template(row["meaning"], row["tone"], row["words"], ((row["words"],),), row["split"])
        for row in rows
        if row["family"] == "questions"
    ]
    said = {each.meaning for each in found}
    rest = chain.from_iterable(templates for meaning, templates in own.templates.items() if meaning not in said)
    return PhraseBank([*found, *rest]) if found else own
