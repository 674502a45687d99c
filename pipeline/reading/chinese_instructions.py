"""Reads a Chinese shopping instruction: its thing and its needs; what is left over must hold nothing that could be a need.

It knows what the shop sells and what the things of a category are, and its own words for prices, bounds, denials and effects, not those
of the writer. Why somebody wants a thing is free text, in which no value, number, color or other thing of the shop may stand.
"""

import re
from collections.abc import Callable, Sequence

from shopwright.pipeline.reading.short_instructions import CategoryFacts, ReadNeed

NUMBER = r"(?P<number>\d+(?:\.\d+)?)"
MONEY = rf"{NUMBER}\s*(?:元|块钱|块)"
PRICES = (
    ("about", rf"{MONEY}(?:左右|上下)"),
    ("about", rf"(?:大概|大约|差不多|约){MONEY}"),
    ("at most", rf"(?:不超过|别超过|不高于|最多|至多){MONEY}"),
    ("at most", rf"{MONEY}(?:以内|以下|之内|封顶)"),
)
LEAST = ("至少", "不低于", "不少于", "起码", "最少")
MOST = ("不超过", "不高于", "最多", "至多", "别超过")
DENIED_BEFORE = r"(?:不要|别选|不想要|别是|不喜欢|除了)"
# A sign for what has been read.
GONE = "\x00"
# What would be a need, had it been understood.
LEFT_OVER = re.compile(
    r"\d+|[红橙黄绿蓝青紫粉黑白灰棕金银米]色|不要|别选|不想要|除了|至少|不低于|不超过|别超过|最多|"
    rf"{GONE}(?:左右|上下)|以内|以上|以下|评价|好评|评分|送达"
)
# Words for much or little of something, with the facts that they are said of.
HOLDS = "容量|壶容量|锅体容量|水箱容量|水箱|尘盒容量|杯容量|奶瓶容量|容积"
BOTTLE = "瓶装容量|沐浴容量|支装容量|瓶量"
ALONG = "线长|绳长|灯臂长度|长度|围巾长度|垫长|桌长|竿长|杖长"
UPRIGHT = "高度|枕高|支架高度|身高|帘高"
WEIGHT = "车重|拍重|单只重量"
PORTION = "净重|茶重|米重|蜜重|麦片重|净含量|料重|支容"
PIECES = "个数|片数|包数|杯数|奶盒数|尿裤片数|装数|册数|餐具件数|颗粒数|袋数"
ACROSS = "宽度|适用床宽|口径"
EFFECTS = (
    ("大容量|能?多装|装得多", "at least", HOLDS),
    ("小容量|小巧|不用太大", "at most", f"{HOLDS}|容纳人数"),
    ("大瓶|量大耐用", "at least", BOTTLE),
    ("小瓶|小支", "at most", BOTTLE),
    ("(?<!时间)(?<!保质期)长一点|长一些|够长|尺寸长", "at least", ALONG),
    ("短一点|短一些|别太长", "at most", ALONG),
    ("高一点|够高", "at least", UPRIGHT),
    ("矮一点|别太高", "at most", UPRIGHT),
    ("深一点|没过小腿", "at least", "桶深"),
    ("浅一点|别太深", "at most", "桶深"),
    ("厚一点|厚实", "at least", "垫厚|厚度"),
    ("薄一点|别太厚", "at most", "垫厚|厚度"),
    ("轻便|轻一点|不沉", "at most", WEIGHT),
    ("重一点|有分量", "at least", WEIGHT),
    ("续航久|不用老充电|能用好久", "at least", "续航|待机|播放时长|续航天数"),
    ("保温时间长|保温效果好", "at least", "保温时长"),
    ("功率大|劲儿大", "at least", "功率|输出功率"),
    ("功率小|小功率", "at most", "功率|输出功率"),
    ("电量大|电量足", "at least", "电池容量|电量"),
    ("电量不用太大|小电量", "at most", "电池容量|电量"),
    ("遮光好|不透光", "at least", "遮光度"),
    ("承重好|能承重", "at least", "承重"),
    ("分量足|量大一点|大份", "at least", PORTION),
    ("小份|(?<!数)量少一点", "at most", PORTION),
    ("数量多|多囤", "at least", PIECES),
    ("数量少|不用买太多", "at most", PIECES),
    ("保质期长|放久一点", "at least", "保质期"),
    ("(?<!尺寸)大一点|宽大", "at least", ACROSS),
    ("(?<!尺寸)小一点|别太大", "at most", ACROSS),
    ("织得密|细腻", "at least", "织数"),
    ("尺寸大|大尺寸", "at least", "箱寸|机型尺寸"),
    ("尺寸小|小尺寸", "at most", "箱寸|机型尺寸"),
    ("存储大|多存", "at least", "存储空间"),
    ("一大家子|好几个人", "at least", "容纳人数"),
    ("人少用", "at most", "容纳人数"),
)


class ChineseReader:
    """Reads one text of a known shop: each step takes what it understands out of the text."""

    def __init__(self, text: str, names: Sequence[tuple[str, str]], facts_of: Callable[[str], CategoryFacts]) -> None:
        """names: what things are called, the longest first, with the category."""
        self.text, self.names, self.facts_of = re.sub(r"\s+", "", text.lower()), names, facts_of
        self.needs: list[ReadNeed] = []
        # What is told of a purpose in Chinese narrows nothing, and is left out by `LEFT_OVER`.
        self.purpose = ""

    def read(self) -> tuple[list[str], list[ReadNeed], list[str]]:
        """Categories, needs, and what is left that could be a need."""
        self.read_prices()
        categories = self.find_categories()
        if len(categories) == 1:
            facts = self.facts_of(categories[0])
            self.read_bounds(facts)
            self.read_values(facts)
            self.take_names(categories[0])
            self.read_effects(facts)
        return categories, self.needs, LEFT_OVER.findall(self.text)

    def take(self, start: int, end: int) -> None:
        self.text = self.text[:start] + GONE * (end - start) + self.text[end:]

    def add(self, fact: str, op: str, value: str) -> None:
        self.needs.append(ReadNeed(frozenset([fact]), op, value))

    def read_prices(self) -> None:
        for op, pattern in PRICES:
            for found in list(re.finditer(pattern, self.text)):
                self.add("price", op, f"{float(found['number']):.2f}")
                self.take(*found.span())

    # The thing

    def find_categories(self) -> list[str]:
        """A name inside a value of the category (milk, of a scent) is no thing of its own."""
        found = self.list_categories_in(self.text)
        if len(found) < 2:
            return found
        alone = [each for each in found if self.list_categories_in(self.hide_values(each)) == [each]]
        return alone if len(alone) == 1 else found

    def list_categories_in(self, text: str) -> list[str]:
        found = []
        for name, category in self.names:
            if name in text:
                text = text.replace(name, GONE * len(name))
                found.append(category)
        return list(dict.fromkeys(found))

    def hide_values(self, category: str) -> str:
        text = self.text
        for values in self.facts_of(category).values.values():
            for value in sorted(values, key=len, reverse=True):
                if len(value) > 1:
                    text = text.replace(value, GONE * len(value))
        return text

    def take_names(self, category: str) -> None:
        for name, of in self.names:
            if of == category and (place := self.text.find(name)) >= 0:
                self.take(place, place + len(name))

    # Needs

    def read_bounds(self, facts: CategoryFacts) -> None:
        """Measures that are a limit: 至少500毫升, 500毫升以上."""
        for op, cues, after in (("at least", LEAST, "以上|起步|往上"), ("at most", MOST, "以内|以下")):
            for fact, value in list_measured_values(facts):
                said = re.escape(value)
                named = f"(?:{re.escape(fact)})?"
                for pattern in (rf"{named}(?:{'|'.join(cues)}){said}", rf"{named}(?<![\d.]){said}(?:{after})"):
                    for found in list(re.finditer(pattern, self.text)):
                        self.add(fact, op, value)
                        self.take(*found.span())

    def read_values(self, facts: CategoryFacts) -> None:
        """Values as the category writes them, the longest first; a name of the fact beside it goes with it."""
        known = [(value, fact) for fact, values in facts.values.items() for value in values]
        for value, fact in sorted(known, key=lambda pair: (-len(pair[0]), pair)):
            if value not in self.text:
                continue
            edge = r"(?<![a-z0-9.]){}(?![a-z0-9.])" if value[0].isascii() and value[-1].isascii() else "{}"
            edge = r"(?<![\d.]){}" if value[0].isdigit() and not value[-1].isascii() else edge
            pattern = rf"(?P<denied>{DENIED_BEFORE})?{edge.format(re.escape(value))}(?P<about>左右|上下)?"
            for found in list(re.finditer(pattern, self.text)):
                self.add(fact, "is not" if found["denied"] else "is", value)
                self.take(
                    found.start(),
                    found.end() if stands_apart(facts, fact, value) else found.end() - len(found["about"] or ""),
                )

    def read_effects(self, facts: CategoryFacts) -> None:
        for words, op, names in EFFECTS:
            able = {
                fact: value for fact in names.split("|") if fact in facts.measures and (value := facts.bound(fact, op))
            }
            found = re.search(words, self.text) if able else None
            if found:
                for fact, value in able.items():
                    self.add(fact, op, value)
                self.take(*found.span())


def stands_apart(facts: CategoryFacts, fact: str, value: str) -> bool:
    """Whether nothing else that there is could be meant by about so much: no other amount is within a fifth."""
    amounts = facts.measures.get(fact, ("", {}))[1]
    own = next((amount for amount, text in amounts.items() if text == value), None)
    return own is not None and all(amount == own or abs(amount - own) > own / 5 for amount in amounts)


def list_measured_values(facts: CategoryFacts) -> list[tuple[str, str]]:
    """Facts that are measures with their values as they are written, the longest first."""
    found = [(fact, value) for fact, (_, amounts) in facts.measures.items() for value in amounts.values()]
    return sorted(found, key=lambda pair: (-len(pair[1]), pair))
