"""Which products are right for needs: the one, or the few of which any will do; with their certificate and the nearest miss."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shopping.facts import ProductVariant, VariantTable
from shopwright.schemas.certificates import AnyOf, End, Lines, Miss
from shopwright.schemas.shopping import Need


@dataclass(frozen=True)
class Candidate:
    """A need that a task could have, with what of the category meets it."""

    need: Need
    met: int
    """A bit for each variant, which many tries put together faster than arrays of so few."""
    loose: int
    """What meets it for somebody who takes it less strictly: a price that is nearly about so much, a size in the middle."""


def pack_bits(mask: np.ndarray) -> int:
    return int.from_bytes(np.packbits(mask).tobytes(), "big")


def unpack_bits(bits: int, length: int) -> np.ndarray:
    """
    >>> unpack_bits(pack_bits(np.array([True, False, True])), 3).tolist()
    [True, False, True]
    """
    packed = np.frombuffer(bits.to_bytes(-(-length // 8), "big"), np.uint8)
    return np.unpackbits(packed)[:length].astype(bool)


def meets_all(others: int, masks: Iterable[int]) -> bool:
    """Whether any of the others meets all."""
    for mask in masks:
        others &= mask
    return others != 0


def leave_out_needs(
    counter: VariantTable, telling: Sequence[Candidate], random: Random, most: int, fewest: int
) -> list[Candidate] | None:
    """Fewer needs, which several products meet, `most` of them at most; None where that cannot be.

    Who takes them less strictly comes to the same products, and each that is left out lets in another one.
    """
    stocked = pack_bits(counter.stocked)

    def list_rows(masks: Iterable[int]) -> frozenset[int]:
        left = stocked
        for mask in masks:
            left &= mask
        return frozenset(counter.rows[unpack_bits(left, len(counter.rows))].tolist())

    kept = list(telling)
    for each in sorted(telling, key=lambda _: random.random()):
        fewer = [one for one in kept if one is not each]
        if len(fewer) < fewest:
            break
        rows = list_rows(one.met for one in fewer)
        if len(rows) <= most and rows == list_rows(one.loose for one in fewer):
            kept = fewer
    rows = list_rows(one.met for one in kept)
    idle = any(list_rows(one.met for one in kept if one is not each) == rows for each in kept)
    return None if len(rows) == 1 or idle else kept


def list_right_rows(counter: VariantTable, needs: Sequence[Need]) -> list[int]:
    """The products some variant of which can be bought and meets all."""
    found: list[int] = np.unique(counter.rows[counter.where(needs)]).tolist()
    return found


def get_variant_at(store: Store, counter: VariantTable, place: int) -> ProductVariant:
    variant = int(counter.places[place])
    return ProductVariant(store.item(int(counter.rows[place])), store.option(variant) if variant >= 0 else None)


def certify_products(store: Store, counter: VariantTable, rows: Sequence[int], needs: Sequence[Need]) -> AnyOf:
    """Any of these products, in any of the variants that satisfy the needs and can be bought."""
    met = counter.where(needs)
    ends = []
    for row in rows:
        places = counter.places[met & (counter.rows == row)].tolist()
        variants = [store.option(place).id for place in places if place >= 0]
        ends.append(End(bought=[Lines(product_id=store.item(row).id, variants=variants)]))
    return AnyOf(ends=ends)


def find_nearest_miss(store: Store, counter: VariantTable, rows: Sequence[int], needs: Sequence[Need]) -> Miss:
    """The variant of a product that is not right which breaks fewest needs: of equals the first in the shop."""
    broken = np.zeros(len(counter.rows), dtype=np.int32)
    for need in needs:
        broken += ~counter.meets(need)
    broken[np.isin(counter.rows, rows) | ~counter.stocked] = len(needs) + 1
    if not len(broken) or broken.min() > len(needs):
        return Miss(breaks=[], end=End())
    place = int(broken.argmin())
    thing = get_variant_at(store, counter, place)
    breaks = [need.fact for need in needs if not counter.meets(need)[place]]
    bought = Lines(product_id=thing.item.id, variants=[thing.option.id] if thing.option else [])
    return Miss(breaks=breaks, end=End(bought=[bought]))
