"""Customers are shared out among categories that their profiles say something of."""

from shopwright.pipeline.shopping.customers import CustomerTastes, LeafProducts, assign_customers
from shopwright.schemas.shop import Choice
from shopwright.schemas.shopping import Weighted
from tests.shopping.shops import customer

SHELVES = {
    "Kettles": LeafProducts(["a"], {"Norrvik", "Osko"}, {"red"}),
    "Pans": LeafProducts(["b"], {"Norrvik", "Peel"}, {"red", "blue"}),
    "Rugs": LeafProducts(["c"], {"Tufta"}, set()),
}


def people(*brands, likes=None, sizes=()):
    found = []
    for place, each in enumerate(brands):
        profile = customer(*each.split())
        liked = [Weighted(name=likes, level="low")] if likes else []
        interests = profile.interests.model_copy(update={"categories": liked, "sizes": list(sizes)})
        found.append(profile.model_copy(update={"id": f"p{place}", "interests": interests}))
    return found


def assign(crowd, wanted):
    found = assign_customers(SHELVES, crowd, [CustomerTastes.of_profile(each) for each in crowd], wanted)
    return {name: [each.id for each in mine] for name, mine in found.items()}


def test_everybody_goes_to_one_category_whose_products_a_liking_tells_apart():
    assert assign(people("Tufta", "Osko", "Peel"), [1, 1, 1]) == {"Kettles": ["p1"], "Pans": ["p2"], "Rugs": ["p0"]}


def test_who_likes_nothing_that_is_sold_or_two_brands_of_it_goes_nowhere():
    assert assign(people("Other", "Osko Norrvik Peel Tufta x"), [1, 1, 1])["Rugs"] == ["p1"]
    assert assign(people("Other"), [1, 1, 1]) == {"Kettles": [], "Pans": [], "Rugs": []}


def test_categories_get_customers_in_proportion_to_their_tasks():
    found = assign(people(*["Norrvik"] * 12), [20, 10, 0])
    assert [len(mine) for mine in found.values()] == [8, 4, 0]


def test_of_those_that_will_do_one_that_is_liked_comes_first():
    assert assign(people("Norrvik", likes="Pans"), [3, 1, 1])["Pans"] == ["p0"]


def test_a_size_tells_something_of_its_category():
    assert assign(people("Other", sizes=[Choice(name="Rugs", value="size: 5 ft")]), [1, 1, 1])["Rugs"] == ["p0"]
