"""Forms are the tools' own signatures, and what was typed becomes their arguments or is refused before anything is called."""

import pytest

from shopwright.pipeline.playground.forms import list_tool_forms, parse_form_arguments
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.tools import TOOLS, build_tool_schemas, read_tool_signatures


def test_every_tool_has_a_form_of_its_own_arguments():
    assert list(list_tool_forms()) == [*TOOLS, "submit"]
    for name, wanted in read_tool_signatures().items():
        assert {field.name: field.required for field in list_tool_forms()[name].fields} == {
            field: needed for field, (_, needed) in wanted.items()
        }


def test_every_form_and_field_says_what_it_is_for():
    for told in build_tool_schemas():
        form = list_tool_forms()[told["name"]]
        assert form.about == told["description"]
        for field in form.fields:
            assert field.about == told["parameters"]["properties"][field.name]["description"]


def typed(name, **given):
    form = list_tool_forms()[name]
    return parse_form_arguments(form, [given.get(field.name) for field in form.fields])


def test_what_is_left_empty_is_left_out():
    assert typed("catalog_search", query=" red mug ", brand="", max_price=None) == {"query": "red mug"}
    assert typed("submit", more=False) == {}


def test_numbers_become_what_the_tool_takes():
    assert typed("catalog_search", query="mug", max_price=20, page=2.0) == {
        "query": "mug",
        "max_price": 20.0,
        "page": 2,
    }
    assert type(typed("cart_set_quantity", variant_id="v", quantity=2.0)["quantity"]) is int


def test_several_ids_are_joined():
    assert typed("submit", recommended_product_ids=["B01", " B02 ", ""]) == {"recommended_product_ids": "B01,B02"}


def test_a_search_may_have_a_filter_instead_of_words_and_not_neither():
    assert typed("catalog_search", brand="Norrvik") == {"query": "", "brand": "Norrvik"}
    with pytest.raises(Problem, match=r"needs query\. Nothing was called"):
        typed("catalog_search", page=1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"product_id": "", "variant_id": " "}, "cart_add needs product id and variant id. Nothing was called."),
        ({"product_id": "p", "variant_id": "v", "quantity": "two"}, "quantity is a whole number, and 'two' is none"),
        ({"product_id": "p", "variant_id": "v", "quantity": 1.5}, "quantity is a whole number"),
        ({"product_id": "p", "variant_id": "v", "quantity": "inf"}, "quantity is a whole number"),
    ],
)
def test_what_no_tool_takes_is_said_before_anything_is_called(given, why):
    with pytest.raises(Problem, match=why.replace(".", r"\.")):
        typed("cart_add", **given)
