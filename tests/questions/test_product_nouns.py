"""What a product is called: the end of a run of its title, whatever colors the other products have."""

from shopwright.pipeline.questions.product_nouns import ProductNouns

LAMPS = [
    (f"{maker} {model} night light, moon shape, {shade}", maker, "Nursery Night Lights", shade)
    for maker, model in (("Tadwell", "Isle"), ("Poppadilly", "Quill"), ("Nuvalina", "Vesper"))
    for shade in ("light blue", "white")
]


def test_a_word_of_a_color_is_no_color_by_itself():
    """`light blue` once made a night light a night."""
    found = ProductNouns(LAMPS)
    assert {names[0][-2:] for title, maker, kind, _ in LAMPS if (names := found.names_of(title, maker, kind))} == {
        ("night", "light")
    }


def test_a_whole_color_is_left_out_of_a_name():
    rows = [(f"{maker} desk lamp light blue", maker, "Desk Lamps", "light blue") for maker in ("Abel", "Brenn", "Coor")]
    found = ProductNouns(rows)
    assert [names[-2:] for title, maker, kind, _ in rows for names in found.names_of(title, maker, kind)] == [
        ("desk", "lamp")
    ] * 3
