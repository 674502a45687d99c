"""What titles say of things whose catalog has no column for it: once and clearly, with a note of where it was read."""

import pytest

from shopwright.pipeline.catalog.mined_attributes import add_mined_attributes
from shopwright.pipeline.run import Run


def mine(title, description=None, attributes=(), brand=None):
    row = {"title": title, "brand": brand, "description": description, "attributes": list(attributes)}
    made = add_mined_attributes({**row, "options": [], "repairs": []})
    return {each["name"]: each["value"] for each in made["attributes"]}, made["repairs"]


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("edge 320gb diskgo 2.5 in. portable usb 2.0 hard drive", {"capacity": "320 GB", "size": "2.5 in"}),
        ("kodak easyshare p850 8-inch digital picture frame", {"size": "8 in"}),
        ("energizer max aaa 6pk", {"pack": "6 pack"}),
        ("stainless steel water bottle, 32 ounces", {"material": "stainless steel", "volume": "32 oz"}),
        ("50ft cat6 black patch cable", {"length": "50 ft"}),
        ("paper plates 8-1 2 inch", {}),
        ("shelf 8 x 10 in", {}),
        ("trodat 5-in-1 message stamp", {}),
        ("glass cleaner for wood floors", {}),
        ("camera with 3-inch lcd", {}),
        ("oak and glass table", {}),
        ("sleeves of neoprene, one-pack", {"material": "neoprene"}),
    ],
)
def test_a_title_is_read_where_it_is_clear(title, found):
    assert mine(title)[0] == found


def test_it_is_noted_where_each_was_read():
    found, repairs = mine("Norrvik shelf, 24 inch", "A shelf made of oak.", brand="Norrvik")
    assert found == {"size": "24 in", "material": "oak"}
    assert repairs == ["material taken from the description", "size taken from the title"]


def test_a_maker_is_no_material():
    assert mine("Cork Leather wallet", brand="Cork Leather")[0] == {}


def test_what_the_catalog_says_is_not_read_again():
    told = {"name": "frame material", "value": "pine", "number": None, "unit": None}
    assert mine("oak frame", attributes=[told])[0] == {"frame material": "pine"}


def test_measures_are_written_in_one_way_and_that_is_noted():
    found, repairs = mine(
        "lamp", attributes=[{"name": "height", "value": "12 Inches", "number": 12.0, "unit": "Inches"}]
    )
    assert found == {"height": "12 in"}
    assert repairs == ["unit written in one way"]


def test_what_few_of_a_category_have_is_not_read_in_its_titles(tmp_path):
    printers = [f"P{n},Norrvik laser printer model {n},Printers,99.00,Tall style" for n in range(30)]
    inks = [f"I{n},Norrvik blue ink A{n} bottle {n + 20} ml,Inks,9.00,Flat" for n in range(10)]
    stray = ["X,Norrvik refill bottle 130 ml,Printers,9.00,Flat"]
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["id,name,category,price,Style", *printers, *inks, *stray]) + "\n")
    run = Run(tmp_path / "run", seed=5, workers=1)
    run.build("catalog", source=str(path))
    facts = {row.id: {each.name: each.value for each in row.attributes} for row in run.read("catalog")}
    assert facts["I5"]["volume"] == "25 ml"
    assert "volume" not in facts["X"]
    assert (facts["P1"]["style"], facts["I5"]["style"]) == ("Tall", "Flat")
    notes = {row.id: row.repairs for row in run.read("catalog")}
    assert "attribute's name dropped from its value" in notes["P1"]
