"""A month as a person has one, written by hand: errands of every kind, a vacuum that takes three weeks, coffee every fortnight."""

from datetime import datetime, timedelta
from hashlib import sha1

import pyarrow as pa

from shopwright.pipeline.evaluate.realism.logs import COLUMNS, RawLog
from shopwright.pipeline.render.trajectory import render_trajectory

PRODUCTS = """
v1 Dorn | Dorn cordless stick vacuum, wireless, 25 V | Stick Vacuums
v2 Havik | Havik Glide cordless stick vacuum for stairs | Stick Vacuums
v3 Umbra Air | Umbra Air robot vacuum with dock | Robot Vacuums
v4 Dorn | Dorn Light cordless vacuum, 1.9 kg | Stick Vacuums
f1 Dorn | Dorn vacuum filter, set of 2 | Vacuum Filters
c1 Altiplano | Altiplano ground coffee, dark roast, 1 kg | Ground Coffees
c2 Rosso | Rosso ground coffee, 500 g | Ground Coffees
d1 Minn | Minn diapers, size 4, 120 pieces | Diapers
d2 Panda | Panda diapers size 4 | Diapers
d3 Minn | Minn night diapers | Diapers
w1 Minn | Minn wet wipes | Baby Wipes
s1 Kestrel | Kestrel rain boots for toddlers, green | Rain Boots
s2 Polder | Polder rain boots, yellow | Rain Boots
t1 Ludo | Ludo wooden train set | Train Sets
t2 Ludo | Ludo farm puzzle, 24 pieces | Puzzles
b1 Fenn | The Salt Road, novel by A. Fenn | Novels
b2 Fenn | Winter Ferry, novel by A. Fenn | Novels
p1 Nido | Nido memory foam pillow | Pillows
l1 Osram | Osram bulb, E27, warm white | Light Bulbs
h1 Brix | Brix wall hooks, brass | Wall Hooks
g1 Terra | Terra tomato seeds | Seeds
g2 Terra | Terra balcony planter, 60 cm | Planters
m1 Corda | Corda guitar strings, light | Guitar Strings
k1 Messer | Messer bread knife, 21 cm | Bread Knives
k2 Aldo | Aldo garlic press | Garlic Presses
x1 Volt | Volt usb-c cable, 2 m | Charging Cables
x2 Volt | Volt wall charger | Wall Chargers
e1 Murmel | Murmel wireless earbuds with case | Earbuds
e2 Sono | Sono wireless earbuds with case | Earbuds
r1 Tramp | Tramp running belt | Running Belts
j1 Wald | Wald rain jacket for women | Rain Jackets
y1 Flow | Flow yoga mat, 5 mm | Yoga Mats
a1 Calm | Calm lavender candle | Candles
o1 Bureau | Bureau gel pens, 12 pieces | Gel Pens
o2 Bureau | Bureau spiral notebook | Notebooks
q1 Fix | Fix picture frame, 30 x 40 | Picture Frames
z1 Purr | Purr cat litter, 10 l | Cat Litters
z2 Purr | Purr cat tree | Cat Trees
n1 Kupfer | Kupfer birthday banner | Party Banners
i1 Alba | Alba sunscreen, SPF 50 | Sunscreens
u1 Trek | Trek water bottle, steel | Water Bottles
""".strip()

MONTH = """
1 07:41 ? cordless vacuum for stairs :: v2 v1 v4
1 07:42 > v2
1 07:44 > v1
1 21:15 ? coffee :: c2 c1
1 21:15 > c1
1 21:16 + c1
1 21:31 ? diapers size 4 without perfume :: d1 d2
1 21:32 > d1
1 21:33 + d1
1 21:34 $ d1
1 21:34 $ c1
2 12:20 ? rain boots for toddler :: s1 s2
2 12:21 > s2
2 12:58 ? green rain boots for toddlers size 24 :: s1 s2
2 12:58 > s1
4 20:05 ? is a stick vacuum any good on carpet :: v1 v4 v2
4 20:06 > v4
4 20:09 ? robot vacuum :: v3
4 20:10 > v3
4 20:52 ? salt road fenn :: b1 b2
4 20:52 > b1
4 20:53 + b1
4 20:53 $ b1
5 08:02 ? rain boots kestrel :: s1
5 08:02 > s1
5 08:04 + s1
5 08:05 $ s1
8 18:30 ? light bulb e27 :: l1
8 18:30 > l1
8 18:31 + l1
8 18:49 ? hooks with no drilling :: h1
8 18:50 > h1
9 06:55 ? earbuds :: e2 e1
9 06:55 > e1
9 06:57 > e2
9 07:25 ? wireles earbuds :: e1 e2
9 07:26 > e1
9 22:40 ? volt usb-c cable :: x1 x2
9 22:41 > x1
9 22:41 + x1
9 22:42 $ x1
9 22:43 > x2
11 13:10 ? pillow for side sleepers with neck pain :: p1
11 13:11 > p1
13 09:30 ? birthday banner :: n1
13 09:31 > n1
13 09:32 + n1
13 09:40 ? present for boy of 3 :: t1 t2
13 09:41 > t1
13 09:43 > t2
13 10:33 ? wooden train :: t1
13 10:33 > t1
13 10:34 + t1
13 10:35 $ t1
13 10:35 $ n1
14 19:12 ? long knife for bread :: k1
14 19:12 > k1
14 19:20 ? garlic press dishwasher safe :: k2
14 19:21 > k2
14 19:22 + k2
14 19:22 $ k2
16 07:02 ? altiplano coffee :: c1
16 07:02 > c1
16 07:03 + c1
16 07:03 $ c1
16 07:05 ? guitar strings light :: m1
16 07:06 > m1
17 21:55 ? tomato seeds for balcony :: g1 g2
17 21:56 > g1
17 21:58 > g2
17 23:20 ? planter :: g2
17 23:21 > g2
17 23:21 + g2
17 23:22 $ g2
20 17:45 ? running belt that does not bounce :: r1
20 17:46 > r1
20 17:46 + r1
20 17:47 $ r1
20 18:05 ? rain jacket women :: j1
20 18:06 > j1
21 08:15 ? dorn vacuum light :: v4 v1
21 08:16 > v4
21 08:59 ? dorn light cordless vacuum :: v4
21 08:59 > v4
21 09:00 + v4
21 09:02 $ v4
21 09:03 ? filter for dorn light :: f1
21 09:04 > f1
23 20:20 ? yoga mat 5mm :: y1
23 20:21 > y1
23 20:30 ? lavender candle :: a1
23 20:30 > a1
23 20:44 ? pens and notebook :: o1 o2
23 20:44 > o1
23 20:45 > o2
23 20:45 + o2
23 20:46 $ o2
25 12:12 ? picture frame 30x40 :: q1
25 12:13 > q1
25 12:40 ? cat litter 10l :: z1
25 12:40 > z1
25 12:41 + z1
25 12:41 $ z1
25 12:50 ? small cat tree for a window :: z2
25 12:51 > z2
25 16:05 ? sunscreen spf 50 :: i1
25 16:05 > i1
25 16:30 ? steel water bottle :: u1
25 16:31 > u1
25 16:32 + u1
25 16:33 $ u1
25 22:01 ? diapres size 4 :: d1 d2 d3
25 22:02 > d2
25 22:02 > d3
25 22:02 > d1
25 22:02 + d1
25 22:03 $ d1
25 22:10 ? wipes :: w1
25 22:11 > w1
30 09:00 ? next novel of a fenn in print :: b2 b1
30 09:01 > b2
30 09:40 ? ground coffee from altiplano :: c1
30 09:40 > c1
30 09:41 + c1
30 09:42 $ c1
""".strip()
ACTIONS = {"?": "search", ">": "click", "+": "add to Cart", "$": "purchase"}


def read_month():
    """The log, and the engine of its shop: what each search shows."""
    known = {}
    for line in PRODUCTS.splitlines():
        head, title, category = line.split(" | ")
        id, _, brand = head.partition(" ")
        known[id] = {
            "asin": "B0" + sha1(id.encode()).hexdigest()[:8].upper(),
            "product_name": title,
            "brand": brand,
            "product_types": category,
            "price": 10,
        }
    rows, shown = [], {}
    empty = dict.fromkeys(("asin", "product_name", "brand", "color", "product_types", "price", "search_query"))
    for line in MONTH.splitlines():
        day, clock, mark, rest = line.split(" ", 3)
        when = datetime.fromisoformat(f"2024-05-{int(day):02} {clock}:00")
        when = max(when, rows[-1]["timestamp"] + timedelta(seconds=17)) if rows else when
        text, _, page = rest.partition(" :: ")
        facts = {"search_query": text} if mark == "?" else known[text]
        shown |= {text: [known[id]["asin"] for id in page.split()]} if mark == "?" else {}
        rows.append({**empty, "timestamp": when, "action_type": ACTIONS[mark], **facts})
    table = pa.table({field.name: [row[field.name] for row in rows] for field in COLUMNS}, schema=COLUMNS)
    return RawLog("month", table, render_trajectory(rows)), lambda query, most: shown[query][:most]
