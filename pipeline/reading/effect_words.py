"""English for much or little of something: of which measures people say it, and at which end.

A list for one who reads, made from what the words mean; what writes such words does not know it.
"""

SIZE = frozenset({"size", "volume", "capacity", "storage", "jar size", "diameter", "plate", "board", "screen"})
BOTTLE = frozenset({"size", "volume", "weight"})
PACK = frozenset({"pack", "pack size", "count", "rolls", "boxes", "quantity"})
ROOM = frozenset({"coverage", "home size"})
LENGTH = frozenset({"length", "tube"})
TIMES = frozenset({"turnaround", "bench time"})
VISIT = frozenset({"duration"})
SETTINGS = frozenset({"speeds", "presets", "modes", "programs", "shades"})
PLACES = frozenset({"compartments", "pockets", "drawers", "tiers"})
TANK = frozenset({"tank", "bin"})
THICKNESS = frozenset({"thickness", "glass", "pile"})
HEEL = frozenset({"heel", "platform", "sole"})
CAPACITY = frozenset({"capacity", "storage", "jar size"})
PAGES = frozenset({"pages", "page count"})

# Of what somebody has, in words that compare: at which end, and of which measures.
COMPARISONS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("wider", "at least", frozenset({"width"})),
    ("narrower", "at most", frozenset({"width"})),
    ("taller|higher", "at least", frozenset({"height"})),
    ("lower|shorter", "at most", frozenset({"height"})),
    ("longer", "at least", LENGTH),
    ("shorter", "at most", LENGTH),
    ("longer lasting", "at least", frozenset({"runtime", "battery"})),
    ("(?:with )?more (?:storage|space)", "at least", frozenset({"storage", "capacity"})),
    ("(?:with )?an? (?:bigger|larger) screen|with an? screen larger", "at least", frozenset({"screen"})),
    ("lighter", "at most", frozenset({"weight"})),
    ("heavier", "at least", frozenset({"weight"})),
    ("stronger|more powerful", "at least", frozenset({"power", "motor"})),
    ("thicker", "at least", THICKNESS),
    ("thinner", "at most", THICKNESS),
    ("faster", "at least", frozenset({"speed", "data rate"})),
    ("bigger|larger", "at least", SIZE | BOTTLE),
    ("smaller", "at most", SIZE | BOTTLE),
)

# Phrases before single words, those that deny before those that do not.
EFFECT_WORDS: tuple[tuple[str, str, frozenset[str]], ...] = (
    (
        "that punch(?:es)?|that packs a punch|(?:with )?(?:plenty|lots|a lot|some) (?:of )?(?:real )?power",
        "at least",
        frozenset({"power", "motor"}),
    ),
    (
        "with an? (?:strong|powerful) motor|high power(?:ed)?|powerful|heavy duty|that really has power behind it|strong|that (?:isn't|is not) weak",
        "at least",
        frozenset({"power", "motor"}),
    ),
    (
        "with (?:strong suction|great suction power|serious suction)|that (?:really picks everything up|gets all the dirt)|strong sucking",
        "at least",
        frozenset({"suction"}),
    ),
    (
        "with (?:strong pressure|lots of pressure|good strong water pressure)|that has a strong spray|high pressure|that can build up high pressure",
        "at least",
        frozenset({"pressure", "max pressure"}),
    ),
    # batteries, storage, screens
    (
        (
            "with an? (?:long|great) battery life|with (?:great|long) battery life|with long lasting battery|with a battery that lasts|that lasts long on a charge|that runs a long time"
            "|that doesn't need charging all the time|that keeps going for a long time|long lasting"
        ),
        "at least",
        frozenset({"runtime", "battery"}),
    ),
    (
        (
            "with (?:lots|plenty) of storage|with a lot of space|that holds lots of photos|with storage for all my photos|for storing lots of files"
            "|with room for lots of files|(?:large|high) capacity"
        ),
        "at least",
        frozenset({"storage", "capacity"}),
    ),
    (
        (
            "with an? (?:big|large) (?:screen|display)|that has a big display|(?:large|big) screen|with a screen that's easy to read"
            "|that has a screen large enough for movies"
        ),
        "at least",
        frozenset({"screen"}),
    ),
    (
        "with a small (?:screen|display)|small screen|that fits in one hand|with a screen that isn't huge",
        "at most",
        frozenset({"screen"}),
    ),
    # tanks and cords
    (
        (
            "with an? (?:big|large|good sized) tank|large tank|with a tank that lasts|that holds a lot of water"
            "|that (?:doesn't need refilling|i don't have to refill) (?:all the time|so often)"
        ),
        "at least",
        TANK | CAPACITY,
    ),
    (
        "with an? (?:long cord|long reach)|with (?:extra cord length|lots of cord)|that reaches (?:far|the outlet easily)",
        "at least",
        frozenset({"cord", "cable", "hose"}),
    ),
    # noise, light, weather, warmth
    (
        "that (?:isn't loud|lets me sleep|doesn't make much noise)|low noise|whisper quiet|quiet|silent|for a bedroom, so not noisy",
        "at most",
        frozenset({"noise"}),
    ),
    (
        "that isn't too bright|not too bright|with a (?:soft glow|gentle light)|that gives just a little light|dim",
        "at most",
        frozenset({"brightness"}),
    ),
    (
        "that is really bright|with a bright light|extra bright|very bright|bright|that gives lots of light|with strong light",
        "at least",
        frozenset({"output", "brightness"}),
    ),
    (
        (
            "for (?:heavy rain|really wet weather|rainy days)|that can take heavy rain|that keeps me dry in a downpour|that stands up to a storm"
            "|really waterproof"
        ),
        "at least",
        frozenset({"fly rating", "waterproofing"}),
    ),
    (
        "for (?:cold nights|winter camping|cold weather|freezing nights)|that keeps me warm in winter|that is really warm|warm",
        "at most",
        frozenset({"temperature"}),
    ),
    # taste
    ("low sugar|with little sugar|with not much sugar|that is low in sugar", "at most", frozenset({"sugar"})),
    (
        "with lots of cocoa|with a high cocoa content|very dark|that is really dark|bitter",
        "at least",
        frozenset({"cocoa"}),
    ),
    ("that isn't too sweet|not too sweet", "at least", frozenset({"cocoa"})),
    ("that isn't too sweet|not too sweet", "at most", frozenset({"sugar"})),
    (
        "for (?:the whole family|my family|a group|several people)|big enough for a few of us|with room for all of us",
        "at least",
        frozenset({"sleeps", "guests"}),
    ),
    # rooms
    (
        "for a (?:large|big) (?:room|space|house|home)|that covers a lot of space|for the whole house|that can handle a big space",
        "at least",
        ROOM,
    ),
    (
        "for a (?:small|tiny|little) (?:room|space|apartment|place)|that is enough for a small home|for a studio",
        "at most",
        ROOM,
    ),
    # packs and pieces
    (
        (
            "in bulk|(?:in|with) an? (?:big|large|value|bulk) pack|as a value pack|(?:bulk|big|multi) pack|with plenty in the pack|that lasts us a while"
            "|for stocking up|so that i don't need to reorder soon"
        ),
        "at least",
        PACK,
    ),
    (
        (
            "in a small pack|small pack|with only a few in it|just a few|that isn't a huge pack|for trying out first|with just a couple in it"
            "|as a starter pack"
        ),
        "at most",
        PACK,
    ),
    (
        "with (?:lots|plenty) of pieces|that has many pieces|(?:as a )?(?:big|large) set|with enough pieces for everyone|complete",
        "at least",
        frozenset({"pieces"}),
    ),
    (
        "with few pieces|(?:as a )?(?:small|starter) set|that doesn't have too many pieces|with just the basic pieces|basic",
        "at most",
        frozenset({"pieces"}),
    ),
    (
        "with (?:lots of|all the|many) (?:colors|shades)|with a (?:big range|wide choice) of colors|that has plenty of colors",
        "at least",
        frozenset({"count", "shades"}),
    ),
    # sides
    (
        (
            "that isn't too wide|not too wide|narrow|slim|for a (?:narrow|small) space|that fits a tight spot|that doesn't take up much room"
            "|for a corner with little room"
        ),
        "at most",
        frozenset({"width"}),
    ),
    (
        "that is nice and wide|extra wide|that goes wide|with (?:a lot of|good) width|wide|broad",
        "at least",
        frozenset({"width"}),
    ),
    (
        "that isn't too tall|not too tall|that doesn't stand tall|that stays low|low",
        "at most",
        frozenset({"height"}),
    ),
    (
        "that stands tall|that is quite tall|extra tall|with (?:some|lots of) height|tall|high",
        "at least",
        frozenset({"height"}),
    ),
    ("short|on the short side", "at most", frozenset({"height"})),
    (
        "that isn't too short|not too short|that is nice and long|extra long|with plenty of length|on the long side|with extra length|long",
        "at least",
        LENGTH,
    ),
    (
        "that isn't too long|not too long|on the short side|that is quite short|shorter|short",
        "at most",
        LENGTH,
    ),
    (
        "that isn't too thin|not too thin|extra thick|nice and thick|with good thickness|thick|heavy duty",
        "at least",
        THICKNESS,
    ),
    ("that isn't too thick|not too thick|that stays thin|on the thin side|thin|slim", "at most", THICKNESS),
    (
        "with (?:some height|a high sole|lift)|that makes me taller|that adds some height|high",
        "at least",
        HEEL,
    ),
    ("with a (?:low|flat) sole|that isn't high|for walking all day|flat|low", "at most", HEEL),
    # weight
    (
        (
            "that (?:isn't|is not) heavy|that doesn't weigh much|not too heavy|easy to carry|with hardly any weight to it|light as can be"
            "|that weighs next to nothing|light ?weight|light"
        ),
        "at most",
        frozenset({"weight"}),
    ),
    (
        (
            "heavyweight|with (?:thick|heavy) fabric|that feels thick and warm|for colder days|sturdy and thick|that isn't flimsy|thick"
            "|solid and heavy|that won't tip over|that is quite heavy|weighty|with some weight to it|heavy"
        ),
        "at least",
        frozenset({"weight"}),
    ),
    # quick or long
    (
        "that heats up (?:fast|quickly)|(?:quick|fast) heating|that is hot in no time|with a quick heat up|that doesn't take long to heat up",
        "at most",
        frozenset({"heat up"}),
    ),
    (
        (
            "that doesn't take long|that is done (?:fast|quickly)|for when i have no time|that only takes a few minutes|with a (?:quick turnaround|short wait)"
            "|so that i get it back soon|quick|fast"
        ),
        "at most",
        frozenset({"leave time", "cook time"}) | TIMES,
    ),
    (
        "high speed|that is really fast|that isn't slow|with (?:high speed|fast transfers)|super fast|fast",
        "at least",
        frozenset({"speed", "data rate"}),
    ),
    (
        "that isn't over too quickly|with long sessions|that runs a good while|with plenty of time|with more time each visit|long",
        "at least",
        VISIT,
    ),
    (
        "with short sessions|that doesn't take long|that isn't too long|with just a little time each visit|short|quick",
        "at most",
        VISIT,
    ),
    (
        (
            "that is good for a long time|with a long (?:validity|time to use it|warranty)|that (?:doesn't run out|won't expire) soon"
            "|so that there is no hurry to use it"
        ),
        "at least",
        frozenset({"validity", "warranty"}),
    ),
    # settings, places, pages
    (
        "with (?:lots of|many) settings|that has plenty of settings|with a lot of modes|with many options to set|that can do many things|versatile",
        "at least",
        SETTINGS,
    ),
    (
        (
            "with (?:lots|plenty) of (?:compartments|storage space|room for my things)|that has lots of places to put things|with many sections"
            "|with room to sort everything|that helps me stay organized"
        ),
        "at least",
        PLACES,
    ),
    (
        "well ventilated|with good airflow|breathable|with lots of vents|that keeps my head cool|that doesn't get hot",
        "at least",
        frozenset({"vents"}),
    ),
    (
        "with lots of pages|with plenty of pages|that has many pages|for writing a lot|with enough paper for a year|thick",
        "at least",
        PAGES,
    ),
    (
        "with strong resistance|for a hard workout|heavy resistance|that is hard to pull|for strength training|that gives a real challenge",
        "at least",
        frozenset({"max resistance"}),
    ),
    # how much is in it, last: these words are said of many things
    (
        (
            "that isn't too big|not too big|in an? (?:small|little) size|that stays small|that fits in my purse|travel size|for (?:travel|my carry-on)"
            "|just a small one to try out|that i can try before i commit|for one person|just a small amount|single serving|that i can finish quickly"
            "|for trying it out|just a little to taste|that doesn't hold too much|for one or two people|space saving|for a small (?:kitchen|apartment)"
            "|with a small capacity|compact|small|little|mini"
        ),
        "at most",
        SIZE | BOTTLE,
    ),
    (
        (
            "in an? (?:big|large|family|jumbo) size|that (?:lasts a while|is nice and big|holds a lot|will keep us stocked)|with plenty in it|(?:value|full|bulk|family) size"
            "|so big it won't run out soon|big bag|for a (?:large|big) family|big enough for the whole family|with a large capacity|with (?:room for a lot|lots of space)"
            "|in bulk|extra large|good sized|roomy|spacious|large|big"
        ),
        "at least",
        SIZE | BOTTLE,
    ),
)
