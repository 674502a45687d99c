"""What is read from a title of what a thing fits."""

import pytest

from shopwright.pipeline.catalog.fits import by_kind, does_for, fits_of, may_do_for


def read(title, category="", description=""):
    return {f"{kind} {value}" for kind, value in fits_of(title, category, description)}


@pytest.mark.parametrize(
    ("title", "fits"),
    [
        ("OtterBox Defender Case for Apple iPhone 7 Plus - Black", {"device iphone 7 plus"}),
        ("Spigen iPhone 6/6s Plus Slim Cover", {"device iphone 6", "device iphone 6s plus"}),
        ("Galaxy S8+ screen protector, 2 pack", {"device galaxy s8 plus"}),
        ("Wallet case compatible with Galaxy J3", {"device galaxy j3"}),
        ("belkin folio stand for apple ipad2", {"device ipad 2"}),
        ("armband case for ipod touch 4g black", {"device ipod touch 4"}),
        ("Targus sleeve for BlackBerry PlayBook", {"device playbook"}),
        ("90W AC adapter for Dell Inspiron 1520 1521", {"device inspiron 1520", "device inspiron 1521"}),
        ("Battery charger for Nikon D3200", {"device d3200"}),
        ("65W power supply for acer aspire 5750 19V 3.42A", {"device aspire 5750", "voltage 19v"}),
        ("HP 564XL black ink cartridge", {"cartridge hp 564xl"}),
        ("Brother TN-360 toner for HL-2140", {"cartridge tn360", "device hl2140"}),
        ("Floor mats for 2015-2020 Ford F-150", {"vehicle ford f150", "year 2015-2020"}),
        ("Duracell AA alkaline batteries, 12 pack", {"cell aa"}),
        ("CR2032 lithium coin battery", {"cell cr2032"}),
        ("9-watt LED bulb A19, E26 base, soft white", {"bulb 9w", "bulb a19", "bulb e26"}),
        ("Full motion TV mount for 32 to 55 inch TVs", {"screen 32-55"}),
        ("Laptop backpack for up to 15.6 inch notebooks", {"screen 0-15.6"}),
        ("13.3-inch laptop sleeve, gray", {"screen 13.3-13.3"}),
        ("4GB DDR3 SODIMM laptop memory", {"memory ddr3", "memory sodimm"}),
        ("32 GB microSDHC memory card", {"memory microsd"}),
        ("Queen mattress, 12 in memory foam", {"bed queen"}),
        ("Men's crew sweatshirt, size XL", {"size xl"}),
        ("Women's running shoe, size 8.5", {"size 8.5"}),
        ("52mm UV filter for camera lenses", {"thread 52mm"}),
        ("M6 x 20 hex bolts, 50 pieces", {"thread m6"}),
        ("8.5 x 11 laminating pouches, 100 pack", {"paper letter"}),
        ("LTO-5 Ultrium data cartridge", {"media lto5"}),
    ],
)
def test_what_a_title_says_is_read(title, fits):
    assert read(title) == fits


@pytest.mark.parametrize(
    "title",
    [
        "Apple iPhone 7 Plus 32GB smartphone, unlocked",
        "Nikon Coolpix S3100 14 MP digital camera with case",
        "HP Color LaserJet CP1215 printer",
        "Oak desk lamp, 40 in",
        "Ten books for cold evenings",
        "USB 2.0 cable, 6 ft, for all computers",
        "500W ATX power supply, 2.3 V",
        "San Diego Chargers mouse",
        "Shirt for men",
        "4 in 1 card reader, accepts SD and MMC memory cards",
        "Wireless speaker for the beach, IP67, rubber shell",
        "Bike light for dark commutes, IPX5, USB charging",
        "Vintage analog wristwatch for everyday wear, quartz, 1980s",
        "Kids puzzle for a preschool classroom: galaxy, 2.5 ft",
        "Headlamp for night trail races, 3.3 oz, USB-C battery",
        "Mid-calf bamboo socks, medium cushion",
        "Stand-up paddle, reinforced plastic blade, up to 82 in",
        "Refurbished laptop computer for a home desk, 13.3 in, 16 GB RAM",
    ],
)
def test_a_device_itself_and_what_is_for_everything_fit_nothing(title):
    assert read(title) == set()


def test_a_category_tells_an_accessory_and_a_description_its_device():
    assert read("Otterbox Commuter iPhone 4 black") == set()
    assert read("Otterbox Commuter iPhone 4 black", "Cases") == {"device iphone 4"}
    assert read("Slim case, red", "", "Designed for the iPhone 8. Not a phone.") == {"device iphone 8"}
    assert read("Red chair", "", "Designed for the iPhone 8.") == set()


@pytest.mark.parametrize(
    ("one", "other", "does", "may"),
    [
        ("Case for iPhone 7 Plus", "Case for iPhone 7 Plus / 8 Plus", True, True),
        ("Case for iPhone 7 Plus / 8 Plus", "Case for iPhone 7 Plus", False, False),
        ("Case for iPhone 7 Plus", "Case for Galaxy J3", False, False),
        ("Case for iPhone 7 Plus", "Case for iPhone 7", False, False),
        ("Case for iPhone 7 Plus", "Leather pouch", False, True),
        ("TV mount for 32 to 55 inch TVs", "TV mount for 26 to 60 inch TVs", True, True),
        ("TV mount for 32 to 55 inch TVs", "TV mount for 37 to 60 inch TVs", False, False),
        ("HP 564XL black ink cartridge", "HP 564XL ink cartridge for PhotoSmart 7520", True, True),
        ("HP 564XL black ink cartridge", "HP 61 black ink cartridge", False, False),
        ("Brother TN-360 toner for HL-2140", "Brother DR-360 drum for HL-2140", False, False),
        ("AA batteries, 4 pack", "AAA batteries, 4 pack", False, False),
    ],
)
def test_one_does_for_the_other_if_it_covers_all_of_it(one, other, does, may):
    fits = [by_kind(fits_of(title)) for title in (other, one)]
    assert (does_for(*fits), may_do_for(*fits)) == (does, may)
