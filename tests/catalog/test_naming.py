"""A product is asked for by the name of its category only where its title calls it so."""

import pytest

from shopwright.pipeline.catalog.naming import is_called_by_category, mark_called_products


@pytest.mark.parametrize(
    ("title", "leaf", "called"),
    [
        ("lexmark 36xl high-yield ink black", "Printers", False),
        ("lexmark c530dn laser printer", "Printers", True),
        ("cleaning cards for check scanners", "Scanners", False),
        ("canon document scanner", "Scanners", True),
        ("inland flat monitor mount, black", "Monitors", False),
        ("camera case with strap", "Cameras", False),
        ("camera case with strap", "Cases", True),
        ("panasonic cordless phone", "Cordless Telephones", True),
        ("haier 23.6-inch lcd tv - black", "TVs", True),
        ("sentry folding headphones", "Electronics - General", False),
        ("lenovo ideacentre pc", "Desktop Computers", True),
    ],
)
def test_what_a_title_calls_a_thing(title, leaf, called):
    assert is_called_by_category(title, leaf) == called


def test_a_shop_whose_titles_name_nothing_is_left_as_it_is():
    assert mark_called_products(["Brillo C4", "Norrvik 200"], ["Lamps", "Sofas"]) == [True, True]
    assert mark_called_products(["Brillo lamp", "Norrvik 200"], ["Lamps", "Sofas"]) == [True, False]
