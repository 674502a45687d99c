"""What must be true of a session seen page by page: held against the log, the shop's pages, and what was seen by then."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

from shopwright.pipeline.behaviors.logs import Logs
from shopwright.pipeline.behaviors.rationales import collect_page_words, describe_intent, find_rationale_fault
from shopwright.pipeline.behaviors.rows import (
    count_session_tokens,
    count_text_tokens,
    format_step_answer,
    parse_page_html,
    parse_step_action,
)
from shopwright.pipeline.behaviors.session_replay import build_visit_day, open_session_browser
from shopwright.pipeline.behaviors.sessions import (
    APART,
    CART,
    CLICK,
    PURCHASE,
    SEARCH,
    Act,
    CartItem,
    assign_customer_split,
    find_session,
)
from shopwright.pipeline.checks.claims import find_contradiction
from shopwright.pipeline.checks.record_cache import RecordCache
from shopwright.pipeline.checks.shopping import shop_of
from shopwright.pipeline.checks.unique import find_rows_in_two_splits
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.frames import mask_facts
from shopwright.pipeline.files import parquet
from shopwright.pipeline.render.pages import SEARCH_INPUT, format_money, render_page_html, sanitize_text
from shopwright.pipeline.rewards.hierarchical import read_true_action as parsed
from shopwright.pipeline.shop.browser import Browser
from shopwright.pipeline.shop.store import Item
from shopwright.pipeline.stage import Fault
from shopwright.pipeline.words import content_words
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.category_terms import CategoryTermIndex
from shopwright.schemas.behaviors import Behavior, BehaviorStep, NextAction, Side
from shopwright.schemas.rollouts import Message
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Persona, Product

Logged = Dataset[Trajectory]
UNKNOWN_STEP = "a step of no session"


def events_are_the_logs(behavior: Behavior, trajectories: Logged) -> str | None:
    """Its steps are the log's events, all from its first to its last, at their times: the same searches, products and prices."""
    events = trajectories.once(Logs).events(behavior.trajectory_id)
    steps = [step for step in behavior.steps if step.row is not None]
    rows = [step.row for step in steps if step.row is not None]
    if events is None or not rows or rows != behavior.rows:
        return "events that are not the log's"
    are_in_a_row = rows == list(range(rows[0], rows[0] + len(rows)))
    if not are_in_a_row or rows[0] < 0 or rows[-1] >= len(events):
        return "events that are not the log's"
    found = events.slice(rows[0], len(rows)).to_pylist()
    after = {id(step): later for step, later in pairwise(behavior.steps)}
    for step, event in zip(steps, found, strict=True):
        if step.at != event["timestamp"]:
            return "an event at another time"
        if fault := find_event_mismatch(step, event, after.get(id(step))):
            return fault
    gaps = (later.at - step.at for step, later in pairwise(steps))
    if any(gap > APART for gap in gaps):
        return "two visits in one session"
    times = [step.at for step in behavior.steps]
    if times != sorted(times) or (times[0], times[-1]) != (behavior.start, behavior.end):
        return "steps that are not in order of time"
    return None


def find_event_mismatch(step: BehaviorStep, event: dict[str, Any], after: BehaviorStep | None) -> str | None:
    """Whether the page after a step shows what the log says was done."""
    action, kind = parse_step_action(step), event["action_type"]
    if kind == SEARCH:
        return None if action.get("text") == event["search_query"] else "another search than the log's"
    name = action.get("name", "")
    if not {CLICK: name.endswith(".view_product"), CART: name == "cart.add_to_cart", PURCHASE: name.endswith(".buy")}[
        kind
    ]:
        return f"a {kind} that is another action"
    if after is None:
        return None
    page = parse_page_html(after.html).text
    if sanitize_text(event["product_name"]) not in page:
        return f"a {kind} after which the page shows another product"
    cents = int(event["price"] * 100)
    if kind == CLICK:
        return None if shows_price(page, cents) else "a product at another price than the log's"
    return None if format_money(cents) in page else "a product at another price than the log's"


def shows_price(page: str, cents: int) -> bool:
    """Whether a product's page shows this price, or two between which it lies.

    >>> shows_price("Price: $9.99 to $12.50 Rating", 1100), shows_price("Price: $9.99 Rating", 1100)
    (True, False)
    """
    words = page.partition("Price: ")[2].split()[:3]
    prices = [int(word[1:].replace(".", "")) for word in words if word[:1] == "$"]
    if prices[:1] == [cents]:
        return True
    return bool(prices) and words[1:2] == ["to"] and prices[0] <= cents <= prices[-1]


def pages_follow_from_actions(
    behavior: Behavior, trajectories: Logged, catalog: Dataset[Product], personas: Dataset[Persona]
) -> str | None:
    """Done again action by action in the shop of that day, every page is the same, to the letter, and each event is of the log's
    product and its order's variant.
    """
    shop, logs = catalog.once(shop_of), trajectories.once(Logs)
    if behavior.trajectory_id not in logs.customer:
        return "a log that is not there"
    session = find_session(logs.of(behavior.trajectory_id, shop.store), behavior.rows)
    if session is None:
        return "events that are no session"
    browser = open_session_browser(session, shop, build_visit_day(session, shop.store, catalog.once(CatalogColumns)))
    acts = {act.row: act for act in session.acts}
    for step in behavior.steps:
        if render_page_html(browser.page) != step.html:
            return "a page that the actions before it do not lead to"
        action = parse_step_action(step)
        if action["type"] == "terminate":
            break
        text, name, cart = action.get("text"), action.get("name", ""), count_cart_pieces(browser)
        if browser.press(name) if text is None else browser.submit(name, text):
            return "an action that does nothing"
        if step.row in acts and not shop_matches_event(acts[step.row], session.variants, browser, cart):
            return "another product or variant than the log's and its order's"
    intent = describe_intent(session.errands)
    return None if behavior.intent == intent else "an intent that is not the session's"


def shop_matches_event(act: Act, variants: Mapping[int, str], browser: Browser, before: Counter[CartItem]) -> bool:
    """Whether the shop is as this event leaves it: the product open, one piece of its variant more in the cart, or one less.

    before: what was in the cart.
    """
    if act.kind == CLICK:
        return browser.view.row == browser.store.row(act.product)
    after, thing = count_cart_pieces(browser), (act.product, variants.get(act.row, ""))
    after[thing] -= {CART: 1, PURCHASE: -1}.get(act.kind, 0)
    return after == before


def count_cart_pieces(browser: Browser) -> Counter[CartItem]:
    """Pieces of each thing."""
    return Counter({thing: line.pieces for thing, line in browser.lines.items()})


def actions_are_on_their_page(behavior: Behavior) -> str | None:
    """Each is one of the three, in the paper's JSON, and what it names can be acted on so, by the page's HTML."""
    for step in behavior.steps:
        facts = json.loads(step.action)
        action = parsed(facts)
        if isinstance(action, str) or action.lacks or step.action != format_paper_action(facts):
            return "a malformed action"
        tags = {name: tag for tag, name in parse_page_html(step.html).names}
        if action.type == "click" and tags.get(action.name) not in ("a", "button"):
            return "a click on what is not on the page"
        if action.type == "type_and_submit" and (tags.get(action.name) != "input" or action.name != SEARCH_INPUT):
            return "a text typed into what is not on the page"
    return None


def format_paper_action(action: dict[str, str]) -> str:
    """The paper's JSON of it.

    >>> format_paper_action({"name": "nav.home", "type": "click", "why": "to begin again"})
    '{"type": "click", "name": "nav.home"}'
    """
    return json.dumps({part: action[part] for part in ("type", "name", "text") if part in action}, ensure_ascii=False)


def names_are_unique(behavior: Behavior) -> str | None:
    for step in behavior.steps:
        names = [name for _, name in parse_page_html(step.html).names]
        if len(set(names)) < len(names):
            return "two elements of a page with one name"
    return None


def typed_text_is_the_intents(behavior: Behavior) -> str | None:
    """It has a word of what the customer came for, or of a search after it that has."""
    about = set(content_words(behavior.intent))
    for step in reversed(behavior.steps):
        text = parse_step_action(step).get("text")
        if text is not None:
            said = set(content_words(text))
            if about.isdisjoint(said):
                return "a search that has nothing to do with the intent"
            about |= said
    return None


def rationales_tell_what_was_seen(
    behavior: Behavior, catalog: Dataset[Product], personas: Dataset[Persona]
) -> str | None:
    """In the first person, without an element's name; every number, and every title that it names, was on a page by then."""
    words, pages = set[str](), list[str]()
    for step in behavior.steps:
        action, seen = parse_step_action(step), parse_page_html(step.html)
        text = action.get("text", "")
        words |= seen.words | collect_page_words(text)
        pages += [seen.text, text]
        if fault := find_rationale_fault(step.rationale, words, action.get("name", "")):
            return fault
        if any(each not in step.rationale for each in step.said):
            return "words of a rationale that it does not say"
        if not all(was_shown(each, pages) or is_name(each, words) for each in step.said):
            return "a rationale that names what no page has shown"
        if behavior.written_by == "model" and (
            brand := find_unexplained_brand(step.rationale, words, behavior, catalog, personas)
        ):
            return f"a rationale with a brand that no page has shown: {brand}"
    return None


def rationales_are_not_contradicted(
    behavior: Behavior, catalog: Dataset[Product], personas: Dataset[Persona]
) -> str | None:
    """What they claim, read from their words, is so by the pages, and what is done next does not give it the lie."""
    store, person = catalog.once(shop_of).store, personas.once(RecordCache).of(behavior.persona_id)

    def item(id: str) -> Item | None:
        row = store.row(id)
        return None if row is None else store.item(row)

    brands = person.brands if person else ()
    return find_contradiction(behavior, item, brands, strict=behavior.written_by == "code")


def is_name(text: str, words: set[str]) -> bool:
    """Whether it is made of words that pages have shown, as a product's short name is; which product that is, the reader finds."""
    for piece in text.split():
        word = piece.strip("\"'.,;:!?()")
        if words.isdisjoint((word, word.lower(), word.capitalize(), word.upper(), word.title())):
            return False
    return True


def was_shown(text: str, pages: list[str]) -> bool:
    return any(text in page for page in reversed(pages))


def find_unexplained_brand(
    text: str, words: set[str], behavior: Behavior, catalog: Dataset[Product], personas: Dataset[Persona]
) -> str:
    """A brand of the catalog that a model names out of nowhere; empty: there is none."""
    seen = [word.lower() for word in words]
    person = personas.once(RecordCache).of(behavior.persona_id)
    own = set(content_words(" ".join(person.brands))) if person else set[str]()
    for brand in catalog.once(CategoryTermIndex).list_brands_in(text):
        unexplained = set(brand) - own
        if not all(was_shown(word, seen) for word in unexplained):
            return " ".join(brand)
    return ""


def ends_at_its_end(behavior: Behavior, trajectories: Logged) -> str | None:
    """`terminate` stands last and nowhere else, and not after a purchase; the outcome is that of the events."""
    types = [parse_step_action(step)["type"] for step in behavior.steps]
    events = trajectories.once(Logs).events(behavior.trajectory_id)
    if events is None or not behavior.rows or not 0 <= behavior.rows[0] <= behavior.rows[-1] < len(events):
        return "events that are not the log's"
    kinds = events["action_type"].slice(behavior.rows[0], len(behavior.rows)).to_pylist()
    if "terminate" in types[:-1] or (types[-1] == "terminate") == (kinds[-1] == PURCHASE):
        return "a malformed end"
    outcome = "bought" if PURCHASE in kinds else "left in the cart" if CART in kinds else "gave up"
    return None if behavior.outcome == outcome else "another outcome than the log's"


def customer_is_the_personas(behavior: Behavior, trajectories: Logged, personas: Dataset[Persona]) -> str | None:
    person = personas.once(RecordCache).of(behavior.persona_id)
    own = trajectories.once(Logs).customer.get(behavior.trajectory_id) == behavior.persona_id
    if person is None or not own or person.description != behavior.persona:
        return "a customer that is somebody else"
    return (
        None if behavior.split == assign_customer_split(behavior.persona_id) else "a split that is not its customer's"
    )


def tokens_are_counted(behavior: Behavior) -> str | None:
    return (
        None
        if behavior.tokens == count_session_tokens(behavior.steps)
        else "tokens that are not those of its pages and answers"
    )


def splits_share_no_customer(behaviors: Dataset[Any]) -> Iterable[Fault]:
    return find_rows_in_two_splits(behaviors, "persona_id", "its customer is held out too")


def test_says_nothing_of_training(behaviors: Dataset[Behavior]) -> Iterable[Fault]:
    """No frame of the test's rationales is one of training's, where code wrote them: their facts masked."""
    trained = set(chain.from_iterable(frames for _, _, frames in list_session_frames(behaviors, "train")))
    for file, row, frames in list_session_frames(behaviors, "test"):
        if not trained.isdisjoint(frames):
            yield Fault(file, row, "a rationale of the test in words of training")


def list_session_frames(behaviors: Dataset[Any], split: Side) -> Iterator[tuple[str, int, list[str]]]:
    """Of each session of this split that code wrote: file, row, and what its rationales are without their facts."""
    columns = ["split", "written_by", "steps.list.element.rationale", "steps.list.element.said"]
    for path in behaviors.files:
        rows = chain.from_iterable(batch.to_pylist() for batch in parquet(path).iter_batches(columns=columns))
        for number, row in enumerate(rows):
            if (row["split"], row["written_by"]) == (split, "code"):
                yield str(path), number, [mask_facts(step["rationale"], step["said"]) for step in row["steps"]]


def words_are_not_repeated(behavior: Behavior) -> str | None:
    """No two rationales of a session are of one frame."""
    frames = [mask_facts(step.rationale, step.said) for step in behavior.steps]
    return "two rationales of one frame" if len(set(frames)) < len(frames) else None


# Steps


def find_session_of_step(step: NextAction, behaviors: Dataset[Behavior]) -> Behavior | None:
    """None where the session is not there, or has no such step."""
    found: Behavior | None = behaviors.once(RecordCache).of(step.behavior_id)
    return found if found and 0 <= step.step < len(found.steps) else None


def step_is_the_sessions(step: NextAction, behaviors: Dataset[Behavior]) -> str | None:
    """Action, rationale, customer and split are those of that step there."""
    behavior = find_session_of_step(step, behaviors)
    if behavior is None:
        return UNKNOWN_STEP
    true = behavior.steps[step.step]
    same = (step.action, step.rationale, step.persona_id, step.split) == (
        *(true.action, true.rationale),
        *(behavior.persona_id, behavior.split),
    )
    if not same or json.loads(step.action)["type"] != step.action_type:
        return "not what its session has there"
    return "a test step to learn on" if step.in_rl and step.split == "test" else None


def something_was_seen_before(step: NextAction) -> str | None:
    """The first move of a session is made before anything was seen: nobody could predict it."""
    return None if step.step >= 1 else "a first move, before which nothing was seen"


def shows_only_latest_page(prompt: list[Message]) -> bool:
    """Whether it shows the latest page alone."""
    return len(prompt) == 2 and prompt[1].content.startswith("Done so far:")


def prompt_shows_what_came_before(step: NextAction, behaviors: Dataset[Behavior]) -> str | None:
    """The page of the step stands at its end; before it all pages and answers, or all answers; and nothing of the truth."""
    behavior = find_session_of_step(step, behaviors)
    if behavior is None:
        return UNKNOWN_STEP
    roles = [each.role for each in step.prompt]
    now, before = behavior.steps[step.step], behavior.steps[: step.step]
    if roles[0] != "system" or not step.prompt[-1].content.endswith(now.html.strip()):
        return "a prompt that does not end with the page"
    if any(each.rationale in step.prompt[0].content for each in behavior.steps):
        return "a prompt that tells what it asks for"
    if shows_only_latest_page(step.prompt):
        history, rest = step.prompt[1].content.removesuffix(now.html.strip()), ""
        for each in before:
            other, found, history = history.partition(format_step_answer(each))
            if not found:
                return "a prompt without what was done before"
            rest += other
        hints = ('"rationale":', now.action, now.rationale)
        return "a prompt that tells what it asks for" if any(each in rest + history for each in hints) else None
    if not before or roles[1:] != ["user", "assistant"] * (len(before) - 1) + ["user"]:
        return "a prompt that is no conversation"
    parts = [*chain.from_iterable((each.html.strip(), format_step_answer(each)) for each in before), now.html.strip()]
    shown = ["\n".join(parts[:3]), *parts[3:]]  # nobody is asked for the first move, so it stands in the first message
    return None if shown == [each.content for each in step.prompt[1:]] else "a prompt without what was done before"


def prompt_tokens_are_counted(step: NextAction) -> str | None:
    """The stored prompt's are the one of the two counts that is of its context."""
    counted = sum(count_text_tokens(each.content) for each in step.prompt)
    own = step.page_tokens if shows_only_latest_page(step.prompt) else step.session_tokens
    return None if counted == own else "tokens that are not those of its prompt"


def rl_mix_is_the_papers(behavior_steps: Dataset[NextAction]) -> Iterable[Fault]:
    """Of the steps to learn on, searches and clicks are each 10 % more frequent than ends (Shop-R1, section 4.1)."""
    counts = dict(behavior_steps.sql("select action_type, count(*) from rows where in_rl group by 1"))
    ends = counts.get("terminate", 0)
    wrong = [kind for kind in ("click", "type_and_submit") if abs(10 * counts.get(kind, 0) - 11 * ends) > 10]
    if not wrong:
        return []
    found = behavior_steps.sql(
        f"select filename, file_row_number from rows where in_rl and action_type = '{wrong[0]}' order by all"
    )
    return [Fault(file, row, "a mix of actions that is not the paper's") for file, row in found]
