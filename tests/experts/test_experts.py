"""The expert sees only texts, uses only what it saw, and serves shoppers all the same."""

import ast
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.difficulty import compute_axes, scale_limits_to_calls
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.unseen import find_usage
from shopwright.pipeline.experts.beliefs import Memory, Ranking
from shopwright.pipeline.experts.cart import Line
from shopwright.pipeline.experts.journey import MORE_LATER, Journey
from shopwright.pipeline.experts.play import EXPERTS, find_requests, name_situation, recognize_text
from shopwright.pipeline.experts.play import play as plan_calls
from shopwright.pipeline.experts.player import load_lexicon, play_by_expert
from shopwright.pipeline.experts.recognize import respell_cues
from shopwright.pipeline.experts.requests import Request, split_requests
from shopwright.pipeline.gym import world
from shopwright.pipeline.reading.wishes import Wish
from shopwright.pipeline.shop.topics import parse_user_question

CODE = Path(__file__).parents[2] / "pipeline" / "experts"
# Of six tasks of level 3, how many it must serve at least: two fewer than it does.
SERVED = dict.fromkeys(EXPERTS, 4)


@pytest.fixture(scope="module")
def shop():
    return world()


def begin(shop, env, level, seed):
    task = draw_task(get_env(env), shop, level, seed)
    return Episode(get_env(env), shop, task, at=scale_limits_to_calls(compute_axes(level)))


def play(shop, env, level, seed):
    episode = begin(shop, env, level, seed)
    play_episode(episode, partial(play_by_expert, lexicon=load_lexicon(shop.store)))
    return episode


def test_what_plans_imports_nothing_that_knows_a_goal():
    hidden = (
        "pipeline.envs",
        "schemas.tasks",
        "schemas.certificates",
        "pipeline.trainers",
        "pipeline.shop",
        "checks.tasks",
    )
    imported = set()
    for path in CODE.glob("*.py"):
        if path.name == "player.py":  # which turns texts into plans, and plans into actions
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
    assert imported, CODE
    assert [name for name in imported if any(part in name for part in hidden)] == []


@pytest.mark.parametrize("env", EXPERTS)
def test_it_never_sees_the_goal(shop, env):
    """It plays the same where there is no task, no goal and no certificate: only the opening, the number of calls and what came back."""
    episode = play(shop, env, 3, 1)
    blind = SimpleNamespace(opening=episode.task.opening, most=episode.most)
    plan = play_by_expert(blind, load_lexicon(shop.store))
    again = begin(shop, env, 3, 1)
    seen, actions = again.reset(), []
    for action in plan:
        actions.append(action.model_dump_json(exclude_defaults=True))
        while not again.reward:
            seen, _, _, _ = again.step(action)
            if again.reward:
                break
            action = plan.send(seen)
            actions.append(action.model_dump_json(exclude_defaults=True))
        break
    assert actions == [turn.action for turn in episode.turns]


@pytest.mark.parametrize("env", EXPERTS)
def test_it_serves_most_shoppers(shop, env):
    plays = [play(shop, env, 3, seed) for seed in range(6)]
    assert sum(each.reward.success for each in plays) >= SERVED[env]


@pytest.mark.parametrize("env", EXPERTS)
def test_it_uses_nothing_that_it_did_not_see(shop, env):
    episodes = [play(shop, env, level, seed) for level in (0, 6) for seed in range(3)]
    usages = [find_usage(each.task.opening, each.turns) for each in episodes]
    assert sum(each.used for each in usages) > 0
    assert [each.unseen for each in usages if each.unseen] == []


@pytest.mark.parametrize("env", EXPERTS)
def test_each_step_says_why(shop, env):
    for seed in range(3):
        for turn in play(shop, env, 0, seed).turns:
            assert all(json.loads(turn.action)["thoughts"])


def test_the_solver_who_knows_the_goal_uses_what_it_did_not_see(shop):
    """What the check is for."""
    task = draw_task(get_env("bundle_planning"), shop, 0, 0)
    episode = Episode(get_env("bundle_planning"), shop, task)
    play_episode(episode, play_solution)
    assert find_usage(task.opening, episode.turns).unseen


def test_situations_are_told_apart_by_words(shop):
    lexicon = load_lexicon(shop.store)
    for opening, situation in (
        ("Where is my order? I placed it on May 3.", "order_tracking"),
        ("whre is my odrer? i placed it on May 3", "order_tracking"),
        ("I want to return the desk lamp that I ordered.", "return_replacement"),
        ("The Norrvik Delta oak table lamp is sold out. What is most like it?", "substitution"),
        ("I need a desk lamp below $40. Show me 3 at most.", "product_discovery"),
        ("How long is your return window?", "policy_qa"),
        ("A desk lamp and a tea kettle, one of each, with my vouhcer.", "voucher"),
    ):
        assert name_situation(opening, lexicon) == situation, opening


def test_what_an_opening_says_of_something_else_is_neither_wished_nor_asked_for(shop):
    lexicon = load_lexicon(shop.store)
    opening = (
        "Please find me a desk lamp made of glass, a tea kettle, a soft toy, one of each. I have $300 in total. "
        "There happens to be another one that is different: I need a desk lamp colored navy, list 2 at most. Thank you."
    )
    plan = plan_calls(opening, 30, lexicon)
    steps = [next(plan)]
    while steps[-1].name != "submit":
        steps.append(plan.send('{"answer": "That is all."}' if steps[-1].name == "ask_user" else "{}"))
    searches = [step.arguments["query"].split() for step in steps if step.name == "catalog_search"]
    assert any("glass" in words for words in searches)
    assert not any("navy" in words for words in searches)
    assert "more" not in steps[-1].arguments, "it is one request"


def split(shop, text):
    lexicon = load_lexicon(shop.store)
    return [each.situation for each in split_requests(text, partial(recognize_text, lexicon=lexicon), lexicon)]


def test_requests_are_told_apart_where_the_words_between_them_are_badly_typed(shop):
    text = "Few things. How many samples may I add to my order? After rhhst: Is there anny news abot my order? It had something by Tuckmere in it."
    assert split(shop, text) == ["policy_qa", "order_tracking"]


# Each with the requests that it has, however it is typed and wherever more is told of one.
REQUESTS = {
    "Look ip my odreer, quick: it had a desk lamp in it. Next: Recycling the old one costs what. Case, quick: have had it for 7 months.": [
        "order_tracking",
        "policy_qa",
    ],
    "Where do I get my refund from? The payment was by voucher. Change of topic: a gel pen, a desk lamp, a cuddly toy, one of each.": [
        "policy_qa",
        "bundle_planning",
    ],
    "I should like to return my trail tent. Now for the nr: The Ilvara Vela daily moisturizer is gone. Have you another of the kind?": [
        "return_replacement",
        "substitution",
    ],
    "Has my order shipped already? As far as I rmember: I ordered a desk lamp 53 days ago. Also: I'm not keeping the gel pen from one of my orders. What matters for the new one: a fine tip.": [
        "order_tracking",
        "return_replacement",
    ],
    "Into my cart should go this: that desk lamp I looked at for $49.99. And: What's my reward if I recommend you to a friend?": [
        "cart_building",
        "policy_qa",
    ],
    "Looking for a used film camera w a neck strap, for less than $635. 7 tops gonn ask smth else later": [
        "product_discovery"
    ],
    "A crew neck T-shirt in it. Where's my orrr?": ["order_tracking"],
    "The Oona Fable Lumen facial serum is anvailable. Could you find me a replacement, the closwr the better?": [
        "substitution"
    ],
    "You are out of the Tovalli Knoll specialty coffee, whole bean. Which one would u take isteda?": ["substitution"],
    "I want a used film camera. Furthermore: What is given to someone who refers a friend?": [
        "product_discovery",
        "policy_qa",
    ],
    "The trail tent is sold out. Something like it? Also: below $40. Next: Where is my order?": [
        "substitution",
        "order_tracking",
    ],
    "The trail tent is sold out. Something like it? Another thing: rated 3.8 or better. Next: Wheres my order?": [
        "substitution",
        "order_tracking",
    ],
    "I should like to have that wooden block set I viewed put into the cart. And mind, what you have not got, simply leave out, and do tell me why if nothing is left. Then, dear: I cnnot see ow far my order is. Besides that: For how many months is the gift card valid, please?": [
        "cart_building",
        "order_tracking",
        "policy_qa",
    ],
    "The gel pen goes back. It came broken. What matters for the new: a fine tip. And: where's my package?": [
        "return_replacement",
        "order_tracking",
    ],
}


@pytest.mark.parametrize("text", REQUESTS)
def test_requests_are_known_however_they_are_typed(shop, text):
    assert [each.situation for each in find_requests(text, load_lexicon(shop.store))] == REQUESTS[text]


def test_a_list_for_a_voucher_is_never_one_of_several(shop):
    text = "I hold a voucher: $12 off from $60 on. I need one of each: a gel pen, a desk lamp, a cuddly toy."
    assert find_requests(text, load_lexicon(shop.store)) == []


def test_an_answer_that_is_not_understood_does_not_end_the_questions(shop):
    lexicon = load_lexicon(shop.store)
    find = partial(name_situation, lexicon=lexicon)
    requests = [Request("order_tracking", "Where is my order?")]
    acts = Journey("", 40, lexicon, requests=requests, experts=EXPERTS, find=find, guess=find).play()
    said = ["Wll, ofc, hte thnig.", "It had a desk lamp in it.", "That is all."]
    steps = [next(acts), *(acts.send(json.dumps({"answer": each})) for each in said)]
    assert [step.name for step in steps] == ["ask_user", "ask_user", "ask_user", "order_list"]


def test_it_asks_as_long_as_there_is_more(shop):
    lexicon = load_lexicon(shop.store)
    find = partial(name_situation, lexicon=lexicon)
    requests = [Request("order_tracking", "Where is my order?")]
    acts = Journey("", 400, lexicon, requests=requests, experts=EXPERTS, find=find, guess=find).play()
    said = [*(f"It was ${number} in total." for number in range(20, 70)), "That is all."]
    steps = [next(acts), *(acts.send(json.dumps({"answer": each})) for each in said)]
    questions = [step.arguments["question"] for step in steps if step.name == "ask_user"]
    assert len(set(questions)) == len(questions) == len(said)
    assert all(parse_user_question(each, []).more == [frozenset()] for each in questions)


def test_a_price_is_of_the_thing_that_was_viewed_for_it(shop):
    cart = EXPERTS["cart_building"]("", 40, load_lexicon(shop.store))
    cart.plain = "Add the desk lamp I looked at for $40.99 n that desk lamp I looked at for $55.99, the $9.49 gel pen."
    lines = cart.list_lines()
    cart.place_wishes(lines)
    assert [[clue.value for clue in line.clues] for line in lines] == [["4099"], ["5599"], ["949"]]


def play_to_end(acts):
    """Takes every step, of which each tool says nothing."""
    step = next(acts, None)
    while step is not None:
        try:
            step = acts.send("{}")
        except StopIteration:
            return


def test_what_is_wrong_in_the_cart_is_heard_beside_a_question_and_in_its_number(shop):
    cart = EXPERTS["cart_building"]("", 40, load_lexicon(shop.store))
    cart.memory.see({"product_id": "a", "title": "Osko gel pen", "category": "Gel Pens"})
    offers = [
        {"variant_id": id, "color": color, "price": 9, "stock": 9} for id, color in (("a-1", "purple"), ("a-2", "red"))
    ]
    line = Line(0, 0, "Gel Pens", product=cart.memory.products["a"], offers=offers, added="a-1")
    assert cart.is_about(line, "It says purple there, and I need one in red. Can you correct it?")
    assert not cart.is_about(line, "Is the Osko gel pen made of steel?")
    play_to_end(cart.mend(line, "It says 1 for Osko gel pen, I asked for 3."))
    assert line.pieces == 3
    play_to_end(cart.mend(line, "It says purple there, and I need one in red."))
    assert [each["variant_id"] for each in cart.list_fitting(line)] == ["a-2"]


def test_what_was_paid_is_of_the_line_that_goes_back(shop):
    expert = EXPERTS["return_replacement"]("", 40, load_lexicon(shop.store))
    text = "Send back the cuddly toy. Swap it for another version. Details: cost me $36.95. The new one should cost less than $40."
    old, new = expert.split_new(text, expert.read(text))
    assert ("price", "3695") in [(each.wish.kind, each.wish.value) for each in old]
    assert "3695" not in [each.wish.value for each in new]


@pytest.mark.parametrize(
    "text",
    [
        "I want to return the gel pens. They were $12.50 each. Instead I would like some that cost less than $40.",
        "The gel pens go back. In their place I want one below $40: these were $12.50 apiece.",
    ],
)
def test_a_price_of_one_of_several_is_of_what_was_bought(shop, text):
    expert = EXPERTS["return_replacement"]("", 40, load_lexicon(shop.store))
    old, new = expert.split_new(text, expert.read(text))
    assert "1250" in [each.wish.value for each in old]
    assert [each.wish.value for each in new if each.wish.kind.startswith("price")] == ["4000"]


def test_a_title_may_say_what_is_used_without_the_word(shop):
    expert = EXPERTS["return_replacement"]("", 40, load_lexicon(shop.store))
    assert expert.category_of({"title": "Gossamer & Pike Dale 35mm film rangefinder camera"}) == "Used Film Cameras"


def test_a_remark_with_a_colon_begins_no_request(shop):
    text = "Please put the table lamp for $54.49 that I viewed into my cart. One thing: no substitutes, skip what's gone, say why if empty."
    assert split(shop, text) == ["cart_building"]


# Texts cut where a request ends: at each bar.
DETAILS = [
    (
        "I must to buy a box of coffee capsules, a drip coffee maker, one from each. And please: I wish the box of coffee capsules which has 3 stars. | "
        "Second thing: You have maybe a floor lamp, in color gray. Only until 3 please."
    ),
    "Check my order. One more thing: I need also the date of arrival. | Other thing: It is needed for me a skin serum. I want see 3 at most.",
    (
        "Proof of purchase? Wrong item sent. | Also: Need to return the desk lamp. Also: same thing, different version instead. | "
        "And: Visitors who come on Friday: a tea kettle, a facial moisturizer, one of each."
    ),
    (
        "Need a table lamp, a gel ink pen for presents, one of each. One thing: for the table lamp, one made for the bulb type e26. | "
        "While we're at it: How many dollars does the label for a return cost?"
    ),
    "Teyvo Sable skin serum: out of stock. Need the closest one in stock. | Also: Membership fee? Info: private use, not a student.",
    "Just the shipping fee please. It comes with express shipping. | Since we're here: Need a bedside lamp, an over-ear headset, one of each.",
    "ok: my cart needs the desk lamp i saw, tell me why if its all gone | then: how many months can i split the payments",
    "What do u need as proof i bought it. | nxt: can u track mu order? | another thing: i need to return the skin serum i got.",
    "I found a gift card in a drawer. How many months are those valid? | And another thing: the Vesperine Kala face serum is out of stock. Help!",
    "Which proof do you want? | Since we're here: Ha ym parcel shipepd already? | Since we're here: Put the gel pen that I viewed into my cart.",
    "The tea kettle is sold out. Something like it? One more detail: for camping. | Next: How long is your return window?",
    "A tea kettle, a bag of single-origin coffee, one of each. | Next: Case: am no member. What proof of purchase do you want, order number or photo.",
    "Number one: bruh has my order arrived yet? | since were here: add the table lamp for $25.99 that i viewed in my cart.",
    "Please take bbac my crew neck T-shirt, I have no use for it. I ordered it 89 days ago. | Besides that: Another shop has it cheaper. How many dollars would you pay back?",
]


@pytest.mark.parametrize("text", DETAILS)
def test_details_stay_with_their_request(shop, text):
    lexicon = load_lexicon(shop.store)
    judge = partial(recognize_text, lexicon=lexicon)
    found = [each.text for each in split_requests(text.replace("| ", ""), judge, lexicon)]
    first, *others = text.split(" | ")
    assert found == [first, *(each.split(": ", 1)[1] for each in others)]


def test_a_remark_that_something_sold_out_is_no_request(shop):
    lexicon = load_lexicon(shop.store)
    requests = [Request("cart_building", "Put the gel pen into my cart.")]
    find = partial(name_situation, lexicon=lexicon)
    journey = Journey("", 40, lexicon, requests=requests, experts=EXPERTS, find=find, guess=find)
    journey.asides = [
        "May I point out: the gel pen that I viewed seems to be out of stock now?",
        "Next: Teyvo Sable gel pen out of stock. Need the colseat one.",
    ]
    journey.add_late_request()
    assert [each.situation for each in journey.requests] == ["cart_building", "substitution"]
    assert journey.asides == ["May I point out: the gel pen that I viewed seems to be out of stock now?"]


@pytest.mark.parametrize(
    "said",
    [
        "There will be one further matter, if I may.",
        "There's one more thing ltaer!",
        "I'll hvae something else when we're throuugh.",
    ],
)
def test_that_more_comes_later_is_known_however_it_is_typed(shop, said):
    lexicon = load_lexicon(shop.store)
    assert MORE_LATER.search(respell_cues(f"I want a face serum. {said}".lower(), lexicon.words))
    assert not MORE_LATER.search("one more thing: i want something else instead.")


def test_a_second_limit_of_a_kind_is_of_the_next_request(shop):
    lexicon = load_lexicon(shop.store)
    requests = [
        Request("product_discovery", "I want a used film camera."),
        Request("substitution", "Halbrook Scout housekeeping visit is sold out. Something like it?"),
    ]
    journey = Journey("", 40, lexicon, requests=requests, experts=EXPERTS, find=str, guess=str)
    answers = ["Also, delivered in 7 days or less.", "Yes, I'd want one delivered in 8 days or less."]
    assert journey.route(answers) == {0: answers[:1], 1: answers[1:]}


def test_a_word_that_is_nearer_to_another_is_no_cue(shop):
    text = "I'd just llove to find a used film camera, where the lens is 38 mm."
    assert name_situation(text, load_lexicon(shop.store)) == "product_discovery"


def test_answers_without_a_label_are_placed_in_the_order_of_the_requests(shop):
    lexicon = load_lexicon(shop.store)
    requests = [Request("order_tracking", "Where is my order?"), Request("product_discovery", "I want a face serum.")]
    journey = Journey("", 40, lexicon, requests=requests, experts=EXPERTS, find=str, guess=str)
    answers = ["It contained a cuddly toy.", "Priced below $47.", "With niacinamide in it."]
    assert journey.route(answers) == {0: answers[:1], 1: answers[1:]}
    assert journey.place_in_order([[0, 1], [0, 0], [1, 0], [0, 1]]) == [0, 0, 0, 0]


def test_what_a_search_would_have_put_first_is_not_read(shop):
    lexicon = load_lexicon(shop.store)
    memory = Memory(lexicon)
    purple = Wish("value", "purple", frozenset(["color"]))
    for id, more in (("first", {"color": "blue", "attributes": {"grip": "soft"}}), ("second", {}), ("other", {})):
        memory.see({"product_id": id, "title": f"Yundt gel pen {id}", "category": "Gel Pens", **more})
    memory.rankings.append(Ranking(frozenset(["gel", "pen", "purple"]), ("first", "second")))
    second, other = memory.products["second"], memory.products["other"]
    assert memory.is_outranked(second, [purple])
    assert not memory.is_outranked(second, [])
    assert not memory.is_outranked(other, [purple])
    memory.products["first"].shown["color"] = "purple"
    assert not memory.is_outranked(second, [purple])


def test_a_thing_that_is_called_a_basket_is_no_shopping_basket(shop):
    lexicon = load_lexicon(shop.store)
    text = "I need a wooden block set with a pull-along cart, a table lamp, a gel pen, one of each."
    assert name_situation(text, lexicon) == "bundle_planning"
    assert name_situation("Put the table lamp for $54.49 that I viewed into my cart.", lexicon) == "cart_building"
