"""What `shopwright inspect` prints and writes."""

import json

import pytest

from shopwright.pipeline.__main__ import build_dataset, run_command
from shopwright.pipeline.run import Run

SHOP = """\
Handle,Title,Body (HTML),Vendor,Type,Option1 Name,Option1 Value,Variant SKU,Variant Inventory Qty,Variant Price,Variant Compare At Price,Image Src,Status
tee,Cotton tee,<p>Soft</p>,Norrvik,Shirts,Size,S,T-S,5,19.99,25.00,https://x/1.jpg,active
tee,,,,,,M,T-M,0,21.99,,,
mug,Stone mug,,Quillon,mugs,Title,Default Title,M-1,7,9.50,,,active
old,Old mug,,Quillon,Mugs,Title,Default Title,M-2,7,9.50,,,draft
jug,Jug,,Quillon,Mugs,Title,Default Title,M-3,7,,,,active
"""
TOLD = """\
shopify.csv: Shopify products (CSV), 5 rows, 4 products
currency   USD (4)
language   too little text

column                         read as               filled  why; values
Handle                         id                      100%  a column of shopify; tee | mug | old
Title                          title                    80%  a column of shopify; Cotton tee | Stone mug | Old mug
Body (HTML)                    description              20%  a column of shopify; <p>Soft</p>
Vendor                         brand                    80%  a column of shopify; Norrvik | Quillon
Type                           category_path            80%  a column of shopify; Shirts | mugs | Mugs
Option1 Name                   variant option           80%  a column of shopify; Size | Title
Option1 Value                  variant option          100%  a column of shopify; S | M | Default Title
Variant SKU                    variant_id              100%  a column of shopify; T-S | T-M | M-1
Variant Inventory Qty          stock                   100%  a column of shopify; 5 | 0 | 7
Variant Price                  price                    80%  a column of shopify; 19.99 | 21.99 | 9.50
Variant Compare At Price       another price            20%  not what a shopper pays; 25.00
Image Src                      plumbing                 20%  tells about the record or the shop, and not about the product; https://x/1.jpg
Status                         for sale or not          80%  a column of shopify; active | draft

2 used as they are + 1 mended + 1 rejected; 3 variants
  rejected 1: not for sale: Status is draft
  mended 1: category case

products as they would be
  tee: Cotton tee | Norrvik | Shirts | 19.99
      Size S: 19.99, 5 in stock
      Size M: 21.99, 0 in stock
  mug: Stone mug | Quillon | Mugs | 9.50
  jug: Jug | Quillon | Mugs | no price

question: 1 without a price: --invent-prices draws one for each, --invent-prices no leaves them out
"""
MAPPING = """\
# How shopify.csv is read. Edit it, then: shopwright build catalog --source my-shop.toml
source = "shopify.csv"
name = "shopify"
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shopify.csv").write_text(SHOP)
    return tmp_path


def inspect(capfd, *words):
    code = run_command(["inspect", *words], build_dataset)
    out, err = capfd.readouterr()
    return code, out, err


def test_a_file_is_told_column_by_column_with_reasons_counts_and_products(shop, capfd):
    assert inspect(capfd, "shopify.csv") == (0, TOLD, "")


def test_the_same_facts_come_as_json(shop, capfd):
    code, out, _ = inspect(capfd, "shopify.csv", "--json")
    (facts,) = json.loads(out)
    assert code == 0
    assert facts["system"] == "shopify"
    sums = ["rows", "products", "counted", "used", "mended", "rejected", "without_price", "variants"]
    assert [facts[name] for name in sums] == [5, 4, 4, 2, 1, 1, 1, 3]
    assert facts["currency"] == {"USD": 4}
    assert {each["column"]: each["read_as"] for each in facts["columns"]}["Variant Compare At Price"] == "another price"
    assert facts["examples"][0]["variants"] == ["Size S: 19.99, 5 in stock", "Size M: 21.99, 0 in stock"]


def test_a_mapping_is_written_once_and_builds_what_the_file_builds(shop, capfd):
    code, out, _ = inspect(capfd, "shopify.csv", "--write", "my-shop.toml")
    text = (shop / "my-shop.toml").read_text()
    assert (code, text.startswith(MAPPING)) == (0, True)
    assert out == f"{TOLD}\nmapping    my-shop.toml\nBuild by it: shopwright build catalog --source my-shop.toml\n"
    assert 'price = ["Variant Price"]\n' in text
    for number, source in enumerate(("shopify.csv", "my-shop.toml")):
        Run(shop / f"run{number}", seed=5, workers=1).build("catalog", source=source, invent_prices=False)
    assert Run(shop / "run0").read("catalog").table() == Run(shop / "run1").read("catalog").table()
    said = "my-shop.toml is there already, and stays as it is. Name another file.\n"
    assert inspect(capfd, "shopify.csv", "--write", "my-shop.toml") == (2, "", f"shopwright: error: {said}")
    assert (shop / "my-shop.toml").read_text() == text


def test_the_mapping_of_one_file_is_written_and_not_of_two(shop, capfd):
    code, out, err = inspect(capfd, "shopify.csv", "shopify.csv", "--write", "my-shop.toml")
    assert (code, out) == (2, "")
    assert err == "shopwright: error: --write makes the mapping of one file: inspect them one by one.\n"


def test_a_price_that_is_not_used_is_a_question_and_a_title_commands_no_terminal(shop, capfd):
    (shop / "b.csv").write_text("id,name,price,member price\n1,Oak lamp \x1b[2J one,5.00,4.00\n2,Mug,6.00,3.00\n")
    code, out, _ = inspect(capfd, "b.csv")
    assert code == 0
    assert out.endswith("\nquestion: 'member price' may be a price and is not used: --columns 'price=member price'\n")
    assert "\x1b" not in out
    assert "member price                   not used                100%  may be a price" in out


def test_a_part_of_a_large_file_is_counted_and_that_is_said(shop, capfd):
    _, out, _ = inspect(capfd, "shopify.csv", "--rows", "2")
    assert "\n1 used as they are + 1 mended + 0 rejected (of the first 2); 3 variants\n" in out


def test_a_file_that_cannot_be_read_is_one_sentence(shop, capfd):
    code, out, err = inspect(capfd, "shopfy.csv")
    assert (code, out) == (2, "")
    assert err.startswith("shopwright: error: There is no file or folder shopfy.csv.")
    assert err.count("\n") == 1
