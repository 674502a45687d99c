"""A `phrases` dataset as the bank that words are taken from: a folder, or a dataset of the Hub."""

from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from shopwright.pipeline.files import parquet, sha256_of
from shopwright.pipeline.hub_files import HUB_ID, download_from_hub
from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank
from shopwright.pipeline.phrases.grammar import Template
from shopwright.pipeline.problem import Problem

COLUMNS = ["family", "meaning", "tone", "words", "split"]
# Where the files of a published bank are.
PUBLISHED = ("*phrases/*.parquet",)

Bank = Annotated[
    str,
    Field(
        description="folder, or OWNER/NAME on the Hub, of a phrases dataset to speak from; where none is given, the package's phrase files"
    ),
]


def list_bank_files(bank: str) -> tuple[Path, ...]:
    """The Parquet files of a bank; none for the bank of the package. Raises Problem where there are none."""
    if not bank:
        return ()
    files = find_bank_files(bank)
    if not files:
        raise Problem(f"--bank {bank}: no Parquet files there. Give the folder of a phrases dataset, as RUN/phrases.")
    for file in files:
        missing = sorted(set(COLUMNS) - set(parquet(file).schema_arrow.names))
        if missing:
            raise Problem(f"--bank {bank}: {file.name} has no column {missing[0]}, so it is no phrases dataset.")
    return files


def find_bank_files(bank: str) -> tuple[Path, ...]:
    folder = Path(bank).expanduser()
    if folder.is_dir() or not HUB_ID.fullmatch(bank):
        return tuple(sorted(folder.glob("*.parquet")))
    found = download_from_hub(bank, PUBLISHED, option="--bank", copy="FOLDER")
    return tuple(sorted(found.rglob("*.parquet")))


class GivenBank(NamedTuple):
    """A bank that is not the package's."""

    phrases: PhraseBank
    digest: str
    """Of its files: by which rows name the bank that they are made from."""


@cache
def load_bank(files: tuple[Path, ...], family: str) -> GivenBank | None:
    """The phrases of these files for each meaning that they have, those of the package for the rest, such as times and notes.

    None where they have nothing of this family.
    """
    rows = chain.from_iterable(parquet(file).read(COLUMNS).to_pylist() for file in files)
    found = [
        Template(row["meaning"], row["tone"], row["words"], ((row["words"],),), row["split"])
        for row in rows
        if row["family"] == family
    ]
    said = {each.meaning for each in found}
    own = load_grammar_bank(family).templates.items()
    rest = chain.from_iterable(templates for meaning, templates in own if meaning not in said)
    digest = sha256("".join(map(sha256_of, files)).encode()).hexdigest()[:16]
    return GivenBank(PhraseBank([*found, *rest]), digest) if found else None
