"""The phrase bank: ways to say each meaning of each family of texts, each proved by being read back from an example."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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
from shopwright.pipeline.phrases.grammar import REGISTERS, SLOT, Template, deal_use, digest_text
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.proofs import FAMILIES
from shopwright.pipeline.proofs.family import (
    Claim,
    Example,
    Family,
    Sources,
    Unproved,
    list_registers,
    prove_phrase,
    read_to_check,
)
from shopwright.pipeline.stage import Fault, Plan, Section, Shard, Views, stage
from shopwright.schemas.phrases import Phrase, Register
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order, Persona, Product, Variant

# Templates of a meaning that a model is shown.
SHOWN = 6
# The name by which the files of the package are known.
GRAMMAR = "grammar"
SINGULAR_VERBS = {
    "are": "is", "aren't": "isn't", "were": "was", "weren't": "wasn't", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't",
    "go": "goes", "match": "matches", "catch": "catches",
}  # fmt: skip
GAP = re.compile(r"\s*\{[^}]*\}\s*")


def validate_families(text: str) -> str:
    strange = sorted(set(text.split(",")) - set(FAMILIES))
    if strange:
        raise ValueError(f"no family {strange[0]!r}; there are {', '.join(FAMILIES)}")
    return text


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
Families = Annotated[str, AfterValidator(validate_families), Field(description="families of texts, by commas")]


def example_is_read_back(
    phrase: Phrase, trajectories: Dataset[Trajectory], catalog: Dataset[Product], personas: Dataset[Persona]
) -> str | None:
    """The example, read by code that knows nothing of the bank, says the meaning with its facts, and nothing else."""
    claim = Claim(phrase.meaning, phrase.words, phrase.example, phrase.facts, phrase.example_of, phrase.asked_on)
    try:
        found = read_to_check(FAMILIES[phrase.family], claim, Sources(trajectories, catalog, personas))
    except Unproved as why:
        return f"its example: {group_reason(str(why))}"
    return None if found == phrase.proof else "its proof is not what is read in its example"


def example_has_its_words(phrase: Phrase) -> str | None:
    """The words between the slots stand in the example, in their order; and the slots are those of the words."""
    if sorted(set(SLOT.findall(phrase.words))) != phrase.slots:
        return "its slots are not those of its words"
    pieces = [drop_number(each) for each in GAP.split(phrase.words)]
    place, text = 0, drop_number(phrase.example)
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


def drop_number(text: str) -> str:
    """Words without what makes them one or several, as verbs follow the thing in a slot.

    >>> drop_number("{product} is in the cart"), drop_number("The boots are in the cart")
    ('product i in the cart', 'the boot i in the cart')
    """
    return " ".join(SINGULAR_VERBS.get(word, word).rstrip("s") for word in normalize_words(text).split())


def phrases_differ(phrases: Dataset[Phrase]) -> Iterable[Fault]:
    """No meaning has the same words twice in a register, and no template is in two splits."""
    words: set[tuple[str, ...]] = set()
    splits: dict[tuple[str, str], str] = {}
    for path in phrases.files:
        first = 0
        for batch in read_row_groups(path, ["family", "meaning", "tone", "words", "template", "split"]):
            for row, found in enumerate(batch.to_pylist(), first):
                key = found["family"], found["meaning"], found["tone"], normalize_words(found["words"])
                if key in words:
                    yield Fault(str(path), row, "the same words twice for a meaning")
                elif splits.setdefault((found["family"], found["template"]), found["split"]) != found["split"]:
                    yield Fault(str(path), row, "a template in two splits")
                words.add(key)
            first += batch.num_rows


def plan_phrases(trajectories: Dataset[Trajectory], families: str) -> Plan:
    if not len(trajectories):
        raise Lacking("There are no trajectories, so no question can be an example. Look at why they were rejected.")
    chosen = [family for name, family in FAMILIES.items() if name in families.split(",")]
    units: list[tuple[str, str]] = []
    for family in chosen:
        units += [(family.name, unit) for unit in family.list_units()]
    return Plan(len(units), facts=units)


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
        columns=("family", "meaning", "tone", "words", "split", "written_by"),
        report=(Section("phrases", "Phrases", "publish.report_phrases:gather_phrase_facts"),),
    ),
)
def phrases(
    trajectories: Dataset[Trajectory],
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    orders: Dataset[Order],
    shard: Shard,
    plan: Plan,
    writer: Role,
    *,
    families: Families = "questions,envs,behaviors,rollouts",
    per_template: PerTemplate = 4,
    per_register: PerRegister = 10,
    written_by: WrittenBy = "code",
) -> Iterator[Phrase | Rejected]:
    """Ways to say each meaning of the phrase bank, with slots for facts, each proved by being read back."""
    sources = Sources(trajectories, catalog, personas)
    for number in shard.of(plan.units):
        name, unit = plan.facts[number]
        family = FAMILIES[name]
        examples = family.find_examples(unit, sources, shard.random("examples", name, unit))
        dice = shard.random("frames", name, unit)
        for meaning, found in examples.items():
            work = MeaningWork(family, meaning, found, sources)
            yield from work.write_by_grammar(per_template, dice)
        if written_by == "model":
            asked = []
            for meaning, found in examples.items():
                work = MeaningWork(family, meaning, found, sources)
                for register in list_registers(family.bank.templates.get(meaning, ()), REGISTERS):
                    asked.append(work.ask_for_phrasings(register, per_register, writer.spec.name))
            for rows in writer.play(asked):
                yield from rows


class Phrasings(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    phrasings: list[str]


class MeaningWork:
    """One meaning of a family: what is known of it, and the rows that are made of it."""

    def __init__(self, family: Family[Any], meaning: str, examples: Sequence[Example], sources: Sources) -> None:
        self.family, self.meaning, self.examples, self.sources = family, meaning, examples, sources
        self.templates = family.bank.templates.get(meaning, [])

    def write_by_grammar(self, count: int, random: Random) -> Iterator[Phrase | Rejected]:
        made = set[tuple[str, str]]()
        for template in self.templates:
            frames = list(template.frames())
            chosen = frames if len(frames) <= count else random.sample(frames, count)
            for number, frame in enumerate(chosen):
                key = template.register, normalize_words(frame)
                if key not in made:  # a sign more or less makes no other words
                    made.add(key)
                    yield self.prove_or_reject(template, frame, f"{template.register}/{template.id}-{number}", GRAMMAR)

    def ask_for_phrasings(self, register: Register, count: int, model: str) -> Conversation[list[Phrase | Rejected]]:
        """Many phrasings at once; each is proved by itself, so that one bad line costs no other."""
        name = f"{self.meaning}/{register}/{model}"
        facts = {
            "meaning": self.examples[0].about,
            "count": count,
            "register": register,
            "slots": self.list_slots(),
            "examples": Random(name).sample([each.pattern for each in self.templates], min(SHOWN, len(self.templates))),
        }
        messages = render_messages("phrases", family=self.family.name, **facts)
        prompt = Prompt("phrases", tuple(messages), schema=schema_of(Phrasings), seed=digest_text(name))
        reply = yield from ask_until_valid(prompt, read_phrasings)
        if isinstance(reply, NoValidReply):
            record = {"family": self.family.name, "written_by": model, **facts}
            return [make_rejected_row(f"phrase-{digest_text(name):08x}-asked", "phrasings", record, reply)]
        found: list[Phrase | Rejected] = []
        for number, words in enumerate(dict.fromkeys(" ".join(each.split()) for each in reply.phrasings)):
            template = Template(self.meaning, register, words, ((words,),), deal_use(words))
            found.append(self.prove_or_reject(template, words, f"{name}/{number}", model))
        return found

    def list_slots(self) -> list[str]:
        """What a model may use: of what is known, what the package's templates use, or all where it has none."""
        used = set[str]().union(*(template.slots for template in self.templates))
        return [each for each in self.examples[0].slots if each in used or not self.templates or ":" in each]

    def prove_or_reject(self, template: Template, frame: str, name: str, writer: str) -> Phrase | Rejected:
        """A row of the bank, or why its words are not taken."""
        family = self.family.name
        slug = re.sub(r"\W+", "-", template.meaning)
        id = f"phrase-{digest_text(f'{family}/{name}'):08x}-{slug}"
        try:
            example, filled, proof = prove_phrase(
                self.family, template, frame, self.examples, self.sources, Random(name)
            )
        except Unproved as why:
            record = {
                "family": family,
                "meaning": template.meaning,
                "tone": template.register,
                "words": frame,
                "written_by": writer,
                "why": str(why),
            }
            return Rejected(id=id, reasons=[group_reason(str(why))], record=json.dumps(record, ensure_ascii=False))
        return Phrase(
            id=id,
            family=family,
            meaning=template.meaning,
            tone=template.register,
            language="en",
            words=frame,
            slots=sorted(set(SLOT.findall(frame))),
            split=template.use,
            template=template.id,
            written_by=writer,
            example=filled.text,
            facts=filled.facts,
            example_of=example.of,
            asked_on=example.asked_on,
            proof=proof,
        )


def group_reason(why: str) -> str:
    """A reason without its example, so that rows with the same reason can be counted.

    >>> group_reason("it means something else (of.n is another): Where?")
    'it means something else'
    """
    return re.split(r"[:({]", why, maxsplit=1)[0].strip()


def read_phrasings(reply: Reply) -> Phrasings:
    return parse_reply_json(reply, Phrasings)
