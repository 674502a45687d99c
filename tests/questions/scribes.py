"""A writer and a judge for the server of tests: they read their prompts and answer as honest models would."""

import json
from datetime import datetime

CLICKS = "action_type = 'click'"
BETWEEN = "AND timestamp > '{since}' AND timestamp < '{until}'"
KNOWN = {
    "search": (
        "What did I search for first",
        "text",
        "SELECT search_query FROM events WHERE action_type = 'search' {when} ORDER BY timestamp LIMIT 1",
        "SELECT search_query FROM events WHERE search_query IS NOT NULL {when} ORDER BY row_id LIMIT 1",
        lambda rows: next((row["search_query"] for row in rows if row["action_type"] == "search"), "none"),
    ),
    "product interaction": (
        "Which product did I click on last",
        "text",
        "SELECT product_name FROM events WHERE action_type = 'click' {when} ORDER BY timestamp DESC LIMIT 1",
        "SELECT product_name FROM events WHERE action_type = 'click' {when} QUALIFY LEAD(row_id) OVER (ORDER BY row_id) IS NULL",
        lambda rows: clicks(rows)[-1]["product_name"],
    ),
    "purchase journey": (
        "What did I put in the cart first",
        "text",
        "SELECT product_name FROM events WHERE action_type = 'add to Cart' {when} ORDER BY timestamp LIMIT 1",
        "SELECT product_name FROM events WHERE action_type = 'add to Cart' {when} ORDER BY row_id LIMIT 1",
        lambda rows: next((row["product_name"] for row in rows if row["action_type"] == "add to Cart"), "none"),
    ),
    "brand": (
        "Which brand did I click on first",
        "text",
        "SELECT brand FROM events WHERE action_type = 'click' AND NOT brand IS NULL {when} ORDER BY timestamp LIMIT 1",
        "SELECT brand FROM events WHERE action_type = 'click' AND brand > '' {when} ORDER BY row_id LIMIT 1",
        lambda rows: next((row["brand"] for row in clicks(rows) if row["brand"]), "none"),
    ),
    "price": (
        "What was the highest price of all that I clicked on",
        "money",
        "SELECT MAX(price) FROM events WHERE action_type = 'click' {when}",
        "SELECT price FROM events WHERE action_type = 'click' {when} ORDER BY price DESC LIMIT 1",
        lambda rows: max((row["price"] for row in clicks(rows)), key=float),
    ),
    "temporal": (
        "When did I click on anything first",
        "date-time",
        "SELECT MIN(timestamp) FROM events WHERE action_type = 'click' {when}",
        "SELECT timestamp FROM events WHERE action_type = 'click' {when} ORDER BY row_id LIMIT 1",
        lambda rows: clicks(rows)[0]["timestamp"],
    ),
    "category": (
        "From which categories were the things that I put in the cart",
        "set",
        "SELECT DISTINCT product_types FROM events WHERE action_type = 'add to Cart' {when}",
        "SELECT product_types FROM events WHERE action_type = 'add to Cart' {when} GROUP BY product_types",
        lambda rows: (
            "; ".join(sorted({row["product_types"] for row in rows if row["action_type"] == "add to Cart"})) or "none"
        ),
    ),
    "review": (
        "How much time lies between my first and my last click",
        "duration",
        "SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)) FROM events WHERE NOT asin IS NULL AND {clicks} {when}",
        "WITH c AS (SELECT * FROM events WHERE {clicks} {when}) SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)) FROM c",
        lambda rows: lasted(clicks(rows)),
    ),
}
"""Kind -> words, type of answer, the writer's SQL, the judge's, and the answer from the rows that are shown."""


def clicks(rows):
    return [row for row in rows if row["action_type"] == "click"]


def lasted(rows):
    first, last = (datetime.fromisoformat(rows[place]["timestamp"]) for place in (0, -1))
    minutes, seconds = divmod(int((last - first).total_seconds()), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def facts_of(body):
    """What is told of the trajectory, and what is wanted."""
    story, slot = map(json.loads, body["messages"][1]["content"].splitlines())
    return story, slot


def rows_of(story, name="some of the actions"):
    return [dict(zip(story["columns"], row, strict=True)) for row in story[name]]


def is_judge(body):
    return body["messages"][0]["content"].startswith("You answer questions")


def is_writer(body):
    return body["messages"][0]["content"].startswith("You write questions")


def sent_back(body):
    """How often a reply was sent back before."""
    return (len(body["messages"]) - 2) // 2


def honest(body):
    """The record that an honest model would reply with."""
    story, slot = facts_of(body)
    if is_judge(body):
        words, _, span = slot["question"].removesuffix("?").rpartition(" after ")
        since, until = span.split(" and before ")
        known = next(known for known in KNOWN.values() if known[0] == words)
        return {"sql": known[3].format(clicks=CLICKS, when=BETWEEN.format(since=since, until=until))}
    rows = rows_of(story)
    done = len(slot["asked already"])
    since, until = rows[done % 3]["timestamp"], rows[-1]["timestamp"]
    words, kind, sql, _, answer = KNOWN[slot["write a question of the kind"]]
    return {
        "question": f"{words} after {since} and before {until}?",
        "sql": sql.format(clicks=CLICKS, when=BETWEEN.format(since=since, until=until)),
        "answer": answer(rows[done % 3 + 1 : -1]),
        "answer_type": kind,
        "kind": slot["write a question of the kind"],
    }


def said(record):
    return {"content": json.dumps(record)}


def says(body):
    """What every prompt of a build gets: others than those of questions are answered with nothing of use."""
    if "descriptions of shoppers" in body["messages"][0]["content"]:
        return said(described(body))
    return said(honest(body) if is_judge(body) or is_writer(body) else {})


def described(body):
    """A shopper's description, which a build asks for on the way to questions."""
    facts = json.loads(body["messages"][1]["content"])
    budget = facts["pays at most for one thing, in dollars"]
    return {"description": f"Looks for {facts['looks for'][0]} and pays at most ${budget} for one thing."}
