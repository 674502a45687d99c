"""The phrase bank: ways to ask each kind of question, each proved by being read back from an example."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset, read_row_groups
from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import (
    NoValidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank
from shopwright.pipeline.phrases.grammar import SLOT, Template, deal_use, digest_text
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.questions.engines import Engines, Table
from shopwright.pipeline.questions.phrase import Voice, list_all_slots
from shopwright.pipeline.questions.phrase_proof import Example, Unproved, find_examples, list_slot_forms, prove_phrase
from shopwright.pipeline.questions.question_parser import Unclear, list_tree_differences, parse_trees
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.tree import tree_from_json, tree_to_json
from shopwright.pipeline.stage import Fault, Plan, Shard, Views, stage
from shopwright.schemas.phrases import Phrase, Register
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory

# Trajectories in which an example is looked for.
LOOKED_AT = 12
# Templates of a meaning that a model is shown.
SHOWN = 6
# The name by which the files of the package are known.
GRAMMAR = "grammar"
GAP = re.compile(r"\s*\{[^}]*\}\s*")

PerTemplate = Annotated[int, Field(description="frames of each template of the grammar", ge=1, le=100)]
PerRegister = Annotated[
    int, Field(description="phrasings asked of a model for each meaning and register", ge=1, le=100)
]
WrittenBy = Annotated[
    Literal["code", "model"],
    Field(
        description="who writes: code alone from the files of the package, or a model as well; a model needs --model"
    ),
]


def example_is_read_back(phrase: Phrase, trajectories: Dataset[Trajectory]) -> str | None:
    """The example, read by a grammar that knows nothing of the bank, is the question of the proof and no other."""
    engines = trajectories.once(Engines)
    if phrase.example_of not in engines:
        return "its trajectory is not there"
    names = engines.of(phrase.example_of).names.on(phrase.asked_on)
    try:
        tree = tree_from_json(phrase.proof)
        found = [list_tree_differences(each, tree, names) for each in parse_trees(phrase.example, names)]
    except Unclear:
        return "its example is not understood"
    except ValueError:
        return "its proof is no question"
    return "its example means another question" if any(found) else None


def example_has_its_words(phrase: Phrase) -> str | None:
    """The words between the slots stand in the example, in their order; and the slots are those of the words."""
    if sorted(set(SLOT.findall(phrase.words))) != phrase.slots:
        return "its slots are not those of its words"
    pieces = [normalize_words(each) for each in GAP.split(phrase.words)]
    place, text = 0, normalize_words(phrase.example)
    for piece in filter(None, pieces):
        place = text.find(piece, place) + len(piece)
        if place < len(piece):
            return "its example is not made of its words"
    return None


def normalize_words(text: str) -> str:
    """
    >>> normalize_words("An  apple , please?")
    'a apple please'
    """
    return re.sub(r"\ban\b", "a", " ".join(re.findall(r"[\w'$-]+", text.lower())))


def phrases_differ(phrases: Dataset[Phrase]) -> Iterable[Fault]:
    """No meaning has the same words twice, and no template is in two splits."""
    words: set[tuple[str, str]] = set()
    splits: dict[str, str] = {}
    for path in phrases.files:
        first = 0
        for batch in read_row_groups(path, ["meaning", "words", "template", "split"]):
            for row, found in enumerate(batch.to_pylist(), first):
                key = found["meaning"], normalize_words(found["words"])
                if key in words:
                    yield Fault(str(path), row, "the same words twice for a meaning")
                elif splits.setdefault(found["template"], found["split"]) != found["split"]:
                    yield Fault(str(path), row, "a template in two splits")
                words.add(key)
            first += batch.num_rows


def plan_phrases(trajectories: Dataset[Trajectory]) -> Plan:
    if not len(trajectories):
        raise Problem("There are no trajectories, so no question can be an example. Look at why they were rejected.")
    return Plan(len(SHAPES))


@stage(
    makes=Phrase,
    plan=plan_phrases,
    checks=[example_is_read_back, example_has_its_words],
    across=[ids_are_unique, phrases_differ],
    per_shard=(5, 100),
    views=Views(
        place=29,
        purposes=("text-generation",),
        sample=("meaning", "words"),
        columns=("meaning", "tone", "words", "split", "written_by"),
    ),
)
def phrases(
    trajectories: Dataset[Trajectory],
    shard: Shard,
    plan: Plan,
    writer: Role,
    *,
    per_template: PerTemplate = 4,
    per_register: PerRegister = 10,
    written_by: WrittenBy = "code",
) -> Iterator[Phrase | Rejected]:
    """Ways to ask each kind of question, with slots for facts, each proved by being read back."""
    bank = load_grammar_bank("questions")
    for number in shard.of(plan.units):
        shape = list(SHAPES)[number]
        examples = find_examples(shape, open_some_tables(trajectories), shard.random("examples", shape))
        yield from write_by_grammar(bank, examples, per_template, shard.random("frames", shape))
        if written_by == "model":
            yield from write_by_model(bank, examples, per_register, writer)


def open_some_tables(trajectories: Dataset[Trajectory]) -> Iterator[tuple[str, Table]]:
    engines = trajectories.once(Engines)
    ids = trajectories.table(["id"])["id"].to_pylist()
    for id in islice(ids, LOOKED_AT):
        yield id, engines.of(id)


def write_by_grammar(
    bank: PhraseBank, examples: dict[str, Example], count: int, random: Random
) -> Iterator[Phrase | Rejected]:
    for meaning, example in examples.items():
        for template in bank.templates.get(meaning, []):
            frames = list(template.frames())
            chosen = frames if len(frames) <= count else random.sample(frames, count)
            for number, frame in enumerate(chosen):
                yield prove_or_reject(template, frame, example, bank, f"{template.id}-{number}", GRAMMAR)


def prove_or_reject(
    template: Template, frame: str, example: Example, bank: PhraseBank, name: str, writer: str
) -> Phrase | Rejected:
    """A row of the bank, or why its words are not taken."""
    id = f"phrase-{digest_text(name):08x}-{template.meaning.replace('/', '-').replace(' ', '-')}"
    try:
        text = prove_phrase(template, frame, example, bank, Random(name))
    except Unproved as why:
        record = {"meaning": template.meaning, "tone": template.register, "words": frame, "written_by": writer}
        return Rejected(
            id=id, reasons=[group_reason(str(why))], record=json.dumps(record | {"why": str(why)}, ensure_ascii=False)
        )
    return Phrase(
        id=id,
        family="questions",
        meaning=template.meaning,
        tone=template.register,
        language="en",
        words=frame,
        slots=sorted(set(SLOT.findall(frame))),
        split=template.use,
        template=template.id,
        written_by=writer,
        example=text,
        example_of=example.trajectory_id,
        asked_on=example.asked_on,
        proof=tree_to_json(example.tree),
    )


def group_reason(why: str) -> str:
    """A reason without its example, so that rows with the same reason can be counted.

    >>> group_reason("it means something else (of.n is another): Where?")
    'it means something else'
    """
    return re.split(r"[:({]", why, maxsplit=1)[0].strip()


class Phrasings(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    phrasings: list[str]


def write_by_model(
    bank: PhraseBank, examples: dict[str, Example], count: int, writer: Role
) -> Iterator[Phrase | Rejected]:
    asked = (
        ask_for_phrasings(bank, meaning, example, register, count, writer.spec.name)
        for meaning, example in examples.items()
        for register in get_args(Register)
    )
    for rows in writer.play(asked):
        yield from rows


def ask_for_phrasings(
    bank: PhraseBank, meaning: str, example: Example, register: Register, count: int, model: str
) -> Conversation[list[Phrase | Rejected]]:
    """Many phrasings of one meaning at once; each is proved by itself, so that one bad line costs no other."""
    name = f"{meaning}/{register}/{model}"
    known = [template.pattern for template in bank.templates.get(meaning, [])]
    random = Random(name)
    slots = list_all_slots(example.tree, example.asked_on, random, Voice(register, "first", "us"))
    facts = {
        "meaning": example.about,
        "count": count,
        "register": register,
        "slots": list_slot_forms(slots),
        "examples": random.sample(known, min(SHOWN, len(known))),
    }
    prompt = Prompt(
        "phrases", tuple(render_messages("phrases", **facts)), schema=schema_of(Phrasings), seed=digest_text(name)
    )
    reply = yield from ask_until_valid(prompt, read_phrasings)
    if isinstance(reply, NoValidReply):
        return [make_rejected_row(f"phrase-{digest_text(name):08x}-asked", "phrasings", facts, reply)]
    found: list[Phrase | Rejected] = []
    for number, words in enumerate(dict.fromkeys(" ".join(each.split()) for each in reply.phrasings)):
        template = Template(meaning, register, words, ((words,),), deal_use(words))
        found.append(prove_or_reject(template, words, example, bank, f"{name}/{number}", model))
    return found


def read_phrasings(reply: Reply) -> Phrasings:
    return parse_reply_json(reply, Phrasings)
