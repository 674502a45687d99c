"""A task drawn for one product: what is needed of it, so that no other product of the catalog will do."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

import numpy as np

from shopwright.pipeline.catalog.variants import list_varying_options
from shopwright.pipeline.catalog.wishes import is_ordinary
from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shopping.facts import (
    ProductVariant,
    VariantTable,
    VariantTables,
    build_need,
    normalize_attribute_name,
)
from shopwright.pipeline.shopping.right_products import (
    Candidate,
    certify_products,
    find_nearest_miss,
    get_variant_at,
    leave_out_needs,
    list_right_rows,
    meets_all,
    pack_bits,
)
from shopwright.pipeline.shopping.telling_facts import (
    HABITS,
    Manner,
    TellingFacts,
    build_price_limit,
    draw_manner,
    is_detail,
    is_measure,
    weigh,
)
from shopwright.pipeline.shopping.trait_words import FOR, draw_place
from shopwright.pipeline.shopping.wording import MOST_TITLE_OVERLAP, compute_copied_share
from shopwright.schemas.certificates import certificate_to_text
from shopwright.schemas.shopping import Need, Profile, Right

# Needs of each grade.
GRADES = {1: range(2, 4), 2: range(4, 6), 3: range(6, 20)}
# Choices of needs that are tried for a variant, by grade: many that are all needed are rare.
TRIES = {1: 20, 2: 16, 3: 40}
# Grades of which all choices of needs are looked at before any is tried; of a larger one there are too many.
MOST_TRIED = (1, 2)
# Share of the tries that insist on an effect, or on few needs, where the manner has it.
INSIST = 0.9
# Products that few words fit, at most.
MOST_RIGHT = 5
# Variants of which the facts are kept, some 20 KB each.
MOST_KNOWN = 2_000
# Share of a category's variants that have a measure, at least.
COMMON_MEASURE = 0.2
# How a firm signs, and nobody calls it.
LEGAL_FORM = re.compile(r",? (?:inc|llc|ltd|corp|co|gmbh|company|corporation|limited|incorporated)\.?$", re.IGNORECASE)
# Needs that are never all in the title, where no profile tells the rest.
FEW = 2
# Words of a value that is copied from the title where it is said at all.
LONG_RUN = 3


@dataclass(frozen=True)
class TaskDraft:
    """One variant and what tells its product from all others."""

    thing: ProductVariant
    category: str
    group: str
    """The department that the category is of."""
    needs: tuple[Need, ...]
    grade: int
    right: Right
    acceptable: str
    """The certificate, as JSON."""
    nearest_miss: str


@dataclass(frozen=True)
class ProfileDemands:
    """What a profile says about one kind of thing: facts and their values, and what it pays at most, in cents."""

    facts: Mapping[str, str]
    most: int | None = None


NO_DEMANDS = ProfileDemands({})


def draw_grade(random: Random, language: str) -> int:
    """A grade, by its share in this language."""
    grades, shares = zip(*HABITS[language].grades.items(), strict=True)
    grade: int = grades[draw_place(shares, random)]
    return grade


def grade_of(needs: Sequence[Need]) -> int:
    """By the number of needs; few of them are grade 1.

    >>> [grade_of(["need"] * count) for count in (1, 3, 4, 6)]  # type: ignore[list-item]
    [1, 1, 2, 3]
    """
    return next((grade for grade, sizes in GRADES.items() if len(needs) in sizes), 1)


def draft_task(
    counters: VariantTables,
    row: int,
    random: Random,
    *,
    grade: int | None = None,
    carried: ProfileDemands = NO_DEMANDS,
    but: Iterable[str] = (),
    manner: Manner | None = None,
    titled: bool = False,
) -> TaskDraft | None:
    """A task for the product of this row; None where nothing tells it from its siblings in as many needs as the grade has.

    grade: None takes any. carried: what the customer's profile says, which is then needed and not stated. but: variants that are
    tasks already. manner: what is told beside what it is like; None for whatever is needed. titled: the title may tell all of it in
    the same words.
    """
    store = counters.store
    leaf = int(store.leaf_of[row])
    counter = counters.of(leaf)
    here = np.flatnonzero((counter.rows == row) & counter.stocked)
    order = sorted(here.tolist(), key=lambda _: random.random())
    for place in order:
        thing, known, pool = look_up_facts(store, counter, place)
        if thing.option and thing.option.id in but:
            continue
        if carried.facts:
            pool = pool.leave_out(carried.facts)
        needs = choose_telling_needs(pool, row, known, random, carried, grade, manner, titled)
        if needs is not None:
            rows = list_right_rows(counter, needs)
            return TaskDraft(
                thing,
                store.leaves[leaf],
                store.groups[leaf],
                tuple(needs),
                grade_of(needs),
                "one product" if len(rows) == 1 else "any of several",
                certificate_to_text(certify_products(store, counter, rows, needs)),
                certificate_to_text(find_nearest_miss(store, counter, rows, needs)),
            )
    return None


@lru_cache(MOST_KNOWN)
def look_up_facts(
    store: Store, counter: VariantTable, place: int
) -> tuple[ProductVariant, dict[str, Need], TellingFacts]:
    """A variant, all that can be needed of it, and what can be told: kept, as products are tried again and again."""
    thing = get_variant_at(store, counter, place)
    needs = list_possible_needs(counter, thing)
    return thing, needs, TellingFacts(counter, thing, needs)


def choose_telling_needs(
    pool: TellingFacts,
    row: int,
    known: Mapping[str, Need],
    random: Random,
    carried: ProfileDemands,
    grade: int | None,
    manner: Manner | None,
    titled: bool,
) -> list[Need] | None:
    """Needs that only this product satisfies, or only a few do, none of which can be left out; None where no try comes to as many as
    the grade has."""
    counter, thing = pool.counter, pool.thing
    from_profile = [
        known[fact].model_copy(update={"known": "profile"})
        for fact, value in carried.facts.items()
        if fact in known and known[fact].value == value
    ]
    if carried.facts and not from_profile:
        return None
    if carried.most is not None and thing.cents <= carried.most:
        from_profile.append(build_price_limit(carried.most, known="profile"))
    first = [weigh(counter, need) for need in from_profile]
    manner = manner or draw_manner(HABITS[counter.language], grade or 1, random, freely=True)
    # Of a title that tells nearly everything the price has to be told, too, or who compares words has the product.
    price = all(need.fact != "price" for need in from_profile) and (manner.price or pool.is_told_by_title)
    manner = replace(manner, price=price)
    others = pack_bits(counter.stocked & (counter.rows != row))
    several = manner.several and not carried.facts
    if several and not pool.effects:
        return None
    tries = TRIES[grade or 1]
    insists = tries if several else INSIST * tries if pool.effects and manner.indirect else 0
    if not pool.can_tell(others, first, manner, MOST_RIGHT if several else 0):
        return None
    # Most products cannot be told in so few words, and trying them is what takes time.
    if grade in MOST_TRIED and not several and not pool.can_tell_in(GRADES[grade][-1], others, manner):
        return None
    brief = INSIST * tries if manner.brief and grade and pool.can_tell_in(2, others, manner) else 0
    for number in range(tries):
        wanted, indirect = grade or draw_grade(random, counter.language), number < insists
        candidates = pool.draw(random, wanted, manner, indirect=indirect)
        size = min(3, wanted + several)
        telling = select_smallest(others, first, candidates, random, size, HABITS[counter.language].seldom)
        if telling is not None and several:
            telling = leave_out_needs(counter, telling, random, MOST_RIGHT, max(2, GRADES[wanted].start))
        chosen = None if telling is None else [each.need for each in telling]
        if not chosen or (grade and grade_of(chosen) != grade) or (number < brief and len(chosen) > 2):
            continue
        if counter.language == "en" and must_copy_title(thing.item.title, counter.leaf, chosen):
            continue
        # One or two words of a title are all that who compares words has to know.
        told = titled and (carried.facts or len(chosen) > FEW)
        if not told and all(pool.stands_in_title(need) for need in chosen if need.known == "stated"):
            continue
        if indirect and not any(need.fact in pool.effects and need.op.startswith("at ") for need in chosen):
            continue
        if not carried.facts or any(need.known == "profile" and need.fact != "price" for need in chosen):
            return sort_needs(chosen)
    return None


def must_copy_title(title: str, leaf: str, needs: Sequence[Need]) -> bool:
    """Whether nearly all words for these needs would have too much of the title.

    >>> values = [Need(fact="use", op="is", value="a coffee break", kind="attribute", known="stated", said="")]
    >>> must_copy_title("Drift chocolate bars for a coffee break", "Chocolate Bars", values)
    True
    >>> must_copy_title("Drift roasted almond bars for hikers", "Chocolate Bars", values)
    False
    """
    bank = load_grammar_bank("shopping").templates
    plain = [
        need.value
        for need in needs
        if need.known == "stated" and need.op == "is" and need.fact != "price" and f"means {need.value}" not in bank
    ]
    if compute_copied_share(title, " ".join([leaf, *plain])) > MOST_TITLE_OVERLAP:
        return True
    runs = [f"for {need.value}" if need.fact in FOR else need.value for need in needs if need.value in plain]
    return any(len(run.split()) >= LONG_RUN and run.lower() in title.lower() for run in runs)


def select_smallest(
    others: int, first: Sequence[Candidate], rest: Sequence[Candidate], random: Random, grade: int, seldom: float
) -> list[Candidate] | None:
    """Of these, needs that nothing else meets, none of which could go; None where all together are not enough.

    Few strong ones make a small set, weak ones a large one. Nothing else may meet them, loosely taken, either.
    """
    if meets_all(others, [each.loose for each in (*first, *rest)]):
        return None
    strength = {id(each): (others & ~each.met).bit_count() * (0.5 + random.random()) for each in rest}
    # Of a small set the strong come first and the weak go first, of a large one the other way round; between them it is chance.
    rank = {
        id(each): {
            1: -weigh_habit(each.need, seldom) * strength[id(each)],
            2: -weigh_habit(each.need, seldom) * random.random(),
            3: strength[id(each)],
        }[grade]
        for each in rest
    }
    order = sorted(rest, key=lambda each: rank[id(each)])
    chosen, left = list(first), others
    for each in first:
        left &= each.loose
    for each in order:
        if left and left & ~each.loose:
            chosen.append(each)
            left &= each.loose
    # What is stated goes before what the profile carries.
    keep = sorted(chosen, key=lambda each: (each.need.known == "profile", -rank.get(id(each), 0)))
    for each in tuple(keep):
        fewer = [one for one in keep if one is not each]
        if fewer and not meets_all(others, [one.loose for one in fewer]):
            keep = fewer
    # Strictly taken, each must still be needed.
    idle = any(not meets_all(others, [one.met for one in keep if one is not each]) for each in keep)
    return None if idle else keep


def weigh_habit(need: Need, seldom: float) -> float:
    """How readily people name it, beside what it tells: which part it has, how many there are and what it costs come last."""
    return seldom if need.op in ("is not", "about") or need.kind == "price" or is_detail(need) else 1.0


def sort_needs(needs: Iterable[Need]) -> list[Need]:
    """Those of the profile first, then options, attributes and the price."""
    kinds = ("option", "attribute", "price")
    return sorted(needs, key=lambda need: (need.known != "profile", kinds.index(need.kind), need.fact))


def list_possible_needs(counter: VariantTable, thing: ProductVariant) -> dict[str, Need]:
    """What can be needed of it, by fact."""
    found = {fact: build_need(fact, thing, known="stated", said="") for fact in sorted(counter.columns)}
    return {fact: need for fact, need in found.items() if need is not None and is_sayable(counter, need)}


def is_sayable(counter: VariantTable, need: Need) -> bool:
    """Whether somebody could ask for it: not for what comes anyway, not for a firm by its legal form, and not for a measure that
    few things of a kind have, which is of something else on their pages, as how far a camera sees is no length of it."""
    if is_ordinary(need.value) or (need.fact == "brand" and LEGAL_FORM.search(need.value)):
        return False
    # In a shop that the reference does not know choices may be invented, and packs for all that stands below "Accessories & Supplies".
    known = f"thing {counter.leaf}" in load_grammar_bank("envs").templates
    if (
        need.fact == "pack"
        and need.kind == "option"
        and not known
        and "pack" not in list_varying_options((counter.leaf,))
    ):
        return False
    return not is_measure(need) or bool((counter.columns[need.fact] >= 0).mean() >= COMMON_MEASURE)


def derive_profile_demands(profile: Profile, counter: VariantTable, category: str) -> ProfileDemands:
    """What of a kind of thing follows from a profile alone, without a doubt.

    Its brand, where just one that it strongly prefers makes such things; its color, where it strongly prefers just one; its size,
    where the profile tells it for this kind; and its upper price.
    """
    facts: dict[str, str] = {}
    for fact, liked in (("brand", profile.interests.brands), ("color", profile.interests.colors)):
        strong = {each.name for each in liked if each.level == "high"} & set(counter.values.get(fact, []))
        if len(strong) == 1:
            facts[fact] = strong.pop()
    for size in profile.interests.sizes:
        name, _, value = size.value.partition(": ")
        if size.name == category and value in counter.values.get(normalize_attribute_name(name), []):
            facts[normalize_attribute_name(name)] = value
    top = profile.interests.price_range.partition("-")[2]
    return ProfileDemands(facts, int(top) * 100 if top.isdigit() else None)
