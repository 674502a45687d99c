"""What a product has to fit, read where its words are also things that are sold, brands, or the beginning of a title."""

from datetime import date

import pytest

from shopwright.pipeline.reading.wishes import ShopVocabulary, read_wishes

VALUES = {
    "Car Stereos": {"device": ["ipod", "iphone", "ipod touch 4"], "year": ["2005", "1995 to 1997"]},
    "USB Drives": {"memory": ["sd", "ddr3", "dimm"], "brand": ["EP Memory"]},
}
SHOP = ShopVocabulary(
    {"Car Stereos": ["car stereo"], "USB Drives": ["USB drive"], "Memory": ["memory"], "iPod": ["iPod"]},
    lambda leaf: VALUES.get(leaf, {}),
    {"ipod touch 4 fitted case in pink": "iPod", "case made for ipod in pink": "iPod"},
    ["EP Memory"],
    fits=frozenset(["device", "year", "memory"]),
)


def read(text):
    return [(wish.kind, wish.value) for wish in read_wishes(text, SHOP, date(2024, 5, 1))]


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("a car stereo made for ipod", [("value", "ipod"), ("thing", "Car Stereos")]),
        ("a car stereo that fits iphone and ipod", [("value", "iphone and ipod"), ("thing", "Car Stereos")]),
        ("a car stereo for ipod touch 4", [("value", "ipod touch 4"), ("thing", "Car Stereos")]),
        ("a car stereo for the years 1995 to 1997", [("value", "1995 to 1997"), ("thing", "Car Stereos")]),
        ("a USB drive for the memory type sd", [("value", "sd"), ("thing", "USB Drives")]),
        ("a USB drive for the memory type ddr3 or dimm", [("value", "ddr3 or dimm"), ("thing", "USB Drives")]),
        ("a USB drive by ep memory", [("value", "ep memory"), ("thing", "USB Drives")]),
        ("a car stereo and an ipod", [("thing", "Car Stereos"), ("thing", "iPod")]),
        ("a USB drive and some memory", [("thing", "USB Drives"), ("thing", "Memory")]),
        (
            "a car stereo; the Case made for iPod in pink",
            [("title", "case made for ipod in pink"), ("thing", "Car Stereos")],
        ),
    ],
)
def test_what_something_has_to_fit(text, wishes):
    assert read(text) == wishes


def test_what_was_read_before_changes_nothing_and_is_not_kept_forever(monkeypatch):
    monkeypatch.setattr("shopwright.pipeline.reading.wishes.MOST_READINGS", 2)
    texts = ["a car stereo under $20", "a usb drive, by May 4", "a car stereo"]
    first = [read(text) for text in texts]
    read_wishes(texts[-1], SHOP, date(2024, 5, 1)).clear()
    assert [read(text) for text in reversed(texts)] == first[::-1]
    assert len(SHOP.readings) <= 2
