"""A writer of diaries that knows only what its prompt says, and ways to write what a rule forbids."""

import json
import re
from datetime import datetime, timedelta
from random import Random

from shopwright.pipeline.words import content_words

START = "[Search Amazon || "


def facts_of(messages):
    """What the prompt tells, by label."""
    lines = (line.partition(": ") for line in messages[1]["content"].split("\n"))
    return {label: json.loads(told) for label, _, told in lines}


def amount(product, day):
    price = product["price"]
    return float(price if isinstance(price, str) else price[day])


def section(messages):
    """Twenty actions that keep every rule."""
    facts = facts_of(messages)
    random = Random(messages[1]["content"])
    needs, counts = random.sample(facts["Needs"], len(facts["Needs"])), facts["Counts"]
    limit = float(facts["Shopper"]["pays at most for one thing"])
    times = instants(facts["Visits, from and to"], sum(counts.values()), random)
    days = [time[:10] for time in times]
    done, looked = [], []
    for place, need in enumerate(needs):
        more = [(counts[kind] // len(needs)) + (place < counts[kind] % len(needs)) for kind in ("search", "click")]
        word = random.choice(content_words(need["query"]))
        done += [f"search {START}{'maybe ' * n}another {word}]" for n in range(more[0] - 1)]
        done.append(f"search {START}{need['query']}]")
        seen = random.choices(need["finds"], k=more[1])
        looked += seen
        done += [f"click [{product['id']}]" for product in seen]
    cheap = [product for product in looked if all(amount(product, day) <= limit for day in {days[-1], days[-2]})]
    known = {product["id"] for product in cheap}
    bought = cheap[0] if cheap else None
    if not cheap:  # then something older is bought
        bought = next(one for one in facts["Open carts"] if amount(one, days[-1]) <= limit) if counts["purchase"] else 0
    carted = [product["id"] for product in (cheap or looked)[: counts["add to Cart"]]]
    carted += [carted[0]] * (counts["add to Cart"] - len(carted))
    assert not known or set(carted) <= known
    done += [f"add to Cart [{id}]" for id in carted]
    done += [f"purchase [{bought['id']}]"] * counts["purchase"] if bought else []
    return [f"{time} {action}" for time, action in zip(times, done, strict=True)]


def instants(visits, count, random):
    spans = [tuple(map(datetime.fromisoformat, visit)) for visit in visits]
    seconds = [
        since + timedelta(seconds=n) for since, to in spans for n in range(int((to - since).total_seconds()) + 1)
    ]
    return [str(time) for time in sorted(random.sample(seconds, count))]


def reply(lines):
    return json.dumps({"shopping_trajectory": lines})


# Answers to the prompts of the datasets before it


def description(facts):
    return f"Looks for {facts['looks for'][0]} and pays at most ${facts['pays at most for one thing, in dollars']}."


def says(body):
    """What a server answers: honest to every prompt."""
    name = body["response_format"]["json_schema"]["name"]
    if name == "trajectories":
        return {"content": reply(section(body["messages"]))}
    facts = json.loads(body["messages"][1]["content"])
    if name == "personas":
        return {"content": json.dumps({"description": description(facts)})}
    word = " ".join(re.findall(r"[a-z0-9]+", facts["category"].lower()))
    texts = [f"{word} qx{n}" for n in range(facts["texts asked for"])]
    return {"content": json.dumps({"texts": texts})}


# Broken ones: each takes honest lines and the facts


def at(lines, action, last=False):
    """The place of the first (or last) line with this action."""
    found = [place for place, line in enumerate(lines) if line[20:].startswith(action)]
    return found[-1 if last else 0]


def put(lines, place, action):
    """Another action at the same time."""
    return [*lines[:place], f"{lines[place][:20]}{action}", *lines[place + 1 :]]


def swapped(lines, one, other):
    """Two actions, each at the other's time."""
    return put(put(lines, one, lines[other][20:]), other, lines[one][20:])


def own_searches(lines, facts):
    """The places of the needs' own searches, in their order."""
    own = {f"search {START}{need['query']}]" for need in facts["Needs"]}
    return [place for place, line in enumerate(lines) if line[20:] in own]


def found_by(lines, facts, place):
    """The ids that the own search at this place finds."""
    (found,) = (need["finds"] for need in facts["Needs"] if lines[place].endswith(f"{START}{need['query']}]"))
    return [product["id"] for product in found]
