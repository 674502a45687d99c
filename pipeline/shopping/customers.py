"""Which customers the shopping tasks with a profile are for: shared out among categories that their profiles say something of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.schemas.shopping import Language, Profile


@dataclass
class LeafProducts:
    """A leaf category: its products in the catalog's order, and their brands and colors."""

    ids: list[str] = field(default_factory=list)
    brands: set[str] = field(default_factory=set)
    colors: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class CustomerTastes:
    """What of a profile can tell products of a category apart."""

    brands: set[str]
    colors: set[str]
    sized: set[str]
    """Categories that it tells a size of."""
    liked: set[str]
    """Categories that it likes."""

    @classmethod
    def of_profile(cls, profile: Profile) -> "CustomerTastes":
        found = profile.interests
        brands, colors = ({one.name for one in group if one.level == "high"} for group in (found.brands, found.colors))
        return cls(brands, colors, {size.name for size in found.sizes}, list_liked_categories(profile))

    def tell(self, name: str, shelf: LeafProducts) -> bool:
        """Whether they probably say something of this category: one brand of it, one color, or a size."""
        strong = (len(self.brands & shelf.brands), len(self.colors & shelf.colors))
        return 1 in strong or name in self.sized


def assign_customers(
    shelves: Mapping[str, LeafProducts],
    people: Sequence[Profile],
    tastes: Sequence[CustomerTastes],
    wanted: Sequence[int],
) -> dict[str, list[Profile]]:
    """Each customer to one category that its profile says something of, so that tasks are shared out among all customers.

    wanted: tasks with a profile of each category, in whose proportion they get customers; of those that will do, one that is liked.
    """
    share = len(people) / max(1, sum(wanted))
    room = {name: count * share for name, count in zip(shelves, wanted, strict=True)}
    found: dict[str, list[Profile]] = {name: [] for name in shelves}
    # Who has least to choose from comes first.
    options = [[name for name, shelf in shelves.items() if each.tell(name, shelf)] for each in tastes]
    for place in sorted(range(len(people)), key=lambda place: len(options[place])):
        if options[place]:
            liked = tastes[place].liked
            best = max(options[place], key=lambda name: (room[name] > 0, name in liked, room[name]))
            found[best].append(people[place])
            room[best] -= 1
    return found


def list_liked_categories(profile: Profile) -> set[str]:
    return {each.name for each in profile.interests.categories}


@dataclass(frozen=True)
class LeafCustomers:
    """Who a leaf category's tasks with a profile are for."""

    people: Sequence[Profile]
    """All of them."""
    own: Sequence[Profile]
    """Those assigned to this category, who come first."""
    texts: dict[str, str]
    """Profiles as agents read them, by customer; those that are needed are added."""
    language: Language

    def text_of(self, profile: Profile) -> str:
        if profile.id not in self.texts:
            self.texts[profile.id] = describe_profile(profile, self.language)
        return self.texts[profile.id]
