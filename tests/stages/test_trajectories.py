"""Months in the shop as the stage makes them: several seeds, the sample and a real catalog, looked at from outside."""

import json
import re
from collections import Counter, defaultdict
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.trajectories import plan_trajectories
from shopwright.pipeline.tokens import estimate
from shopwright.pipeline.verify import verify
from shopwright.pipeline.world.pages import open_word_search
from tests.models.server import Plan as ServerPlan
from tests.models.server import Server
from tests.world import writer

REAL = Path(__file__).parents[3] / "shared" / "data" / "walmart_amazon_tableB_amazon.csv"
BREAK = timedelta(minutes=10)
"""A longer gap ends a session."""


class World:
    """A build with its catalog, its personas and the rows of its larger budget at hand."""

    def __init__(self, folder, seed, **settings):
        self.run, self.real = Run(folder, seed=seed, workers=1), "source" in settings
        self.made = self.run.build("trajectories", count=30, tokens="32k,64k", **settings)
        self.catalog = {product["id"]: product for product in self.run.read("catalog").table().to_pylist()}
        self.people = {persona.id: persona for persona in self.run.read("personas")}
        self.rows = self.run.read("trajectories").table().to_pylist()
        self.long = [row for row in self.rows if row["budget"] == "64k"]


@pytest.fixture(
    scope="module",
    params=[
        "small sample",
        pytest.param("sample", marks=pytest.mark.slow),
        pytest.param("real", marks=pytest.mark.slow),
    ],
)
def world(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    if request.param != "real":
        seed, products = {"small sample": (2, 1_200), "sample": (3, 24_000)}[request.param]
        return World(folder, seed, products=products)
    if not REAL.exists():
        pytest.skip("the real catalog is not there")
    return World(folder, 7, source=str(REAL), invent_prices=True)


def actions(row, action):
    return [event for event in row["events"] if event["action_type"] == action]


def sessions(row):
    """The events between two breaks."""
    found = [[row["events"][0]]]
    for one, other in pairwise(row["events"]):
        if other["timestamp"] - one["timestamp"] > BREAK:
            found.append([])
        found[-1].append(other)
    return found


def searches_with_their_clicks(row):
    """(query, products clicked after it and before the next search)"""
    found = []
    for event in row["events"]:
        if event["search_query"] is not None:
            found.append((event["search_query"], []))
        elif event["action_type"] == "click":
            found[-1][1].append(event)
    return found


def test_hardly_a_row_is_held_back(world):
    assert world.made.rejected < 0.01 * 60, world.made.rejects
    assert world.made.rows == len({row["id"] for row in world.rows})
    assert [row["budget"] for row in world.rows[:4]] == ["32k", "64k", "32k", "64k"]


def test_verify_finds_nothing(world):
    assert [(verdict.check, verdict.places[:3]) for verdict in verify(world.run) if verdict.failed] == []


def test_every_hundred_actions_are_of_the_published_mix(world):
    for row in world.rows:
        kinds = [event["action_type"] for event in row["events"]]
        for begin in range(0, len(kinds) - 99, 100):
            counts = Counter(kinds[begin : begin + 100])
            assert counts == {"search": 55, "click": 35, "add to Cart": 7, "purchase": 3}


def test_the_text_is_that_of_the_events_and_reads_back(world):
    for row in world.rows[::7]:
        assert row["text"] == render_trajectory(row["events"])
        told = [event | {"product_types": None} for event in row["events"]]
        assert [event | {"product_types": None} for event in parse_trajectory(row["text"])] == told


def test_budgets_are_filled_and_never_exceeded(world):
    for row, most in zip(world.rows, [32_000, 64_000] * 30, strict=True):
        assert 0.99 * most <= row["tokens"] == estimate(row["text"]) <= most


def test_a_smaller_budget_is_the_beginning_of_the_larger(world):
    for short, long in zip(world.rows[::2], world.rows[1::2], strict=True):
        assert short["persona_id"] == long["persona_id"]
        assert long["text"].startswith(short["text"] + "\n")
        assert long["events"][: len(short["events"])] == short["events"]


def test_64k_tokens_are_a_month_and_32k_half_of_one(world):
    """In a real shop but for one in twenty, who does more or less in a day than most."""
    other = Counter()
    for row in world.rows:
        days = (row["end"] - row["start"]).days
        other[row["budget"]] += not (27 <= days <= 31 if row["budget"] == "64k" else 8 <= days <= 22)
        assert 5 <= days <= 31
        assert date(2024, 5, 1) <= row["start"].date() <= date(2024, 5, 7)
        assert row["end"].date() <= date(2024, 5, 31)
    assert max(other.values()) <= (0.05 * len(world.long) if world.real else 0)


def test_people_come_only_in_their_hours(world):
    for row in world.rows:
        hours = set(world.people[row["persona_id"]].active_hours)
        assert {event["timestamp"].hour for event in row["events"]} <= hours


def test_shopping_comes_in_sessions_with_gaps(world):
    for row in world.long:
        found = sessions(row)
        assert 20 <= len(found) <= 160
        lengths = sorted(session[-1]["timestamp"] - session[0]["timestamp"] for session in found)
        assert timedelta(minutes=1) < lengths[len(lengths) // 2] < timedelta(hours=2)
        assert lengths[-1] < timedelta(hours=5)


def test_gaps_have_a_heavy_tail(world):
    """Pauses of minutes and hours, not only seconds and days."""
    gaps = [
        (other["timestamp"] - one["timestamp"]).total_seconds()
        for row in world.long
        for one, other in pairwise(row["events"])
    ]
    for least, most in ((360, 1_800), (1_800, 7_200), (7_200, 86_400), (86_400, 10**9)):
        assert sum(least <= gap < most for gap in gaps) > 0.002 * len(gaps)


def test_the_seconds_between_actions_are_those_of_a_person(world):
    gaps = [
        (other["timestamp"] - one["timestamp"]).total_seconds()
        for row in world.long
        for one, other in pairwise(row["events"])
    ]
    assert sum(gap < 4 for gap in gaps) < 0.02 * len(gaps)
    assert len({gap for gap in gaps if gap < 600}) > 200


def test_who_shops_at_weekends_is_seen_in_the_days(world):
    def share(row):
        return sum(event["timestamp"].weekday() >= 5 for event in row["events"]) / len(row["events"])

    shares = {row["persona_id"]: share(row) for row in world.long}
    ordered = sorted(shares, key=lambda name: world.people[name].weekend_factor)
    rarely, mostly = ordered[:8], ordered[-8:]
    assert sum(shares[name] for name in mostly) > 1.25 * sum(shares[name] for name in rarely)


def test_some_carts_are_left(world):
    for row in world.long:
        carts, bought = (Counter(event["asin"] for event in actions(row, kind)) for kind in ("add to Cart", "purchase"))
        assert (carts - bought).total() >= 10
        assert not bought - carts


def test_hardly_anybody_buys_in_the_category_just_bought_in(world):
    """Where the shop has more categories than a month needs."""
    shares = []
    for row in world.long:
        kinds = [event["product_types"] for event in actions(row, "purchase")]
        shares.append(1 - len(set(kinds)) / len(kinds))
    if len({product["category"] for product in world.catalog.values()}) > 100:
        assert sorted(shares)[len(shares) // 2] < 0.3


def test_people_look_at_many_categories(world):
    most = len({product["category"] for product in world.catalog.values()})
    for row in world.long:
        assert len({event["product_types"] for event in actions(row, "click")}) >= min(30, most // 2)


def test_every_click_was_on_the_first_two_pages(world):
    engine = open_word_search(world.run.read("catalog"))
    for row in world.long[::6]:
        for query, clicks in searches_with_their_clicks(row):
            shown = {engine.store.ids[number].as_py() for number in engine.find(query, limit=40)}
            assert {click["asin"] for click in clicks} <= shown


def test_who_searches_for_a_maker_opens_that_makers_products(world):
    brands = Counter(product["brand"].lower() for product in world.catalog.values() if product["brand"])
    titles = Counter()
    for product in world.catalog.values():
        said = product["title"].lower().split()
        titles.update({" ".join(said[place : place + size]) for place in range(len(said)) for size in range(1, 4)})
    # Who types "green tea" or "case" looks for no maker, though a shop may have one of that name.
    makers = {brand for brand, count in brands.items() if 2 * count >= titles[brand]}
    right = wrong = 0
    for row in world.long:
        for query, clicks in searches_with_their_clicks(row):
            said = query.lower().split()
            names = {" ".join(said[:size]) for size in range(1, 4)} & makers
            if names and clicks:
                is_theirs = (clicks[0]["brand"] or "").lower() in names
                right, wrong = right + is_theirs, wrong + (not is_theirs)
    assert right > 100
    assert wrong < 0.1 * (right + wrong)


def test_siblings_are_compared(world):
    """After one search, two products of the same kind are looked at."""
    for row in world.long:
        compared = sum(
            any(one["asin"] != other["asin"] and one["product_types"] == other["product_types"] for one in clicks[:-1])
            for _, clicks in searches_with_their_clicks(row)
            for other in clicks[-1:]
        )
        assert compared >= 20


def test_nobody_buys_what_is_above_its_budget(world):
    for row in world.rows:
        limit = world.people[row["persona_id"]].budget
        assert all(event["price"] <= limit for event in actions(row, "purchase"))


def test_people_look_more_at_what_they_like_than_others_do(world):
    own = others = 0.0
    liked = {name: {taste.category for taste in person.tastes} for name, person in world.people.items()}
    for row in world.long:
        clicks = Counter(event["product_types"] for event in actions(row, "click"))
        for name, tastes in liked.items():
            share = sum(clicks[category] for category in tastes) / clicks.total()
            if name == row["persona_id"]:
                own += share / len(world.long)
            else:
                others += share / len(world.long) / (len(liked) - 1)
    assert own > 1.25 * others


def test_the_thrifty_buy_the_cheaper_of_a_kind(world):
    """Where a product stands among those of its leaf, from cheapest (0) to dearest (1)."""
    prices = defaultdict(list)
    for product in world.catalog.values():
        prices[product["category"]].append(product["price"])

    def mean_rank(name):
        (row,) = (row for row in world.long if row["persona_id"] == name)
        found = [(world.catalog[one["asin"]]["price"], prices[one["product_types"]]) for one in actions(row, "click")]
        ranks = [sum(other < price for other in among) / len(among) for price, among in found if len(among) > 5]
        return sum(ranks) / len(ranks)

    ordered = sorted({row["persona_id"] for row in world.long}, key=lambda n: world.people[n].price_sensitivity)
    thrifty, careless = ordered[-8:], ordered[:8]
    assert sum(map(mean_rank, thrifty)) < sum(map(mean_rank, careless))


def test_prices_are_those_of_the_catalog_on_their_day(world):
    for row in world.rows:
        for event in row["events"]:
            if event["asin"]:
                assert event["price"] == price_on(world.catalog[event["asin"]], event["timestamp"].date())


def price_on(product, day):
    dated = [one["price"] for one in product["promotions"] if one["first_day"] <= day <= one["last_day"]]
    return dated[0] if dated else product["price"]


def test_the_promotions_that_were_met_are_recorded_and_only_those(world):
    recorded = 0
    for row in world.rows:
        met = {}
        for event in row["events"]:
            for one in world.catalog[event["asin"]]["promotions"] if event["asin"] else []:
                if one["first_day"] <= event["timestamp"].date() <= one["last_day"]:
                    list_price = {"list_price": world.catalog[event["asin"]]["price"]}
                    met[event["asin"], one["first_day"]] = {"asin": event["asin"]} | one | list_price
        told = {(one["asin"], one["first_day"]): one for one in row["promotions"]}
        assert told == met
        assert len(row["promotions"]) == len(met)
        recorded += len(met)
    assert recorded


def test_people_search_in_many_words_and_seldom_twice_the_same_in_a_row(world):
    for row in world.long:
        queries = [event["search_query"] for event in actions(row, "search")]
        assert all(query == query.strip() and query for query in queries)
        assert len(set(queries)) > 0.3 * len(queries)
        assert sum(one == other for one, other in pairwise(queries)) < 0.02 * len(queries)


def test_a_query_with_a_limit_is_kept_to_it(world):
    for row in world.long:
        for query, clicks in searches_with_their_clicks(row):
            if capped := re.search(r" under \$?(\d+)$", query):
                assert all(click["price"] <= int(capped[1]) for click in clicks)


def test_customers_differ(world):
    bought = [frozenset(event["asin"] for event in actions(row, "purchase")) for row in world.long]
    assert len(set(bought)) == len(bought)


# Other settings


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "run", seed=5, workers=1)


def test_the_first_day_can_be_any_day(run):
    run.build("trajectories", products=1_200, count=4, tokens="6k", start="1999-12-30")
    assert all(date(1999, 12, 30) <= row.start.date() <= date(2000, 1, 5) for row in run.read("trajectories"))


@pytest.mark.parametrize("tokens", ["2k", "2000,2100", "0.01m", "20000"])
def test_any_budget_is_filled(run, tokens):
    made = run.build("trajectories", products=1_200, count=16, tokens=tokens)
    assert made.rejected < 0.01 * made.rows, made.rejects


@pytest.mark.slow
def test_a_million_tokens_are_more_than_a_year(run):
    made = run.build("trajectories", products=2_400, count=3, tokens="64k,1000000")
    assert made.rejects == {}
    for row in run.read("trajectories"):
        days = (row.end - row.start).days
        assert row.budget == "64k" or (days > 365 and days < 31 * 16 and row.tokens > 990_000)


# Exact counts


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    """A small BPE vocabulary, trained on a few lines."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    lines = ["2024-05-01 19:30:25 click [B0 || oak lamp] (brand: Norrvik, color: white, price: 38.99)"] * 50
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    found.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    found.save(str(path))
    return path


def test_a_tokenizers_own_count_fills_the_budget_exactly(run, vocabulary):
    from tokenizers import Tokenizer

    made = run.build("trajectories", products=1_200, count=8, tokens="12k,24k", tokenizer=str(vocabulary))
    assert made.rejects == {}
    own = Tokenizer.from_file(str(vocabulary))
    for row in run.read("trajectories"):
        most = int(row.budget.removesuffix("k")) * 1_000
        assert 0.9 * most <= row.tokens == len(own.encode(row.text, add_special_tokens=False).ids) <= most
        assert row.tokenizer == str(vocabulary)
    assert not [verdict for verdict in verify(run) if verdict.failed]


@pytest.mark.parametrize("content", [None, "{}", "hello", '{"version": "1.0"}'])
def test_a_tokenizer_that_is_none_is_a_clear_problem(run, tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(Problem, match=r"tokenizer"):
        run.build("trajectories", products=1_200, count=4, tokens="6k", tokenizer=str(tmp_path / "tokenizer.json"))


# Written by a model


def build_told(folder, says, *, tokens="2k,4k", count=4, **plan):
    """A build whose every word is a server's: the run, its manifest, and what the server was asked."""
    with Server(ServerPlan(says=says, **plan)) as server:
        run = Run(folder, seed=5, workers=1, models=Models(model=f"openai:toy@{server.url}", at_once=4))
        made = run.build("trajectories", products=1_200, count=count, tokens=tokens, written_by="model")
    return run, made, [body for body in server.bodies if is_a_section(body)]


def is_a_section(body):
    return body["response_format"]["json_schema"]["name"] == "trajectories"


def test_what_an_honest_model_writes_is_kept_and_verified(tmp_path):
    run, made, asked = build_told(tmp_path, writer.says, tokens="2k,8k")
    assert (made.rows, made.rejects) == (8, {})
    assert [(verdict.check, verdict.places[:3]) for verdict in verify(run) if verdict.failed] == []
    assert {body["messages"][0]["content"] for body in asked} == {asked[0]["messages"][0]["content"]}
    told = {line[20:] for body in asked for line in writer.section(body["messages"])}
    for row in run.read("trajectories"):
        searches = [event.search_query for event in row.events if event.search_query]
        assert {f"search [Search Amazon || {query}]" for query in searches} <= told


def test_what_was_written_once_is_not_asked_again(tmp_path):
    run, _, asked = build_told(tmp_path, writer.says)
    before = run.read("trajectories").table()
    run.clear("trajectories")
    again, made, more = build_told(tmp_path, writer.says)
    assert (len(asked) > 8, more) == (True, [])
    assert again.read("trajectories").table().equals(before)
    assert made.rejected == 0


def test_a_model_that_errs_at_first_is_told_and_mends_it(tmp_path):
    def says(body):
        if is_a_section(body) and len(body["messages"]) == 2:
            return {"content": writer.reply(writer.section(body["messages"])[:-1])}
        return writer.says(body)

    run, made, asked = build_told(tmp_path, says)
    assert (made.rows, made.rejects) == (8, {})
    assert 2 * sum(len(body["messages"]) == 4 for body in asked) == len(asked)
    assert not [verdict for verdict in verify(run) if verdict.failed]


def test_what_a_model_never_gets_right_is_refused_with_every_try(tmp_path):
    """One shopper's last section never is; what it filled before stays, and nobody else is touched."""
    _, _, asked = build_told(tmp_path / "usual", writer.says)
    told = {body["messages"][1]["content"]: writer.facts_of(body["messages"]) for body in asked}
    shopper = next(iter(told.values()))["Shopper"]
    stuck = max(
        (one for one in told if told[one]["Shopper"] == shopper), key=lambda one: told[one]["Last action"] or ""
    )

    def says(body):
        if body["messages"][1]["content"] == stuck:
            early = f"{told[stuck]['Last action']} search [Search Amazon || lamp]"
            return {"content": writer.reply([early] * 20)}
        return writer.says(body)

    run, made, _ = build_told(tmp_path / "refused", says)
    (row,) = run.read("trajectories").quarantine
    assert (made.rows, made.rejected) == (7, 1)
    assert row.id.endswith("-4k")
    assert row.reasons[0].startswith("section: ")
    assert "is not later than the action before it" in row.reasons[0]
    tries = json.loads(row.record)["tries"]
    assert len(tries) == 3
    assert all("not later" in one["wrong"] for one in tries)
    assert not [verdict for verdict in verify(run) if verdict.failed]


def test_a_model_that_writes_nothing_of_use_leaves_only_reasons(tmp_path):
    def says(body):
        return {"content": "I would rather not."} if is_a_section(body) else writer.says(body)

    run, made, _ = build_told(tmp_path, says)
    assert (made.rows, made.rejects) == (0, {"section: the reply is not JSON.": 8})
    ids = [f"persona-{n:07d}-{budget}" for n in range(4) for budget in ("2k", "4k")]
    assert [row.id for row in run.read("trajectories").quarantine] == ids


def test_an_exact_count_fills_what_a_model_writes(tmp_path, vocabulary):
    with Server(ServerPlan(says=writer.says)) as server:
        run = Run(tmp_path, seed=5, workers=1, models=Models(model=f"openai:toy@{server.url}", at_once=4))
        settings = {"products": 1_200, "count": 2, "tokens": "4k", "tokenizer": str(vocabulary)}
        made = run.build("trajectories", written_by="model", **settings)
    assert (made.rows, made.rejects) == (2, {})


def test_without_a_model_nobody_can_write(run):
    with pytest.raises(Problem, match="say --model"):
        run.build("trajectories", products=1_200, count=2, tokens="2k", written_by="model")
    assert not run.read("trajectories").files


def test_who_else_writes_is_a_clear_problem(run):
    with pytest.raises(Problem, match="written-by"):
        run.build("trajectories", products=1_200, count=2, tokens="2k", written_by="me")


@pytest.mark.slow
@pytest.mark.parametrize("products", [400, 1_200])
def test_a_small_chinese_shop_has_months_too(tmp_path, products):
    """Shelves without a color, and little that costs next to nothing."""
    run = Run(tmp_path, seed=5, workers=1)
    run.build("trajectories", language="zh", products=products, count=30, tokens="4k")
    assert len(run.read("trajectories")) > 25


@pytest.mark.parametrize(("tokens", "files"), [(["2k"], 64), (["64k"], 391), (["32k", "64k"], 589), (["1m"], 6_250)])
def test_shards_hold_as_many_tokens_whatever_the_budget(tokens, files):
    plan = plan_trajectories(range(100_000), "", tokens)
    assert all_stages()["trajectories"].shards(plan.units, at_most=plan.at_most) == files
