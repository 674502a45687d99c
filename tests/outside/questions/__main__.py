"""Answers the questions of a run and compares: python -m questions RUN."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from pandas import DataFrame
from pyarrow.parquet import ParquetFile

from .log import Log, rows
from .solver import answer
from .things import Namer

COLUMNS = ["id", "trajectory_id", "asked_on", "question", "answer", "answer_type", "shape"]


@dataclass
class Tally:
    asked: Counter[str] = field(default_factory=Counter)
    understood: Counter[str] = field(default_factory=Counter)
    agreeing: int = 0
    disagreements: list[str] = field(default_factory=list)

    def enter(self, row: dict[str, str], own: str | None) -> None:
        self.asked[row["shape"]] += 1
        if own is None:
            return
        self.understood[row["shape"]] += 1
        if agree(own, str(row["answer"]), row["answer_type"]):
            self.agreeing += 1
        else:
            self.disagreements.append(f"{row['id']}: {row['question']}\n  answer: {row['answer']}\n  here:   {own}")

    def lines(self) -> Iterator[str]:
        yield f"questions:  {self.asked.total()}"
        yield f"understood: {self.understood.total()}"
        for shape, number in sorted(self.asked.items()):
            if self.understood[shape] < number:
                yield f"  {shape}: {self.understood[shape]} of {number}"
        yield f"agreeing:   {self.agreeing}"
        yield from self.disagreements


def agree(one: str, other: str, answer_type: str) -> bool:
    if answer_type == "set":
        return sorted(one.split("; ")) == sorted(other.split("; "))
    return one == other


def batches(folder: Path, columns: list[str]) -> Iterator[list[dict[str, object]]]:
    for file in sorted(folder.glob("*.parquet")):
        for batch in ParquetFile(file).iter_batches(batch_size=16, columns=columns):
            yield batch.to_pylist()


def compare(run: Path) -> Tally:
    """Answer the questions of each trajectory of a run."""
    questions: dict[str, list[dict[str, str]]] = {}
    for batch in batches(run / "questions", COLUMNS):
        for row in batch:
            questions.setdefault(str(row["trajectory_id"]), []).append({key: str(row[key]) for key in COLUMNS})
    tally = Tally()
    for batch in batches(run / "trajectories", ["id", "events"]):
        for row in batch:
            if asked := questions.pop(str(row["id"]), []):
                namer = Namer(Log(rows(DataFrame(row["events"]))))
                for question in asked:
                    asked_on = date.fromisoformat(question["asked_on"])
                    tally.enter(question, answer(question["question"], asked_on, namer))
    for asked in questions.values():
        for question in asked:  # a trajectory that is not there
            tally.enter(question, None)
    return tally


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m questions RUN", file=sys.stderr)
        return 2
    tally = compare(Path(sys.argv[1]))
    print("\n".join(tally.lines()))
    return 1 if tally.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
