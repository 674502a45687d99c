"""What stands on the Hub: every dataset as it is, and forms that trainers read without our code."""

import json
import math
import re
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.gym import MemoryDataset
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.exporters import forms, rl, sft
from shopwright.pipeline.publish.exporters.rows import (
    RL,
    ROWS,
    SFT,
    TEXT,
    batch_rows,
    build_conversation_row,
    dump_exact_json,
    flatten_conversation,
    is_json_column,
    make_call_message,
    make_message,
    make_tool_message,
)
from shopwright.pipeline.rewards.verl import RULES, compute_score
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.tokens import estimate
from shopwright.pipeline.trainers.env import ENVIRONMENTS, list_tool_schemas, write_env_messages
from shopwright.schemas.behaviors import Behavior, BehaviorStep, NextAction
from shopwright.schemas.rollouts import Message, PassRate, RlPrompt
from shopwright.schemas.tasks import EnvEpisode, Task, Turn

HOME = Path(__file__).parents[2]
CODE_TAGS = (HOME / "pipeline" / "publish" / "code_tags.jinja").read_text()
FAILING = '{"tool_calls": [{"name": "catalog_get_product", "args": {"product_id": "none"}}]}'
IDS = re.compile(r"\b(?:B0[0-9A-Z]{8}(?:-\d+)?|order-\d{7}-\d{4}(?:-\d+)?)\b")
"""Products, variants, orders and their lines."""
KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "name", "content"},
}


@pytest.fixture(scope="module")
def configs(small):
    return {config.name: config for config in forms.configs(small)}


@pytest.fixture(scope="module")
def rows(configs):
    """`rows("sft_envs")`: the rows of all splits, JSON as objects; made once."""

    @cache
    def of(name, split=None):
        if split is None:
            return [row for each in configs[name].splits for row in of(name, each)]
        made = configs[name].splits[split]()
        return [opened(row, configs[name].schema) for batch in made for row in batch.to_pylist()]

    return of


def opened(row, schema):
    """As `datasets` gives it back."""

    def plain(value, kind):
        if value is None:
            return None
        if is_json_column(kind):
            return json.loads(value)
        return [plain(each, kind.value_type) for each in value] if pa.types.is_list(kind) else value

    return {each.name: plain(row[each.name], each.type) for each in schema}


def names_of(configs, start):
    return [name for name in configs if name.startswith(start)]


def trials(configs):
    return [name for name, config in configs.items() if config.schema is RL]


def chats(configs):
    return [name for name in names_of(configs, "sft_") if not name.endswith("_text")]


# Which there are.


def test_every_finished_dataset_is_there_as_it_is_and_in_its_forms(small, configs):
    plain = [name for name in all_stages() if small.read(name).manifest]
    assert list(configs)[: len(plain)] == plain
    made = {"rollouts", "envs", "shopping"} | ({"behaviors"} if "behavior_steps" in plain else set())
    expected = {f"sft_{name}{kind}" for name in made for kind in ("", "_text")}
    expected |= {f"rl_{name}" for name in (made - {"rollouts"}) | {"questions"}}
    assert set(configs) - set(plain) == expected, "a form of a new dataset is named in `made` above"
    assert all(config.about.endswith(".") and "\n" not in config.about for config in configs.values())


def test_a_run_with_less_has_fewer_forms(copy):
    kept = {"catalog", "variants", "personas", "queries", "trajectories", "orders", "questions", "env_tasks"}
    for path in (copy.folder / "manifests").glob("*.json"):
        if path.stem not in kept:
            path.unlink()
    assert {config.name for config in forms.configs(copy)} == kept | {"rl_envs"}


def test_a_dataset_as_it_is_holds_the_same_rows(small, configs):
    for name in all_stages():
        made = [batch for rows in configs[name].splits.values() for batch in rows()]
        assert all(0 < batch.num_rows <= ROWS for batch in made)
        here, there = pa.Table.from_batches(made).sort_by("id"), small.read(name).table().sort_by("id")
        assert here == there


def test_splits_keep_the_names_that_rows_give_them(configs, rows):
    assert list(configs["questions"].splits) == ["sft", "rl", "test"]
    assert list(configs["shopping_tasks"].splits) == ["train", "test"]
    assert list(configs["catalog"].splits) == ["train"]
    for split in configs["questions"].splits:
        assert {row["split"] for row in rows("questions", split)} == {split}


def test_no_group_is_in_two_splits(configs, rows):
    for name, config in configs.items():
        if config.group == "group":
            groups = [{row["group"] for row in rows(name, split)} for split in config.splits]
        elif config.group:
            made = [pa.Table.from_batches(batches(), config.schema) for batches in config.splits.values()]
            groups = [set(table[config.group].to_pylist()) for table in made]
        else:
            groups = [{"all"}]
        assert all(group for every in groups for group in every), name
        assert sum(map(len, groups)) == len(set().union(*groups)), name


def test_tasks_and_episodes_are_held_out_where_their_forms_are(configs, rows):
    for episodes, tasks, form in (
        ("env_episodes", "env_tasks", "sft_envs"),
        ("shopping_episodes", "shopping_tasks", "sft_shopping"),
    ):
        assert rows(form, "train")
        for split in configs[tasks].splits:
            held = {row["id"] for row in rows(tasks, split)}
            assert {row["source"] for row in rows(form, split)} <= held
            assert {row["task_id"] for row in rows(episodes, split)} == held
    assert rows("shopping_episodes", "test")


def test_tasks_of_held_out_customers_are_held_out(small):
    task = next(iter(small.read("env_tasks")))
    people = [f"persona-{number:07d}" for number in range(60)]
    tasks = [
        task.model_copy(update={"id": f"of {person}", "persona_id": person, "split": rl.side_of(person)})
        for person in people
    ]
    run = Rows(small, env_tasks=held("env_tasks", Task, tasks))
    config = forms.make_dataset_config(run.read("env_tasks"), run)
    found = {
        split: [id for batch in rows() for id in batch["persona_id"].to_pylist()]
        for split, rows in config.splits.items()
    }
    assert found == {side: [person for person in people if rl.side_of(person) == side] for side in forms.SIDES}
    assert min(map(len, found.values())) > 1
    assert config.group == "persona_id"


def test_customers_are_on_the_same_side_in_every_form_of_theirs(configs, rows):
    for name in ("sft_envs", "rl_envs", *(each for each in configs if each.endswith("_behaviors"))):
        for split in ("train", "test"):
            assert {rl.side_of(row["group"]) for row in rows(name, split)} <= {split}


def test_both_sides_of_questions_are_there_and_of_different_customers(small, rows):
    asked = {question.id: question for question in small.read("questions")}
    for split, wanted in (("train", {"sft", "rl"}), ("test", {"test"})):
        found = rows("rl_questions", split)
        assert found
        assert {asked[row["extra_info"]["task"]["question_id"]].split for row in found} <= wanted
    assert len({row["id"] for row in rows("rl_questions")}) == len(rows("rl_questions"))
    held_out = {id for id, question in asked.items() if question.split == "test"}
    assert {row["extra_info"]["task"]["question_id"] for row in rows("rl_questions", "test")} == held_out


# Conversations.


def test_messages_have_only_the_keys_they_use_and_calls_stand_alone(configs, rows):
    for name in chats(configs):
        for row in rows(name):
            tools = [tool["function"]["name"] for tool in row["tools"]]
            assert tools == sorted(tools)
            roles = [message["role"] for message in row["messages"][:2]]
            assert roles == ["system", "user"], f"a conversation of {name} begins otherwise"
            assert row["messages"][-1]["role"] == "assistant"
            for message in row["messages"]:
                assert message.keys() <= KEYS[message["role"]]
                assert isinstance(message["content"], str)
                for call in message.get("tool_calls", [{"function": {"name": tools[:1], "arguments": {}}}]):
                    assert isinstance(call["function"]["arguments"], dict)
                assert len(message.get("tool_calls", [0])) == 1
                assert not tools or "tool_calls" not in message or message["tool_calls"][0]["function"]["name"] in tools


def test_every_call_is_answered_by_its_tool_but_the_one_that_ends_it(configs, rows):
    for name in ("sft_rollouts", "sft_envs", "sft_shopping"):
        assert rows(name)
        for row in rows(name):
            for message, after in zip(row["messages"][2:], row["messages"][3:], strict=False):
                if message["role"] == "assistant":
                    assert (after["role"], after["name"]) == ("tool", message["tool_calls"][0]["function"]["name"])
                else:
                    assert after["role"] == "assistant"


def test_conversations_and_prompts_are_apart(configs):
    for name in names_of(configs, "sft_"):
        assert "prompt" not in configs[name].schema.names
    for name in trials(configs):
        assert "messages" not in configs[name].schema.names


def test_what_is_known_of_a_conversation_is_counted(rows):
    for row in rows("sft_envs"):
        spoken = [message for message in row["messages"] if message["role"] == "assistant"]
        assert row["turns"] == row["calls"] == len(spoken)
        assert row["tool_errors"] == 0
    for row in rows("sft_rollouts"):
        assert row["calls"] == row["turns"] - 1 > 0
        assert row["tokens"] > 500
    row = build_conversation_row("1", [make_message("user", "a 12 tablecloths, red")], [], group="", source="", kind="")
    known = {"policy": "", "difficulty": 0, "reward": 0.0}
    tool = {"type": "function", "function": {"name": "search"}}
    found = next(batch_rows([row | known, {**row, "tools": [tool]} | known], SFT))["tokens"].to_pylist()
    assert found == [9, 9 + estimate(dump_exact_json(tool))]


def test_rollouts_say_what_was_said_when_code_stands_in_tags(small, rows):
    """The chat template for `<code>` gives back the paper's text, and the loss sees the model's part of it alone."""
    known = {rollout.id: rollout for rollout in small.read("rollouts")}
    assert len(rows("sft_rollouts")) == len(known)
    for row in rows("sft_rollouts"):
        rollout = known[row["id"]]
        text, learnt = rendered(CODE_TAGS, row["messages"], row["tools"])
        assert turns_of(text)[2:] == [message.content for message in rollout.messages[2:]]
        own = [rollout.text[span.start : span.end] for span in rollout.spans if span.by == "model"]
        assert learnt == [f"{said}<|im_end|>" for said in own]


def test_the_template_keeps_a_beginning_as_it_is_and_asks_for_the_next_turn():
    messages = [
        make_message("system", "S"),
        make_message("user", "U"),
        make_call_message("I look.", "code_interpreter", {"code": "1"}),
    ]
    more = [*messages, make_tool_message("code_interpreter", "1"), make_message("assistant", r"\boxed{1}")]
    tools = list(list_tool_schemas(ENVIRONMENTS["questions_boxed"]))
    before, _ = rendered(CODE_TAGS, messages, tools)
    after, learnt = rendered(CODE_TAGS, more, tools)
    assert after.startswith(before)
    assert "<code>" in after.partition("<|im_end|>")[0], "the model is told of the tags"
    assert rendered(CODE_TAGS, messages[:2], tools, ask=True)[0] == before.partition("I look.")[0]
    assert learnt == ["I look.\n<code>\n1\n</code><|im_end|>", "\\boxed{1}<|im_end|>"]


def test_the_template_writes_other_tools_as_json_and_their_output_as_another_turn():
    messages = [
        make_message("user", "U"),
        make_call_message("", "search", {"words": "<é>"}),
        make_tool_message("search", "none"),
    ]
    tools = [{"type": "function", "function": {"name": "search", "parameters": {}}}]
    text, learnt = rendered(CODE_TAGS, messages, tools)
    assert learnt == ['<tool_call>\n{"name": "search", "arguments": {"words": "<é>"}}\n</tool_call><|im_end|>']
    assert text.endswith("<|im_start|>user\n<tool_response>\nnone\n</tool_response><|im_end|>\n")
    assert text.startswith("<|im_start|>system\n")
    assert '"name": "search", "parameters"' in text.partition("<|im_end|>")[0]
    assert rendered(CODE_TAGS, messages[:1], None)[0] == "<|im_start|>user\nU<|im_end|>\n"


class Generation(Extension):
    """`{% generation %}` as transformers reads it: what stands inside is learnt."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("kept"), [], [], body).set_lineno(line)

    def kept(self, caller):
        self.environment.learnt.append(text := caller())
        return text


def rendered(template, messages, tools=None, *, ask=False):
    """The text, and its parts that are learnt."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation])
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.learnt = []
    made = environment.from_string(template).render(messages=messages, tools=tools, add_generation_prompt=ask)
    return made, environment.learnt


def turns_of(text):
    return [turn.partition("\n")[2].removesuffix("<|im_end|>\n") for turn in text.split("<|im_start|>")[1:]]


def test_the_same_conversations_stand_there_as_text_alone(configs, rows):
    for name in chats(configs):
        for one, other in zip(rows(name), rows(f"{name}_text"), strict=True):
            assert (one["id"], one["group"], one["turns"]) == (other["id"], other["group"], other["turns"])
            assert [m["role"] for m in one["messages"]] == [m["role"] for m in other["messages"]]
            for message, text in zip(one["messages"], other["messages"], strict=True):
                assert text.keys() == {"role", "content"}
                assert text["content"].startswith(message["content"])
            told_of = [tool["function"]["name"] for tool in one["tools"]]
            assert all(f'"name": "{tool}"' in other["messages"][0]["content"] for tool in told_of)
            assert other["tokens"] > 0


QWEN = """\
{%- for message in messages %}
{%- if message.role == 'system' %}
{{- '<|im_start|>system\\n' + message.content }}
{%- if tools %}
{{- "\\n\\n# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou are provided with function signatures within <tools></tools> XML tags:\\n<tools>" }}
{%- for tool in tools %}{{ '\\n' + (tool | tojson) }}{% endfor %}
{{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call>' }}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + ('\\n' + message.content if message.content or not message.tool_calls else '') }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}"""
"""What Qwen2.5's template does, in short."""


def test_as_text_it_is_what_a_qwen_template_makes_of_the_calls(configs, rows):
    for name in chats(configs):
        for one, other in zip(rows(name)[:20], rows(f"{name}_text"), strict=False):
            assert rendered(QWEN, one["messages"], one["tools"]) == rendered(QWEN, other["messages"])


# Environments.


def test_prompts_are_those_of_the_environments(small, rows):
    for name in ("rl_envs", "rl_shopping"):
        assert rows(name)
        for row in rows(name)[::7]:
            env = ENVIRONMENTS[row["environment"]](small.folder)
            env.reset(**row)
            assert row["prompt"] == env._prompt
    task = rows("rl_questions")[0]["extra_info"]["task"]
    assert {"trajectory_id", "question", "answer", "answer_type"} <= task.keys()
    assert {row["environment"] for row in rows("rl_questions")} == {"questions_boxed"}


def test_reference_calls_earn_everything(small, rows):
    for name in ("rl_envs", "rl_shopping"):
        for row in rows(name)[::5]:
            env = ENVIRONMENTS[row["environment"]](small.folder)
            env.reset(**row)
            calls = [(call["name"], call["arguments"]) for call in row["extra_info"]["reference_calls"]]
            write_env_messages(env, calls)
            assert calls
            assert env._done
            assert env.get_reward() >= (0.7 if name == "rl_envs" else 1.0)


def test_conversations_are_to_the_letter_what_the_environments_say(small, rows):
    tried = {row["source"]: row for row in (*rows("rl_envs"), *rows("rl_shopping")) for row in [named(row)]}
    for row in (*rows("sft_envs")[::5], *rows("sft_shopping")[::9]):
        task = tried[row["source"]]["extra_info"]["task"]
        kind = "envs" if "env" in task else "shopping_talk" if row["kind"].startswith("multi") else "shopping"
        env = ENVIRONMENTS[kind](small.folder)
        env.reset(extra_info={"task": task | ({} if kind == "envs" else {"scenario": row["kind"]})})
        turns = [message for message in row["messages"] if message["role"] == "assistant"]
        calls = [(call["name"], call["arguments"]) for turn in turns for call in [turn["tool_calls"][0]["function"]]]
        assert write_env_messages(env, calls, [turn["content"] for turn in turns]) == row["messages"]
        assert env.get_reward() == row["reward"]
        assert row["tools"] == list(list_tool_schemas(ENVIRONMENTS[kind]))


def named(row):
    return {**row, "source": row["extra_info"]["task"]["id"]}


def test_what_was_solved_is_there_and_nothing_else(small, rows):
    for form, dataset in (("sft_envs", "env_episodes"), ("sft_shopping", "shopping_episodes")):
        won = {e.id for e in small.read(dataset) if (e.reward if form == "sft_envs" else e.typed).success}
        assert {row["id"] for row in rows(form)} == won


def test_a_models_episode_is_kept_where_it_is_still_a_success_call_by_call(small):
    task = next(iter(small.read("env_tasks")))
    won = next(episode for episode in small.read("env_episodes") if episode.task_id == task.id)
    wrong = [Turn(action='{"answer": {"refusal": "not_covered"}}', results="[]", user="", user_act="")]
    failing = [Turn(action=FAILING, results="[]", user="", user_act=""), *won.turns]
    lost = won.reward.model_copy(update={"success": False})
    found = [
        won.model_copy(update={"policy": "some-model", "id": id} | change)
        for id, change in {
            "broken off": {"turns": []},
            "wrong": {"turns": wrong},
            "a failure": {"reward": lost},
            "of a task that is gone": {"task_id": "gone"},
            "a success": {},
            "a mistake": {"turns": failing},
        }.items()
    ]
    run = Rows(small, env_episodes=held("env_episodes", EnvEpisode, found))
    rows = [row for side in forms.SIDES for row in run.call(sft.sft_envs, split=side)]
    assert [(row["id"], row["tool_errors"]) for row in rows] == [("a success", 0), ("a mistake", 1)]
    assert {row["policy"] for row in rows} == {"some-model"}


def test_calls_that_failed_are_counted(small):
    rollout = next(iter(small.read("rollouts")))
    assert sft.build_sft_rollout_row(rollout)["tool_errors"] == 0
    bad = rollout.calls[0].model_copy(update={"ok": False})
    assert (
        sft.build_sft_rollout_row(rollout.model_copy(update={"calls": [bad, *rollout.calls[1:]]}))["tool_errors"] == 1
    )


def held(name, makes, records):
    return MemoryDataset(name, makes, [to_batch(makes, records)])


class Rows(Run):
    """A run in which some datasets are others."""

    def __init__(self, run, **others):
        super().__init__(run.folder)
        self.others = others

    def read(self, name):
        return self.others[name] if name in self.others else super().read(name)


# Secrets.


def test_no_secret_of_an_env_stands_in_its_prompt(rows):
    for row in rows("rl_envs"):
        task = Task.model_validate(row["extra_info"]["task"])
        prompt = "\n".join(message["content"] for message in row["prompt"])
        secret = f"{task.goal} {task.acceptable} {task.solution} {task.nearest_miss}"
        said = {clue["value"] for clue in json.loads(task.goal).get("clues", []) if clue["fact"] == "number"}
        # The opening may name another order, which is not meant.
        said |= {slot["value"] for slot in json.loads(task.goal).get("contrast", []) if slot["name"] == "order number"}
        assert not (set(IDS.findall(secret)) - said) & set(IDS.findall(prompt))
        told = json.loads(row["prompt"][1]["content"])
        assert (told["shopper"], told.keys()) == (task.opening, {"shopper", "calls_left"})
    assert len({row["prompt"][0]["content"] for row in rows("rl_envs")}) == 1, "the system's part is the same for all"


def test_no_secret_of_a_shopping_task_stands_in_its_prompt(small, rows):
    titles = dict(small.read("catalog").sql("select id, title from rows"))
    for row in rows("rl_shopping"):
        task, prompt = row["extra_info"]["task"], "\n".join(message["content"] for message in row["prompt"])
        for secret in (task["product_id"], task["variant_id"], titles[task["product_id"]], task["nearest_miss"]):
            assert secret not in prompt
        asked = row["prompt"][1]["content"].partition("\n")[0]
        hidden = [
            need["said"]
            for need in task["needs"]
            if need["known"] == "profile"
            or (row["environment"] == "shopping_talk" and need["fact"] not in task["opening_facts"])
        ]
        assert not [said for said in hidden if said in json.loads(asked)["shopper"]]


def test_no_answer_and_no_query_stands_in_the_prompt_of_a_question(small, rows):
    known = {question.id: question for question in small.read("questions")}
    for row in rows("rl_questions"):
        question = known[row["extra_info"]["task"]["question_id"]]
        told_of = json.loads(row["prompt"][1]["content"])
        assert told_of == {
            "trajectory": question.trajectory_id,
            "question": question.question,
            "asked on": str(question.asked_on),
        }
        assert question.sql not in row["prompt"][0]["content"]
    assert len({row["prompt"][0]["content"] for row in rows("rl_questions")}) == 1, (
        "the system's part is the same for all"
    )


def test_secrets_stand_where_only_the_judge_looks(configs, rows):
    for name in trials(configs):
        for row in rows(name):
            assert row["reward_model"]["style"] == "rule"
            assert json.loads(row["reward_model"]["ground_truth"])
            assert row["extra_info"]["split"] in ("train", "test")
            assert all(message.keys() == {"role", "content"} for message in row["prompt"])
        for split in configs[name].splits:
            assert [row["extra_info"]["index"] for row in rows(name, split)] == list(range(len(rows(name, split))))


# Rewards.


def test_every_source_has_a_rule_and_the_truth_earns_the_most(configs, rows):
    for name in trials(configs):
        for row in rows(name)[::3]:
            source, truth = row["data_source"], row["reward_model"]["ground_truth"]
            assert source in RULES
            known, said_last = row["extra_info"], ""
            if source == "shoptrajqa":
                said_last, most = rf"\boxed{{{json.loads(truth)['answer']}}}", 1.0
            elif source == "shop_r1":
                said_last, most = json.dumps({"rationale": "So.", "action": json.loads(truth)}), 0.8
            else:
                known, most = known | {"reward": 1.0}, 1.0
            assert compute_score(source, said_last, truth, known)["score"] >= most


def test_pass_rates_are_those_of_models(small):
    prompts = list(small.read("rl_prompts"))[:2]
    tried = PassRate(policy="some-model", tries=4, right=1)
    both = [prompts[0], prompts[1].model_copy(update={"pass_rates": [*prompts[1].pass_rates, tried]})]
    run = Rows(small, rl_prompts=held("rl_prompts", RlPrompt, both))
    assert [row["pass_rate"] for row in run.call(rl.rl_questions, split="train")] == [None, 0.25]


# Behaviours.


def steps():
    at = datetime(2024, 5, 1, 10)
    common = {"at": at, "reason": "opens", "said": [], "row": None}
    return [
        BehaviorStep(
            html="<h1>Shop</h1>", action='{"type": "click", "name": "a.b"}', rationale='I want "é".', **common
        ),
        BehaviorStep(html="<h1>Cart</h1>", action='{"type": "terminate"}', rationale="Not here.", **common),
    ]


def behavior(id="b", split="train", **known):
    facts = {
        "persona_id": "persona-0000001", "trajectory_id": "t", "persona": "", "intent": "", "start": datetime(2024, 5, 1),
        "end": datetime(2024, 5, 2), "rows": [1], "outcome": "gave up", "steps": steps(), "tokens": 9, "written_by": "code",
    }  # fmt: skip
    return Behavior(id=id, split=split, **(facts | known))


def step(id="s", split="train", in_rl=True, action='{"type": "click", "name": "a.b"}'):
    return NextAction(
        id=id, behavior_id="b", persona_id="persona-0000001", step=0, action=action, rationale="I want it.",
        prompt=[Message(role="system", content="Predict."), Message(role="user", content="<h1>Shop</h1>")],
        action_type="click", session_tokens=9, page_tokens=9, in_rl=in_rl, split=split,
    )  # fmt: skip


def test_a_session_is_one_conversation_of_pages_and_answers(small):
    run = Rows(
        small,
        behaviors=held("behaviors", Behavior, [behavior(), behavior("other", "test")]),
    )
    [row] = run.call(sft.sft_behaviors, split="train")
    assert [(message["role"], message["content"]) for message in row["messages"][1:]] == [
        (
            "user",
            '<h1>Shop</h1>\n{"rationale": "I want \\"é\\".", "action": {"type": "click", "name": "a.b"}}\n<h1>Cart</h1>',
        ),
        ("assistant", '{"rationale": "Not here.", "action": {"type": "terminate"}}'),
    ]
    assert (row["tools"], row["group"], row["turns"], row["calls"]) == ([], "persona-0000001", 1, 0)
    [batch] = batch_rows([row], SFT)
    assert batch["tools"].to_pylist() == [[]]
    assert [row["id"] for row in run.call(sft.sft_behaviors, split="test")] == ["other"]


def test_a_session_begins_as_the_prompts_of_its_steps(small, rows):
    sessions = {row["id"]: row["messages"] for row in rows("sft_behaviors")}
    found = list(small.read("behavior_steps"))
    assert len(found) > 50
    for step in found:
        prompt = [message.model_dump() for message in step.prompt]
        told = sessions[step.behavior_id]
        assert told[: len(prompt)] == prompt
        assert json.loads(told[len(prompt)]["content"]) == {
            "rationale": step.rationale, "action": json.loads(step.action)
        }  # fmt: skip


def test_steps_to_be_predicted_are_those_meant_for_trying(small):
    found = [step(), step("no", in_rl=False), step("held out", "test", in_rl=False)]
    run = Rows(small, behavior_steps=held("behavior_steps", NextAction, found))
    [row] = run.call(rl.rl_behaviors, split="train")
    assert row["prompt"] == [make_message("system", "Predict."), make_message("user", "<h1>Shop</h1>")]
    assert (row["agent_name"], row["environment"]) == ("single_turn_agent", "")
    answer = '{"rationale": "I want it.", "action": {"type": "click", "name": "a.b"}}'
    assert (
        compute_score(row["data_source"], answer, row["reward_model"]["ground_truth"], row["extra_info"])["exact"] == 1
    )
    assert [row["id"] for row in run.call(rl.rl_behaviors, split="test")] == ["held out-rl"]


# Readers.


ODD = {
    "nothing": None, "emoji": "👟 茶 é\u2028", "large": 2**53 + 1, "whole": 25.0, "small": 0.1 + 0.2, "yes": True,
    "prices": [1.7, 0.3, 3.97, 4.35, 1299.99, -0.07, 1e-7, 0.0428613591338776],
    "nested": {"empty": {}, "list": [[], [None, {"a": [1, 2.5, "x"]}]], "quote": '"\\ {{ }} </code>'},
}  # fmt: skip


def hard_rows():
    chat = [
        make_message("system", ""),
        make_message("user", "👟"),
        make_call_message("", "search", ODD),
        make_tool_message("search", ""),
    ]
    known = {"group": "g", "source": "s", "kind": "", "policy": "p", "difficulty": None, "reward": None}
    sft = [
        build_conversation_row(
            "a", chat, [{"type": "function", "function": {"name": "search", "parameters": ODD}}], **known
        )
    ]
    sft += [build_conversation_row("b", chat[:2], [], **known)]
    rl = {
        "id": "a", "data_source": "", "agent_name": "", "environment": "", "prompt": chat[:2], "ability": "👟",
        "reward_model": {"style": "rule", "ground_truth": dump_exact_json(ODD)}, "extra_info": ODD, "difficulty": 2**53 + 1,
        "pass_rate": None, "group": "g",
    }  # fmt: skip
    return {SFT: sft, TEXT: [flatten_conversation(row) for row in sft], RL: [rl, {**rl, "extra_info": None}]}


@pytest.fixture(params=["sft", "text", "rl"])
def hard(request, tmp_path):
    """Rows that readers have broken: the file, the schema, and the rows as they should come back."""
    schema = {"sft": SFT, "text": TEXT, "rl": RL}[request.param]
    config = forms.Config("hard", "", schema, {"train": lambda: batch_rows(hard_rows()[schema], schema)})
    path = tmp_path / "hard.parquet"
    made = pa.Table.from_batches(config.splits["train"]())
    pq.write_table(made.cast(config.features.arrow_schema), path)
    return (
        path,
        schema,
        [{name: row.get(name) for name in schema.names if name != "tokens"} for row in hard_rows()[schema]],
    )


def same(found, expected):
    """Row by row, and to the letter: 25.0 is not 25."""
    for row, want in zip(found, expected, strict=True):
        assert repr({key: row[key] for key in want}) == repr(want)


def test_datasets_gives_hard_rows_back(hard, tmp_path):
    from datasets import load_dataset

    path, _, expected = hard
    found = load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    same(found, expected)
    streamed = load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    same(streamed, expected)


def test_pandas_gives_hard_rows_back(hard):
    import pandas

    path, schema, expected = hard
    frame = pandas.read_parquet(path)
    rows = [{name: bare(row[name]) for name in schema.names} for row in frame.to_dict("records")]
    same([opened(row, schema) for row in rows], expected)


def test_duckdb_gives_hard_rows_back(hard):
    import duckdb

    path, schema, expected = hard
    found = duckdb.sql(f"from read_parquet('{path}')")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    same([opened(row, schema) for row in rows], expected)


def test_polars_gives_hard_rows_back(hard):
    polars = pytest.importorskip("polars")
    path, schema, expected = hard
    same([opened(row, schema) for row in polars.read_parquet(path).to_dicts()], expected)


def bare(value):
    """Without what NumPy puts around it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: bare(each) for key, each in value.items()}
    if isinstance(value, list):
        return [bare(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def test_datasets_reads_every_config_as_it_is_meant(configs, tmp_path):
    """From its Parquet alone: JSON as objects, amounts as exact decimals, times as times."""
    from datasets import load_dataset

    kept = {
        "catalog",
        "orders",
        "trajectories",
        "profiles",
        "rollouts",
        *chats(configs),
        *trials(configs),
        "sft_envs_text",
    }
    for name, config in configs.items():
        if name not in kept:
            continue
        made = pa.Table.from_batches([b.slice(0, 3) for rows in config.splits.values() for b in rows()], config.schema)
        path = tmp_path / f"{name}.parquet"
        pq.write_table(made.cast(config.features.arrow_schema), path)
        found = load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
        assert found.features == config.features
        same(found, [opened(row, config.schema) for row in made.to_pylist()])
    found = load_dataset("parquet", data_files=str(tmp_path / "orders.parquet"), split="train")
    assert isinstance(found[0]["total"], Decimal)
    assert isinstance(found[0]["placed"], datetime)


def test_what_json_would_change_is_refused():
    for value in (math.nan, math.inf, {"n": 2**63}, [-(2**63) - 1], {1: "x"}, Decimal("1.0")):
        with pytest.raises(Problem, match="cannot stand in a JSON column"):
            dump_exact_json({"a": [value]})
    assert dump_exact_json({"a": [2**63 - 1, -(2**63)]}) == '{"a": [9223372036854775807, -9223372036854775808]}'


def test_rows_are_made_as_they_are_asked_for():
    made = []

    def endless():
        row = hard_rows()[RL][0]
        while True:
            made.append(1)
            yield {**row, "id": str(len(made))}

    found = batch_rows(endless(), RL)
    assert [next(found).num_rows, next(found).num_rows] == [ROWS, ROWS]
    assert len(made) == 2 * ROWS
    assert not list(batch_rows([], RL))


def test_a_row_without_a_column_is_an_error():
    with pytest.raises(KeyError):
        list(batch_rows([{"id": "a"}], RL))
