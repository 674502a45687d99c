"""Shopping tasks: instructions that one product of the whole catalog satisfies, or a few (ShopSimulator, arXiv 2601.18225)."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, islice, pairwise, product
from random import Random
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from shopwright.pipeline.catalog.naming import mark_called_products
from shopwright.pipeline.checks import shopping as check
from shopwright.pipeline.checks.short_instructions import (
    ShortShop,
    find_short_misreading,
    find_title_run,
    open_short_shop,
    short_instruction_is_read_back,
)
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.languages import check_offered, find_language
from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.shopping import wording as wording_of
from shopwright.pipeline.shopping.chinese_wording import ChineseWriter
from shopwright.pipeline.shopping.customers import (
    CustomerTastes,
    LeafCustomers,
    LeafProducts,
    assign_customers,
    list_liked_categories,
)
from shopwright.pipeline.shopping.draw import (
    GRADES,
    NO_DEMANDS,
    ProfileDemands,
    TaskDraft,
    derive_profile_demands,
    draft_task,
    draw_grade,
)
from shopwright.pipeline.shopping.facts import VariantTables, compute_price_ceiling
from shopwright.pipeline.shopping.short_wording import ShortText, ShortWriter
from shopwright.pipeline.shopping.telling_facts import HABITS, Manner, draw_manner
from shopwright.pipeline.shopping.trait_words import draw_hand
from shopwright.pipeline.stage import Key, Plan, Section, Shard, Views, stage
from shopwright.schemas.phrases import Use
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Choice, Order, Persona, Product, Variant
from shopwright.schemas.shopping import Language, Profile, ShoppingTask, Wording

# Standard tasks and tasks with a profile in the paper (section 2.4).
PAPER = (23_421, 4_726)
# Share of each that is held out.
HELD_OUT = (1_459 / 23_421, 1_343 / 4_726)
# Pairs of a customer and a product that are looked at for the tasks of a leaf that have a profile.
TRIES = 2_000
# Of these, so many with customers who like the category.
LIKELY = 200
# Products that are tried for each of a category's own customers.
OWN_TRIES = 20
# Tasks for one product, at most: each wants another variant.
VARIANTS = 8
# And so many times more with other needs.
AGAIN = 8
# Products that are tried for a task without all that may be told of one.
SPARING = 32
# And so many people with their manners.
PERSONS = 2
# So many products of a category are what the profile says, at least.
GUESSES = 10
Count = Annotated[int, Field(description="standard tasks", ge=0)]
Personal = Annotated[int, Field(description="tasks with a profile", ge=0)]
Paper = Annotated[bool, Field(description="the paper's sizes: 23,421 and 4,726, of which 1,459 and 1,343 are held out")]
Worded = Annotated[
    Wording,
    Field(
        description="short: as people type it; descriptive: each need in words that are not the catalog's, in English alone"
    ),
]
# Choices of needs that are tried for a product until words for one keep from its title.
DRAFTS = 4
# Wordings that are tried for a task until one is read back.
WORDINGS = 8
Half = Literal["train", "test"]


def plan_shopping_tasks(
    catalog_fine: Dataset[Product], profiles: Dataset[Profile], count: int, personal: int, paper: bool, wording: Wording
) -> Plan:
    if wording == "descriptive":
        check_offered("--wording descriptive", ["en"], find_language(catalog_fine))
    standard, private = PAPER if paper else (count, personal)
    if private and not len(profiles):
        raise Lacking("Tasks with a profile need customers. Build trajectories of more of them, or say --personal 0.")
    return Plan(len(catalog_fine.once(group_products_by_leaf)), rows=standard + private)


def group_products_by_leaf(catalog_fine: Dataset[Product]) -> dict[str, LeafProducts]:
    """By leaf category, in the catalog's order: those that people would call by the category's everyday noun, or by its name."""
    rows = catalog_fine.table(["id", "category", "brand", "color", "title"]).to_pylist()
    nouns = load_grammar_bank("envs").templates
    chinese = find_language(catalog_fine).code == "zh"
    named = [chinese or f"thing {row['category']}" in nouns for row in rows]
    others = [row for row, known in zip(rows, named, strict=True) if not known]
    called = iter(mark_called_products([row["title"] for row in others], [row["category"] for row in others]))
    found: dict[str, LeafProducts] = defaultdict(LeafProducts)
    for row, known in zip(rows, named, strict=True):
        if known or next(called):
            shelf = found[row["category"]]
            shelf.ids.append(row["id"])
            shelf.brands |= {row["brand"]} - {None}
            shelf.colors |= {row["color"]} - {None}
    return dict(found)


def quotas(sizes: list[int], count: int, held_out: float, whole: Collection[int] = ()) -> list[tuple[int, int]]:
    """Tasks of each leaf by its size, and how many of them are held out; whole: places of leaves of which all are. The sums are exact.

    >>> quotas([120, 60, 0], 50, 0.1), quotas([120, 6, 60], 62, 0.1, [1])
    ([(33, 3), (17, 2), (0, 0)], [(40, 2), (2, 2), (20, 2)])
    """
    everything, test = max(1, sum(sizes)), round(count * held_out)
    upto = [count * each // everything for each in accumulate(sizes, initial=0)]
    counts = [after - before for before, after in pairwise(upto)]
    some = [0 if place in whole else size for place, size in enumerate(counts)]
    left = max(0, test - sum(counts) + sum(some))
    held = [left * each // max(1, sum(some)) for each in accumulate(some, initial=0)]
    of_some = [late - early for early, late in pairwise(held)]
    return [(size, size if place in whole else of_some[place]) for place, size in enumerate(counts)]


VIEWS = Views(
    place=70,
    apart={
        "product": Key("product_id"),
        "task": Key("task_id"),
        "instruction": Key("instruction", "trim(lower(regexp_replace(instruction, '\\W+', ' ', 'g')))"),
    },
    named_by=("task_id",),
    command="commands.shopping",
    environments={"shopping": "trainers.env:ShoppingEnv", "shopping_talk": "trainers.env:TalkEnv"},
    forms=("publish.exporters.rl:rl_shopping",),
    purposes=("reinforcement-learning",),
    columns=("category", "instruction", "price_limit", "split"),
    report=(Section("tasks", "Shopping tasks", "publish.report_shopping:gather_shopping_facts"),),
    sample=("instruction",),
    card={"shopping_audit": "publish.report_shopping:read_shopping_audit"},
    pictures={"needs": "publish.pictures:draw_needs"},
)


@stage(
    makes=ShoppingTask,
    plan=plan_shopping_tasks,
    checks=[
        check.row_agrees_with_its_needs,
        check.just_its_products_satisfy_it,
        check.no_need_is_idle,
        check.nearest_miss_misses,
        check.instruction_says_what_is_stated,
        short_instruction_is_read_back,
        check.title_is_not_copied,
        check.profile_gives_nothing_away,
    ],
    across=[ids_are_unique, check.splits_share_no_product, check.instructions_differ],
    per_shard=(1, 100),
    views=VIEWS,
    languages=("en", "zh"),
)
def shopping_tasks(
    catalog_fine: Dataset[Product],
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    trajectories: Dataset[Trajectory],
    orders: Dataset[Order],
    profiles: Dataset[Profile],
    shard: Shard,
    plan: Plan,
    *,
    count: Count = 1_000,
    personal: Personal = 200,
    paper: Paper = False,
    wording: Worded = "short",
) -> Iterator[ShoppingTask | Rejected]:
    """Instructions in everyday words, each proved to fit one product alone or just the few of its certificate, with what a profile adds."""
    found, people = catalog_fine.once(group_products_by_leaf), list(profiles)
    standard, private = PAPER if paper else (count, personal)
    sizes = [len(shelf.ids) for shelf in found.values()]
    tastes = list(map(CustomerTastes.of_profile, people))
    crowds = []
    for name, shelf in found.items():
        liked = sum(each.tell(name, shelf) for each in tastes)
        crowds.append(liked * len(shelf.ids))
    counters = catalog.once(make_counters)
    whole = [place for place, name in enumerate(found) if name in counters.store.held_out_leaves]
    with_profiles = quotas(crowds, private, HELD_OUT[1], whole)
    shares = zip(quotas(sizes, standard, HELD_OUT[0], whole), with_profiles, strict=True)
    homes = assign_customers(found, people, tastes, [own for own, _ in with_profiles])
    language = find_language(catalog)
    short = open_short_shop(catalog, variants) if wording == "short" else None
    of_leaf = list(zip(found.items(), shares, strict=True))
    texts: dict[str, str] = {}
    for place in shard.of(plan.units):
        (name, shelf), (own, with_profile) = of_leaf[place]
        crowd = LeafCustomers(people, homes[name], texts, language.code)
        yield from LeafTasks(counters, name, shelf.ids, crowd, shard, language.code, short).tasks(own, with_profile)


def make_counters(catalog: Dataset[Product]) -> VariantTables:
    return VariantTables(load_world_beside(catalog).store)


class LeafTasks:
    """The tasks of one leaf category. Its products come in an order of chance, and the first of them are held out."""

    def __init__(
        self,
        counters: VariantTables,
        name: str,
        ids: list[str],
        customers: LeafCustomers,
        shard: Shard,
        language: Language,
        short: ShortShop | None,
    ) -> None:
        """short: for short instructions, by which they are read back."""
        self.counters, self.name, self.shard, self.language, self.short = counters, name, shard, language, short
        self.customers = customers
        store = counters.store
        self.counter = counters.of(store.place_of_leaf[name])
        rows = [(shard.random("shopping_tasks", id).random(), id, store.row(id)) for id in ids]
        self.rows = [row for _, _, row in sorted(rows) if row is not None]
        # What is a task already: variants, and pairs of a product and a customer.
        self.taken: set[str] = set()
        # Customers who have a task here.
        self.served: set[str] = set()

    def tasks(self, standard: tuple[int, int], personal: tuple[int, int]) -> Iterator[ShoppingTask | Rejected]:
        """So many of each sort, of which the second number is held out."""
        # more products than held-out tasks: some cannot be told from their siblings, and few are what a profile says
        upto = min(max(8 * standard[1], 12 * personal[1]), len(self.rows) // 2)
        if self.name in self.counters.store.held_out_leaves:
            upto = len(self.rows)
        yield from self.of_split("test", self.rows[:upto], standard[1], personal[1])
        yield from self.of_split("train", self.rows[upto:], standard[0] - standard[1], personal[0] - personal[1])

    def of_split(self, split: Half, rows: list[int], standard: int, personal: int) -> Iterator[ShoppingTask | Rejected]:
        for sort, count, found in (
            ("standard", standard, self.standard(rows, split)),
            ("personal", personal, self.personal(rows, split)),
        ):
            made = 0
            for task in islice(found, count):
                made += 1
                yield task
            for number in range(made, count):
                reason = "its category holds too little for another task"
                yield Rejected(id=f"{self.name}-{split}-{sort}-{number}", reasons=[reason], record="{}")

    def standard(self, rows: list[int], split: Half) -> Iterator[ShoppingTask]:
        """One of each product, then another variant of each, and so on; in the end the same ones with other needs.

        The grade and the manner are drawn before the product: a product that has no such task waits for the next one. Drawn again with
        each try, a manner that tells much (a brand, a price) would be the one that is kept.
        """
        random = self.shard.random("shopping_tasks", self.name, split, "grades")
        waiting = deque((row, turn) for turn, row in product(range(VARIANTS + AGAIN), rows))
        # Grades that no product of the category has any more.
        without: set[int] = set()
        while waiting and len(without) < len(GRADES):
            grade = draw_grade(random, self.counter.language)
            wanted = min(GRADES.keys() - without, key=lambda each: abs(each - grade))
            habits = HABITS[self.counter.language]
            sparing = (draw_manner(habits, wanted, random, freely=False) for _ in range(PERSONS))
            tasks = (next(self.first_of_grade(waiting, SPARING, wanted, split, each), None) for each in sparing)
            task = next(filter(None, tasks), None)
            # Freely, and at last, where a shop knows little of its things, with a price.
            priced = replace(draw_manner(habits, wanted, random, freely=True), price=True)
            for manner in (None, priced) if task is None else ():
                # of the last grade every turn of every product is looked at
                tries = len(waiting) if len(without) == len(GRADES) - 1 else len(rows)
                task = task or next(self.first_of_grade(waiting, tries, wanted, split, manner), None)
            if task is None:
                without.add(wanted)
            else:
                yield task

    def first_of_grade(
        self, waiting: deque[tuple[int, int]], tries: int, grade: int, split: Half, manner: Manner | None
    ) -> Iterator[ShoppingTask]:
        """Tasks of this grade, of which one is taken; the products looked at in vain are put behind the others."""
        for _ in range(min(tries, len(waiting))):
            row, turn = waiting.popleft()
            for attempt in range(DRAFTS):
                found = self.draw(row, turn, NO_DEMANDS, "", grade, manner=manner, attempt=attempt)
                if found and (task := self.row(found, split, None, turn)):
                    self.taken |= self.name_taken(found, "")
                    yield task
                    break
            waiting.append((row, turn))

    def personal(self, rows: list[int], split: Half) -> Iterator[ShoppingTask]:
        """Of a customer and a product that its profile says something about, without giving it away.

        First one for each of the category's own customers, then for who likes such things, then for anybody.
        """
        known = self.matching_profiles
        own = {one.id for one in self.customers.own} - self.served
        likely = [(one, says) for one, says in known if self.name in list_liked_categories(one)]
        random = self.shard.random("shopping_tasks", self.name, split, "personal")
        fitting = {one.id: self.fitting(rows, says) for one, says in known}
        for one, says in (each for each in known if each[0].id in own):
            tries = (self.of_customer(one, says, fitting[one.id], random, split) for _ in range(OWN_TRIES))
            if (task := next(filter(None, tries), None)) is not None:
                yield task
        for turn in range(TRIES if known else 0):
            crowd = likely if likely and turn < LIKELY else known  # who likes such things first
            one, says = crowd[int(random.random() * len(crowd))]
            if (task := self.of_customer(one, says, fitting[one.id], random, split)) is not None:
                yield task

    def of_customer(
        self, profile: Profile, says: ProfileDemands, rows: list[int], random: Random, split: Half
    ) -> ShoppingTask | None:
        """A task for this customer and one of these products; None where it is none, or could be guessed."""
        found = self.draw(rows[int(random.random() * len(rows))], 0, says, profile.id) if rows else None
        if found is None or self.can_be_guessed(found):
            return None
        task = self.row(found, split, profile)
        if task is None or self.gives_away(task, self.customers.text_of(profile), found.thing.item.title):
            return None
        self.taken |= self.name_taken(found, profile.id)
        self.served.add(profile.id)
        return task

    @cached_property
    def matching_profiles(self) -> list[tuple[Profile, ProfileDemands]]:
        """The customers whose profiles say something of this category, and what."""
        carried = ((one, derive_profile_demands(one, self.counter, self.name)) for one in self.customers.people)
        return [(one, says) for one, says in carried if says.facts]

    def fitting(self, rows: list[int], says: ProfileDemands) -> list[int]:
        """Those of these products that are, in some variant, what the profile says."""
        liked = np.zeros(len(self.counter.rows), dtype=bool)
        for fact, value in says.facts.items():
            liked |= self.counter.columns[fact] == self.counter.values[fact].index(value)
        found = set(self.counter.rows[liked & self.counter.stocked].tolist())
        return [row for row in rows if row in found]

    def can_be_guessed(self, found: TaskDraft) -> bool:
        """Whether so few things are what the profile alone says that one could guess."""
        from_profile = [need for need in found.needs if need.known == "profile"]
        left = np.unique(self.counter.rows[self.counter.where(from_profile)])
        return len(left) < min(GUESSES, len(self.rows) // 4)

    def gives_away(self, task: ShoppingTask, profile: str, title: str) -> bool:
        return bool(check.find_profile_leak(task, profile, title) or check.instruction_says_what_is_stated(task))

    def draw(
        self,
        row: int,
        turn: int,
        says: ProfileDemands,
        profile: str,
        grade: int | None = None,
        *,
        manner: Manner | None = None,
        attempt: int = 0,
    ) -> TaskDraft | None:
        id = self.counters.store.ids[row].as_py()
        if profile and f"{id} {profile}" in self.taken:
            return None
        random = self.shard.random(
            "shopping_tasks", id, turn, profile, *([grade] if grade else []), *([attempt] if attempt else [])
        )
        but = () if profile or turn >= VARIANTS else self.taken
        # a profile tells the rest; and what a dense category has no other task for is told as its titles do
        titled = bool(profile) or turn >= VARIANTS
        found = draft_task(self.counters, row, random, grade=grade, carried=says, but=but, manner=manner, titled=titled)
        if found is None:
            return None
        return None if not profile and self.name_taken(found, "") & self.taken else found

    def name_taken(self, found: TaskDraft, profile: str) -> set[str]:
        """What this task takes from those after it."""
        id, option = found.thing.item.id, found.thing.option
        needs = f"{id} {sorted((need.fact, need.op, need.value) for need in found.needs)}"
        return {f"{id} {profile}"} if profile else {needs, option.id if option else id}

    def row(self, found: TaskDraft, split: Half, profile: Profile | None, turn: int = 0) -> ShoppingTask | None:
        """The task in words; None where no words that were tried keep from the title, or are read back."""
        item, option = found.thing.item, found.thing.option
        name = option.id if option else item.id
        id = f"{name}-{profile.id}" if profile else f"{name}-{turn}" if turn >= VARIANTS else name
        random = self.shard.random("shopping_tasks", id, "words")
        task = ShoppingTask(
            id=id,
            product_id=item.id,
            variant_id=option.id if option else "",
            category=found.category,
            language=self.language,
            instruction="",
            simple_instruction="",
            purpose="",
            options=[Choice(name=need.fact, value=need.value) for need in found.needs if need.kind == "option"],
            attributes=[need.value for need in found.needs if need.kind == "attribute"],
            price_limit=next((compute_price_ceiling(need) for need in found.needs if need.kind == "price"), None),
            needs=list(found.needs),
            grade=found.grade,
            wording="short" if self.short else "descriptive",
            phrases=[],
            profile_id=profile.id if profile else "",
            reason_keys=[need.fact for need in found.needs if need.known == "profile"],
            right=found.right,
            acceptable=found.acceptable,
            nearest_miss=found.nearest_miss,
            title_overlap=0.0,
            split=split,
        )
        for _ in range(WORDINGS if self.short else 1):
            worded = self.word(task, found, random)
            if worded and self.is_well_worded(worded, item.title):
                return worded
        return None

    def word(self, task: ShoppingTask, found: TaskDraft, random: Random) -> ShoppingTask | None:
        said = self.say_shortly(task, found, random) if self.short else self.describe(task, found, random)
        if said is None:
            return None
        overlap = wording_of.compute_copied_share(found.thing.item.title, said.text)
        return task.model_copy(
            update={
                "instruction": said.text,
                "simple_instruction": said.opening,
                "opening_facts": said.opening_facts,
                "purpose": said.purpose,
                "needs": said.needs,
                "phrases": said.phrases,
                "title_overlap": overlap,
            }
        )

    def say_shortly(self, task: ShoppingTask, found: TaskDraft, random: Random) -> ShortText | None:
        use: Use = "train"
        if task.split == "test":
            use = "test" if random.random() < 0.5 else "test_wording"
        if self.language == "zh":
            writer = ChineseWriter(self.counter, found.thing.item.title, use, random)
            return writer.write(found.needs, usual=bool(task.profile_id))
        hand = draw_hand(self.shard.random("shopping_tasks", task.profile_id or task.id, "hand"))
        return ShortWriter(self.counter, found.thing.item.title, use, random, hand).write(
            found.needs, usual=bool(task.profile_id)
        )

    def describe(self, task: ShoppingTask, found: TaskDraft, random: Random) -> ShortText:
        category = found.category
        needs = [
            need.model_copy(update={"said": wording_of.phrase_need(need, category, random)}) for need in found.needs
        ]
        text = wording_of.phrase_instruction(category, needs, random, usual=bool(task.profile_id))
        return ShortText(text, wording_of.phrase_vague_opening(category, random), "", needs, [], [])

    def is_well_worded(self, task: ShoppingTask, title: str) -> bool:
        """Whether it keeps from the title, says all that it has to and, where it is short, is read as it was meant."""
        if task.title_overlap > wording_of.MOST_TITLE_OVERLAP:
            return False
        return not self.short or not (
            check.instruction_says_what_is_stated(task)
            or find_title_run(task.instruction, title)
            or find_short_misreading(task, self.short)
        )
