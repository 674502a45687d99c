"""The second readers: devices from two titles, and what a title denies."""

import pytest

from shopwright.pipeline.checks.devices import is_for_another
from shopwright.pipeline.checks.titles import find_denied_choice


@pytest.mark.parametrize(
    ("one", "other", "wrong"),
    [
        ("Slim case for iPhone 7 Plus", "Slim case for Galaxy J3", True),
        ("Slim case for iPhone 7 Plus", "Slim case for iPhone 7", True),
        ("Slim case for iPhone 7 Plus", "Cover, iPhone 7 Plus/8 Plus", False),
        ("Slim case for iPhone 7 Plus", "Slim case", False),
        ("case for ipod touch 4g", "case for ipod touch 4th generation", False),
        ("case for ipod touch 4g", "case for ipod touch 2g", True),
        ("toner for HP LaserJet CP1525", "HP LaserJet 128A toner", False),
        ("toner for HP LaserJet 4700", "toner for HP LaserJet 1200", True),
        ("Nikon Coolpix S3100 camera with case", "Nikon Coolpix L120 camera with case", False),
        ("dock for ipod and iphone", "dock for iphone and ipod", False),
    ],
)
def test_another_device_is_seen(one, other, wrong):
    assert is_for_another(one, other) is wrong


@pytest.mark.parametrize(
    ("title", "choices", "wrong"),
    [
        ("Kettle, 1.5 L, sage green", [("color", "cream")], "color cream"),
        ("Kettle, 1.5 L, sage green", [("color", "green")], None),
        ("Kettle, 1.5 L", [("color", "cream")], None),
        ("Film camera, like new condition", [("condition", "fair")], "condition fair"),
        ("Film camera, graded fair", [("condition", "fair")], None),
        ("SanDisk 16GB card", [("capacity", "32 GB")], "capacity 32 GB"),
        ("Laptop, 8 GB RAM", [("storage", "256 GB SSD")], None),
        ("HDMI cable, 6 ft", [("connector", "Lightning"), ("length", "6 ft")], "connector Lightning"),
        ("Sweater, size M", [("size", "XL")], "size XL"),
        ("Socks, 3 pack", [("pack", "6 pack")], "pack 6 pack"),
        ("Charcoal filter, white noise", [("flavor", "lemon")], None),
    ],
)
def test_a_title_that_denies_a_choice_is_seen(title, choices, wrong):
    assert find_denied_choice(title, choices) == wrong
