"""The figures of realism: what each means, in what unit, what it should be and who says so."""

from collections.abc import Mapping
from typing import Literal

from shopwright.pipeline.evaluate.statistics import Share
from shopwright.pipeline.evaluate.table import Table
from shopwright.schemas.record import Part

PROJECT = "project goal"
ESCI = "project goal, after ESCI (Reddy et al. 2022, arXiv 2206.06588)"
ABSENT = "–"
Unit = Literal["%", "x", "pieces", "days", "slope", "AUC", "B", "categories"]


class Goal(Part):
    """What a figure means and where it should be; None: without bound on that side."""

    name: str
    unit: Unit
    definition: str
    goal: str = ""
    least: float | None = None
    most: float | None = None
    source: str = PROJECT


class Figure(Part):
    """What was measured; shares from 0 to 1."""

    key: str
    value: float | None
    low: float | None = None
    high: float | None = None
    count: int = 0
    """Of how many: purchases, searches, clicks, gaps, or customers where it is a median of theirs."""
    note: str = ""
    """Why there is no value, or what was used."""

    @property
    def goal(self) -> Goal:
        return GOALS[self.key]

    @property
    def verdict(self) -> Literal["", "reached", "missed"]:
        """Empty where there is nothing to be compared."""
        least, most = self.goal.least, self.goal.most
        if self.value is None or (least is None and most is None):
            return ""
        inside = (least is None or self.value >= least) and (most is None or self.value <= most)
        return "reached" if inside else "missed"

    def format_value(self) -> str:
        return format_number(self.value, self.goal.unit)

    def format_interval(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return ""
        return f"{format_number(self.low, self.goal.unit)} to {format_number(self.high, self.goal.unit)}"


def format_number(value: float | None, unit: Unit) -> str:
    """
    >>> format_number(0.3456, "%"), format_number(5.52, "x"), format_number(None, "%"), format_number(16, "pieces")
    ('34.6 %', '5.5 x', '–', '16')
    """
    if value is None:
        return ABSENT
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit in ("slope", "AUC", "B"):
        return f"{value:.2f}"
    if unit == "x":
        return f"{value:.1f} x"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


GOALS: Mapping[str, Goal] = {
    "repeat_purchases": Goal(
        name="purchases in a category bought before",
        unit="%",
        definition="Of a customer's purchases outside consumable categories, those in a category in which the customer bought something "
        "earlier in the log. Median over customers with five such purchases or more.",
        goal="< 30 %",
        most=0.3,
    ),
    "repeat_purchases_all": Goal(
        name="  the same, consumables too",
        unit="%",
        definition="The same of all purchases.",
    ),
    "consumable_pace": Goal(
        name="days until the next of a consumable",
        unit="days",
        definition="Median days between two purchases of one customer in one consumable category that follow one another.",
        goal=">= 7",
        least=7,
    ),
    "same_durable": Goal(
        name="most of one durable kind in 30 days",
        unit="pieces",
        definition="The most purchases in one durable category that one customer made within any 30 days.",
        goal="1, rarely 2",
        most=2,
    ),
    "same_durable_again": Goal(
        name="  durable kinds bought twice in 30 days",
        unit="%",
        definition="Of all pairs of a customer and a durable category in which it bought, those with two purchases or more within 30 days.",
        goal="< 10 %",
        most=0.1,
    ),
    "clicks_after_buying": Goal(
        name="purchases with clicks on others of the kind after",
        unit="%",
        definition="Of purchases in durable categories at least 7 days before the customer's last action, those after which the customer "
        "clicked on another product of the category within 7 days.",
        goal="< 15 %",
        most=0.15,
    ),
    "categories_seen": Goal(
        name="categories looked at by a customer",
        unit="categories",
        definition="Categories in which a customer clicked on a product. Median over customers. It grows with the length of the log: the goal is for "
        "64k tokens, some 1,200 actions.",
        goal=">= 30",
        least=30,
    ),
    "categories_even": Goal(
        name="  categories, weighed by their clicks",
        unit="categories",
        definition="How many categories would have the entropy of a customer's clicks if all were clicked on as often (Hill number of order "
        "1): a few obsessions make it small however many categories were met once. Median over customers.",
        goal=">= 15",
        least=15,
        source="project goal; Hill 1973 (Ecology 54)",
    ),
    "zipf_slope": Goal(
        name="clicks over products, Zipf slope",
        unit="slope",
        definition="Slope of the line of least squares through log clicks over log rank, of products with two clicks or more; ranks are "
        "put together in half octaves, each of which counts the same.",
        goal="-1.0 to -0.7",
        least=-1.0,
        most=-0.7,
    ),
    "brand_broken": Goal(
        name="search begins with a brand, next click is another",
        unit="%",
        definition="Of searches that begin with a brand and are followed by a click as the next action, those whose click is on a product of "
        "another brand.",
        goal="< 10 %",
        most=0.1,
    ),
    "off_page": Goal(
        name="opened beyond two pages of the search",
        unit="%",
        definition="Of clicks after a search, those on a product that the shop's own engine does not rank on the first two pages of the "
        "last search typed (40 products).",
        goal="0",
        most=0.005,
    ),
    "top_three": Goal(
        name="clicks on the first three places of a page",
        unit="%",
        definition="Of clicks on the first page of 20 of the last search typed, those on the first three places: 15 % where the place says "
        "nothing, 51 % where attention falls as one over the place.",
        goal=">= 30 %",
        least=0.3,
        source="position-based click models: Craswell et al. 2008 (WSDM); one over the place: Joachims et al. 2017 (WSDM)",
    ),
    "one_word": Goal(
        name="searches of one word",
        unit="%",
        definition="Of all searches, those of one word; what white space divides is a word.",
        goal="5 % (2 to 10)",
        least=0.02,
        most=0.1,
        source=ESCI,
    ),
    "six_words": Goal(
        name="searches of six words or more",
        unit="%",
        definition="Of all searches, those of six words or more.",
        goal="15 % (10 to 20)",
        least=0.1,
        most=0.2,
        source=ESCI,
    ),
    "small_words": Goal(
        name="searches with small words",
        unit="%",
        definition="Of all searches, those with one of the small words: articles, prepositions, conjunctions, negations, pronouns.",
        goal="35 to 50 %",
        least=0.35,
        most=0.5,
        source=ESCI,
    ),
    "misspelt": Goal(
        name="searches misspelt or cut",
        unit="%",
        definition="Of all searches, those with a word of five letters or more that stands in no title, brand or category, is no common word and "
        "is typed rarely, while one letter added, left out, changed or swapped makes a word of titles; or whose last word, of four letters "
        "or more, is only the beginning of one. An estimate: where titles are few, strange words are taken for errors.",
        goal="2 to 8 %",
        least=0.02,
        most=0.08,
        source=ESCI,
    ),
    "two_sample": Goal(
        name="searches told from people's",
        unit="AUC",
        definition="Area under the ROC curve with which a classifier tells different searches of this log from the strings of --against by their "
        "shape alone, five-fold: 0.5 = cannot be told apart. Words beyond a list of common ones are hidden.",
        goal="<= 0.75",
        most=0.75,
        source="classifier two-sample test (Lopez-Paz and Oquab 2017, arXiv 1610.06545)",
    ),
    "zlib": Goal(
        name="a customer's log, zlib",
        unit="x",
        definition="Bytes of a customer's log as text over its bytes after zlib at level 9. Median over customers.",
        goal="<= 5.5 x",
        most=5.5,
    ),
    "middle_gaps": Goal(
        name="gaps from 10 minutes to 2 hours",
        unit="%",
        definition="Of the gaps between two actions of a customer that follow one another, those from 10 minutes to 2 hours.",
        goal=">= 2 %",
        least=0.02,
    ),
    "burstiness": Goal(
        name="gaps, burstiness",
        unit="B",
        definition="(s - m) / (s + m) of the gaps' mean m and standard deviation s: 0 where actions come by chance, towards 1 the heavier "
        "the tail. Median over customers.",
        goal="> 0.3",
        least=0.3,
        source="Goh and Barabási 2008 (EPL 81, 48002), whose human activities lie between 0.2 and 0.8",
    ),
    "quiet_days": Goal(
        name="days without an action",
        unit="%",
        definition="Of the days from a customer's first action to its last, those without any. Median over customers.",
        goal="> 10 %",
        least=0.1,
    ),
    "uneven_days": Goal(
        name="actions a day, standard deviation over mean",
        unit="B",
        definition="Standard deviation over mean of a customer's actions a day, on days with any. Median over customers.",
        goal="> 0.5",
        least=0.5,
    ),
    "carried_on": Goal(
        name="purchases first opened a day before or earlier",
        unit="%",
        definition="Of purchases, those whose product the customer first clicked on at least 24 hours before.",
    ),
    "next_type": Goal(
        name="next type of action guessed",
        unit="%",
        definition="How often a Markov model of the last one, two or three types of action guesses the next one; trained on four fifths of "
        "the customers, asked about the others; the best of the three.",
        goal="<= 60 %",
        most=0.6,
    ),
    "next_text": Goal(
        name="typed text guessed exactly",
        unit="%",
        definition="How often the best of four simple guesses is exactly the next search: the last search again, what others typed most after "
        "it, the customer's own most frequent one, what the last clicked product is. A lower bound of what a model can learn.",
        goal=">= 5 %",
        least=0.05,
    ),
}


class Curve(Part):
    """A line or columns of a picture; `said` tells it in words."""

    key: str
    x: list[float]
    y: list[float]
    reference: tuple[float, ...] = ()
    """What to compare `y` with."""
    said: str = ""


class Realism(Part):
    """All that was measured of some logs."""

    customers: int
    actions: int
    first: str
    last: str
    mix: dict[str, float]
    kinds_from_titles: float
    figures: list[Figure]
    people: tuple[Figure, ...] = ()
    """Of the strings of --against, what can be measured of strings."""
    curves: tuple[Curve, ...] = ()
    made: str = ""
    """The fingerprint of the dataset; empty for a file."""
    of: str = ""
    """The file or run."""

    def find(self, key: str) -> Figure:
        return next(figure for figure in self.figures if figure.key == key)

    def find_curve(self, key: str) -> Curve | None:
        return next((curve for curve in self.curves if curve.key == key), None)


def make_figure(key: str, share: Share, why: str = "") -> Figure:
    """Without a value where nothing was counted."""
    if not share.count:
        return Figure(key=key, value=None, note=why)
    return Figure(key=key, value=share.share, low=share.low, high=share.high, count=share.count, note=why)


def tabulate_figures(found: Realism) -> Table:
    people = {figure.key: figure for figure in found.people}
    columns = ["figure", "value", "95 %", "of", *(["people's"] if people else []), "goal", ""]
    rows = []
    for figure in found.figures:
        count = f"{figure.count:,}" if figure.count else ""
        other = [people[figure.key].format_value() if figure.key in people else ""] if people else []
        interval = figure.format_interval() or (figure.note if figure.value is None else "")
        rows.append(
            [figure.goal.name, figure.format_value(), interval, count, *other, figure.goal.goal, figure.verdict]
        )
    return Table(columns, rows)
