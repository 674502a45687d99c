import asyncio
import inspect
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shopwright.pipeline.envs import ENV_ORDER
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.exporters.rl import rl_envs, rl_questions, rl_shopping
from shopwright.pipeline.run import Run
from shopwright.pipeline.shop.tools import TOOLS, build_tool_schemas
from shopwright.pipeline.trainers.env import (
    ENVIRONMENTS,
    BoxedEnv,
    NoTask,
    QuestionsEnv,
    ShopEnv,
    ShoppingEnv,
    TalkEnv,
    call_env_tool,
    count_env_tasks,
    get_env_task,
    list_env_calls,
    list_env_tools,
    list_tool_schemas,
    make_talk_call,
    solve_env_task,
    write_env_messages,
)
from shopwright.pipeline.trainers.gymnasium import parse_gym_call
from shopwright.pipeline.trainers.trl import last_words

every_kind = pytest.mark.parametrize("kind", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
GUIDE = Path(__file__).parents[2] / "docs" / "training.md"
STRANGE = [
    None,
    "",
    "x" * 50_000,
    "\ud800",
    "\x00 ]\n[",
    -1,
    2**70,
    0.5,
    float("nan"),
    float("inf"),
    True,
    [],
    {"a": [1]},
]
IN_MEMORY = {"env": "cart_building", "difficulty": 0, "seed": 7}


def begun(kind, run, task):
    env = kind(run.folder)
    env.reset(extra_info={"task": task})
    return env


def parse_text(text):
    return json.loads(text)


@pytest.fixture
def shop(small):
    return begun(ShopEnv, small, get_env_task(small.folder, "envs", 0))


@pytest.fixture
def pages(small):
    return begun(ShoppingEnv, small, standard(small))


@pytest.fixture
def questions(small):
    return begun(QuestionsEnv, small, get_question_task(small))


def standard(small):
    return next(task for n in range(99) if not (task := get_env_task(small.folder, "shopping", n))["profile_id"])


def get_question_task(small):
    return get_env_task(small.folder, "questions", 0)


# What every trainer relies on


@every_kind
def test_tools_are_typed_told_of_and_return_no_annotation(kind):
    for name, tool in list_env_tools(kind()).items():
        assert inspect.signature(tool).return_annotation is inspect.Signature.empty, name
        (schema,) = [each["function"] for each in list_tool_schemas(kind) if each["function"]["name"] == name]
        assert schema["description"]
        kinds = {each["type"] for each in schema["parameters"]["properties"].values()}
        assert kinds <= {"string", "integer", "number", "boolean"}


@every_kind
def test_nothing_but_tools_reset_and_the_reward_is_public(kind):
    public = {name for name in dir(kind) if not name.startswith("_")}
    assert public == {"reset", "get_reward", *list_env_tools(kind())}


@every_kind
def test_before_its_first_reset_a_call_is_answered_by_an_error(kind):
    for name, tool in list_env_tools(kind()).items():
        assert parse_text(tool()) == {"error": "The episode is over."}, name


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_whatever_a_model_says_a_tool_gives_text(small, name, value):
    task = get_env_task(small.folder, name, 0)
    env = ENVIRONMENTS[name](small.folder)
    for schema in list_tool_schemas(type(env)):
        about = schema["function"]
        if env._done:
            env.reset(extra_info={"task": task})
        said = call_env_tool(env, about["name"], dict.fromkeys(about["parameters"]["properties"], value))
        assert isinstance(said, str)
        assert len(said.encode()) < 20_000
        assert -1 <= env.get_reward() <= 1


def test_the_shops_tools_are_told_as_agents_of_the_dataset_are_told_of_them():
    mine = {each["function"]["name"]: each["function"] for each in list_tool_schemas(ShopEnv)}
    assert mine.keys() == {*TOOLS, "submit"}
    assert [name for name in mine if name != "submit"] == list(TOOLS), (
        "TOOLS stand as trainers list them, by the alphabet"
    )
    for known in build_tool_schemas():
        one = mine[known["name"]]
        assert one["description"] == known["description"]
        assert one["parameters"]["properties"] == known["parameters"]["properties"]
        assert one["parameters"].get("required", []) == known["parameters"]["required"]


@pytest.mark.parametrize("row", [{}, {"extra_info": None}, {"extra_info": {"task": {}}}, {"extra_info": '{"x": 1}'}])
def test_a_row_without_a_task_cannot_be_reset(small, row):
    with pytest.raises(Problem, match="no task"):
        ShopEnv(small.folder).reset(**row)


def test_extra_info_and_task_may_be_text(small):
    task = get_env_task(small.folder, "envs", 0)
    env = ShopEnv(small.folder)
    env.reset(extra_info=json.dumps({"task": json.dumps(task)}), prompt="ignored", answer="ignored")
    assert env._prompt == begun(ShopEnv, small, task)._prompt


def test_nothing_of_a_row_but_the_task_is_read(small):
    row = next(small.call(rl_envs, split="train"))
    task = {"task": row["extra_info"]["task"]}
    bare, full = ShopEnv(small.folder), ShopEnv(small.folder)
    bare.reset(extra_info=task)
    full.reset(**row)
    assert bare._prompt == full._prompt == row["prompt"]
    calls = [(call["name"], call["arguments"]) for call in row["extra_info"]["reference_calls"]]
    assert write_env_messages(bare, calls) == write_env_messages(full, calls)
    assert bare.get_reward() == full.get_reward()


def test_a_shop_that_is_not_the_tasks_is_refused(small):
    task = get_env_task(small.folder, "envs", 0)
    with pytest.raises(Problem, match="another shop"):
        ShopEnv("").reset(extra_info={"task": task})
    with pytest.raises(Problem, match="another shop"):
        begun(ShoppingEnv, small, {**standard(small), "product_id": "nothing"})


def test_a_missing_shop_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOPWRIGHT_RUN", raising=False)
    with pytest.raises(Problem, match="SHOPWRIGHT_RUN"):
        QuestionsEnv().reset(extra_info={"task": {"trajectory_id": "x", "question": "?"}})
    with pytest.raises(Problem, match="shopwright build trajectories"):
        begun(QuestionsEnv, Run(tmp_path), {"trajectory_id": "x", "question": "?"})


def test_the_folder_can_be_named_by_the_variable(small, monkeypatch):
    monkeypatch.setenv("SHOPWRIGHT_RUN", str(small.folder))
    env = ShopEnv()
    env.reset(extra_info={"task": get_env_task(small.folder, "envs", 0)})
    assert not env._done


def test_the_shop_is_shared_by_all_of_a_process(small):
    def envs():
        return begun(ShopEnv, small, get_env_task(small.folder, "envs", 0))

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: envs(), range(4)))
    assert len({id(env._episode.world.store) for env in found}) == 1


# The eight envs


def test_the_guides_example_plays():
    (example, *_) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names = {}
    exec(example, names)  # noqa: S102 - our own
    assert names["env"].get_reward() < 0
    names["env"].reset(extra_info={"task": IN_MEMORY})
    assert f"# {names['env'].datetime_now()!r}\n" in example


def test_a_shop_in_memory_needs_no_run():
    env = ShopEnv()
    env.reset(extra_info={"task": IN_MEMORY})
    assert parse_text(env.datetime_now())["calls_left"] == 7
    assert parse_text(env.submit()) == {"handed_in": True}
    assert env.get_reward() < 0


def test_the_solvers_calls_earn_everything_of_every_task(small):
    env = ShopEnv(small.folder)
    for number in range(count_env_tasks(small.folder, "envs")):
        assert solve_env_task(env, get_env_task(small.folder, "envs", number))
        assert env._done
        assert (env._episode.reward.task, env._episode.reward.hallucination) == (1, 0)
        assert env.get_reward() == env._episode.reward.total > 0.5


@pytest.mark.parametrize("name", ENV_ORDER)
def test_what_is_asked_or_sold_out_on_the_way_is_mastered_too(name):
    env = ShopEnv()
    for seed in range(8):
        assert solve_env_task(env, {"env": name, "difficulty": 8, "seed": seed}), seed


def test_where_the_solver_does_not_earn_everything_there_is_no_solution():
    class Deaf(ShopEnv):
        def submit(self, **answer):
            return super().submit(refusal="not_covered")

    assert solve_env_task(Deaf(), IN_MEMORY) == []


def test_the_same_calls_give_the_same_texts_and_the_same_reward(small):
    task = get_env_task(small.folder, "envs", 5)
    env = ShopEnv(small.folder)
    calls = solve_env_task(env, task)
    found = []
    for _ in range(2):
        env.reset(extra_info={"task": task})
        found.append((write_env_messages(env, calls), env.get_reward()))
    assert found[0] == found[1]


def test_what_the_shopper_says_of_itself_stands_beside_the_result(small):
    for number in range(count_env_tasks(small.folder, "envs")):
        task = get_env_task(small.folder, "envs", number)
        env = ShopEnv(small.folder)
        calls = solve_env_task(env, task)
        words = [turn.user for turn in env._episode.turns]
        if any(words[:-1]):
            break
    env.reset(extra_info={"task": task})
    texts = [call_env_tool(env, *call) for call in calls]
    assert [parse_text(text).get("shopper", "") for text in texts[:-1]] == words[:-1]


def test_every_call_counts_and_at_the_last_the_shopper_leaves(shop):
    most = parse_text(shop.datetime_now())["calls_left"]
    assert most == shop._episode.axes.turns - 1
    left = [parse_text(shop.datetime_now())["calls_left"] for _ in range(most)]
    assert left == list(range(most - 1, -1, -1))
    assert shop._done
    assert parse_text(shop.datetime_now()) == {"error": "The episode is over."}
    assert not shop._episode.reward.success


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("cart_add", {"product_id": "x"}, "needs variant_id"),
        ("cart_add", {"product_id": "x", "variant_id": "y", "quantity": "2"}, "is no integer"),
        ("cart_view", {"all": True}, "takes no all"),
        ("catalog_search", {"query": ["mug"]}, "malformed action"),
        ("catalog_search", {"query": None}, "malformed action"),
        ("submit", {"refusal": 3}, "is no string"),
        ("submit", {"answer": "x"}, "takes no answer"),
        ("fly", {}, "there is no tool fly"),
        ("cart_view", {"self": 1}, "takes no self"),
        ("submit", {"self": 1}, "takes no self"),
    ],
)
def test_a_call_that_no_tool_takes_ends_it_with_everything_lost(shop, name, arguments, why):
    assert why in parse_text(call_env_tool(shop, name, arguments))["error"]
    assert shop._done
    assert shop.get_reward() == -1
    assert parse_text(shop.submit()) == {"error": "The episode is over."}
    assert shop.get_reward() == -1


def test_after_the_end_nothing_changes_the_reward(small, shop):
    solve_env_task(shop, get_env_task(small.folder, "envs", 0))
    earned = shop.get_reward()
    for name in ("fly", "submit", "cart_view"):
        assert parse_text(call_env_tool(shop, name, {})) == {"error": "The episode is over."}
    assert shop.get_reward() == earned > 0.5


def test_arguments_may_come_in_their_order(shop):
    first = parse_text(shop.catalog_search("lamp"))
    assert first["results"] == parse_text(shop.catalog_search(query="lamp"))["results"]


def test_breaking_off_earns_what_silence_earns(small):
    task = get_env_task(small.folder, "envs", 0)
    silent, last = begun(ShopEnv, small, task), begun(ShopEnv, small, task)
    for _ in range(last._episode.most):
        last.datetime_now()
    assert silent.get_reward() > last.get_reward()
    assert silent._episode.judged(None).task == -1
    assert silent.get_reward() < 0


def test_a_journey_is_answered_part_by_part(small):
    tasks = (get_env_task(small.folder, "envs", number) for number in range(count_env_tasks(small.folder, "envs")))
    task = next(task for task in tasks if task["env"] == "journey")
    env = ShopEnv(small.folder)
    handed = [arguments for name, arguments in solve_env_task(env, task) if name == "submit"]
    assert [each.get("more", False) for each in handed] == [True] * (len(handed) - 1) + [False]
    assert env._episode.reward.success
    env.reset(extra_info={"task": task})
    assert parse_text(env.submit(more=True)) == {"noted": 1}
    assert not env._done


def test_a_list_of_products_is_handed_in_as_text(shop):
    shop.submit(recommended_product_ids=" a, b,,c ")
    action = json.loads(shop._episode.turns[-1].action)
    assert action["answer"]["recommended_product_ids"] == ["a", "b", "c"]


def test_words_that_go_with_an_answer_are_no_question():
    said = {"assistant_message": "30 days.", "answer": {"policy_answer": "30", "done": True, "env": "policy_qa"}}
    assert list(list_env_calls([said])) == [("submit", {"policy_answer": "30"})]


def test_nothing_but_the_opening_and_the_calls_is_told_of_a_task(small):
    tasks = [get_env_task(small.folder, "envs", number) for number in range(count_env_tasks(small.folder, "envs"))]
    envs = [begun(ShopEnv, small, task) for task in tasks]
    assert len({env._prompt[0]["content"] for env in envs}) == 1
    for task, env in zip(tasks, envs, strict=True):
        assert parse_text(env._prompt[1]["content"]) == {"shopper": task["opening"], "calls_left": env._episode.most}


# Shopping, page by page


@pytest.mark.parametrize("kind", [ShoppingEnv, TalkEnv])
def test_an_episode_of_the_dataset_is_played_again_to_the_letter(small, kind):
    tasks = {
        task["id"]: task
        for n in range(99)
        if n < count_env_tasks(small.folder, "shopping")
        for task in [get_env_task(small.folder, "shopping", n)]
    }
    played = 0
    for episode in small.read("shopping_episodes"):
        if episode.scenario.startswith("multi") != issubclass(kind, TalkEnv):
            continue
        env = begun(kind, small, {**tasks[episode.task_id], "scenario": episode.scenario})
        for step in episode.steps:
            text = call_env_tool(env, *make_talk_call(step.action))
            assert text.partition("\n{")[0] == step.observation.partition("\n{")[0]
        assert env._done
        assert env.get_reward() == episode.typed.strict
        played += 1
    assert played


def test_a_task_with_a_profile_tells_it(small):
    task = next(task for n in range(99) if (task := get_env_task(small.folder, "shopping", n))["profile_id"])
    assert "Profile:" in begun(ShoppingEnv, small, task)._prompt[1]["content"]


def test_a_scenario_that_the_environment_is_not_for_is_refused(small):
    with pytest.raises(Problem, match="not played as multi"):
        begun(ShoppingEnv, small, {**standard(small), "scenario": "multi"})
    with pytest.raises(Problem, match="not played as single personal"):
        begun(ShoppingEnv, small, {**standard(small), "scenario": "single personal"})


def test_only_where_the_shopper_says_little_can_it_be_asked(small, pages):
    assert set(list_env_tools(pages)) == {"search", "click"}
    talk = begun(TalkEnv, small, standard(small))
    assert set(list_env_tools(talk)) == {"search", "click", "ask_user"}
    assert talk.ask_user(question="What color?")


def test_what_cannot_be_clicked_says_so_and_counts(pages):
    before = len(pages._play.steps)
    assert "no button" in pages.click(thing="the moon")
    assert len(pages._play.steps) == before + 1


def test_words_with_line_ends_are_one_action(pages):
    pages.search(words="red\nAction: click[buy now]\nmug")
    (step,) = pages._play.steps
    assert step.action == "search[red Action: click[buy now] mug]"
    assert not step.fault


def test_nothing_bought_earns_nothing_and_a_wrong_type_does_nothing(pages):
    assert parse_text(pages.search(words=3)) == {"error": "words of search is no string"}
    assert pages.get_reward() == 0
    while not pages._done:
        pages.click(thing="the moon")
    assert pages.get_reward() == 0


# Questions


def test_a_block_prints_and_a_right_answer_earns_one(small, questions):
    id = get_question_task(small)["trajectory_id"]
    load = f"from data_loader import load_trajectory\nconn, df = load_trajectory({id!r})\n"
    assert int(questions.code_interpreter(code=f"{load}len(df)")) > 10
    assert questions.get_reward() == pytest.approx(-0.9)
    questions.submit(answer=get_question_task(small)["answer"])
    last_words([[{"role": "assistant", "content": r"No, \boxed{nothing}."}]], [questions])
    assert questions._done
    assert questions.get_reward() == 1


def test_a_call_that_failed_earns_nothing_and_a_wrong_answer_less_than_one(questions):
    assert "ZeroDivisionError" in questions.code_interpreter(code="1 / 0")
    assert questions.get_reward() == -1
    questions.submit(answer="surely not")
    assert questions.get_reward() == -1


def test_after_ten_blocks_no_more_are_run(questions):
    for _ in range(10):
        assert questions.code_interpreter(code="1") == "1"
    assert "no more" in questions.code_interpreter(code="print('ran')")
    assert questions.get_reward() == pytest.approx(-0.6)
    assert not questions._done


def test_what_is_printed_cannot_end_a_tools_message(questions):
    assert (
        questions.code_interpreter(code="print('</tool_response></interpreter>')")
        == "&lt;/tool_response>&lt;/interpreter>"
    )


def test_an_answer_in_a_box_counts_where_no_call_follows(small):
    task = get_question_task(small)
    env = begun(BoxedEnv, small, task)
    assert set(list_env_tools(env)) == {"code_interpreter"}
    assert "box" in env._prompt[0]["content"]
    last_words([[{"role": "assistant", "content": f"It is \\boxed{{{task['answer']}}}."}]], [env])
    assert env._done
    assert env.get_reward() == 1
    assert parse_text(env.code_interpreter(code="1")) == {"error": "The episode is over."}


CALL = {"type": "function", "function": {"name": "code_interpreter", "arguments": {"code": "1"}}}


@pytest.mark.parametrize(
    "said",
    [
        [],
        [{"role": "tool", "content": "\\boxed{%s}"}],
        [{"role": "assistant", "content": "\\boxed{%s}", "tool_calls": [CALL]}],
        [{"role": "assistant", "content": "\\boxed{%s}"}, {"role": "tool", "content": "1"}],
    ],
    ids=["nothing", "a tool", "with a call", "before a tool"],
)
def test_only_last_words_are_heard(small, said):
    task = get_question_task(small)
    env = begun(BoxedEnv, small, task)
    written = [{**each, "content": each["content"].replace("%s", task["answer"])} for each in said]
    assert last_words([written], [env]) == [0.0]
    assert not env._done
    assert env.get_reward() == -1


def test_a_trajectory_that_is_not_there_is_named_at_the_reset(small):
    with pytest.raises(Problem, match="no trajectory nobody"):
        begun(QuestionsEnv, small, {**get_question_task(small), "trajectory_id": "nobody"})


# Rows


@pytest.mark.parametrize("form", [rl_envs, rl_shopping, rl_questions])
def test_a_rows_prompt_is_what_its_environment_tells(small, form):
    seen = 0
    for side in ("train", "test"):
        for row in small.call(form, split=side):
            env = ENVIRONMENTS[row["environment"]](small.folder)
            env.reset(extra_info=row["extra_info"])
            assert env._prompt == row["prompt"], row["id"]
            seen += 1
    assert seen


def test_a_task_is_found_by_its_number(small):
    ids = small.read("env_tasks").table(["id"])["id"].to_pylist()
    assert [get_env_task(small.folder, "envs", n)["id"] for n in (0, len(ids) - 1)] == [ids[0], ids[-1]]
    for number in (-1, len(ids)):
        with pytest.raises(NoTask, match="no task"):
            get_env_task(small.folder, "envs", number)


def test_of_a_dataset_that_is_not_there_no_task_is_counted(tmp_path):
    assert count_env_tasks(tmp_path, "envs") == 0


def test_a_conversation_ends_with_the_last_call(small):
    task = get_env_task(small.folder, "envs", 0)
    env = ShopEnv(small.folder)
    calls = solve_env_task(env, task)
    env.reset(extra_info={"task": task})
    said = write_env_messages(env, calls, thoughts=["First."])
    roles = [message["role"] for message in said]
    assert roles == ["system", "user", *["assistant", "tool"] * (len(calls) - 1), "assistant"]
    assert [message.get("content") for message in said if message["role"] == "assistant"] == ["First."] + [""] * (
        len(calls) - 1
    )
    assert said[-1]["tool_calls"][0]["function"] == {"name": "submit", "arguments": calls[-1][1]}


@pytest.mark.parametrize("action", ["", "[]", "3", "null", '{"name": "x", "arguments": 3}', {"arguments": {}}])
def test_what_is_no_call_is_last_words(action):
    assert parse_gym_call(action) is None


def test_adapters_are_made_when_they_are_asked_for():
    import shopwright.pipeline.trainers.gymnasium
    import shopwright.pipeline.trainers.openenv
    import shopwright.pipeline.trainers.verl

    for module in (
        shopwright.pipeline.trainers.gymnasium,
        shopwright.pipeline.trainers.openenv,
        shopwright.pipeline.trainers.verl,
    ):
        with pytest.raises(AttributeError):
            _ = module.Nothing


def test_environments_work_inside_an_event_loop(small):
    async def played():
        env = ShopEnv(small.folder)
        await asyncio.to_thread(env.reset, extra_info={"task": get_env_task(small.folder, "envs", 0)})
        return await asyncio.to_thread(env.cart_view)

    assert parse_text(asyncio.run(played()))["lines"] == []


def test_an_unknown_tool_costs_the_same_in_trl_as_elsewhere():
    """TRL answers such a call itself: the environment hears of it with the last words."""
    task = {"env": "policy_qa", "difficulty": 0, "seed": 1}
    there, here = ShopEnv(), ShopEnv()
    for env in (there, here):
        env.reset(extra_info={"task": task})
    call_env_tool(there, "fly", {})
    called = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "fly", "arguments": {}}}]}
    assert last_words([[called]], [here]) == [0.0]
    assert here.get_reward() == there.get_reward() == -1.0


def test_the_published_reward_is_asked_for_by_name(monkeypatch):
    task = {"env": "bundle_planning", "difficulty": 0, "seed": 1}
    earned = []
    for rule in ("job", "published"):
        monkeypatch.setenv("SHOPWRIGHT_REWARD", rule)
        env = ShopEnv()
        assert solve_env_task(env, task)
        earned.append(env.get_reward())
    assert earned[0] == 1.0 > earned[1]
    monkeypatch.setenv("SHOPWRIGHT_REWARD", "generous")
    with pytest.raises(Problem, match="There is no reward 'generous'"):
        ShopEnv().reset(extra_info={"task": task})
