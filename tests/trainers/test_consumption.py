"""The trainers themselves on the forms of a small run, on the CPU: `make test-trainers` installs them beside the rest and runs this."""

import asyncio
import json
import os
import pickle
import re
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest

from shopwright.pipeline.playground.space import write_openenv_space
from shopwright.pipeline.publish.exporters.forms import configs
from shopwright.pipeline.publish.layout import lay
from shopwright.pipeline.trainers.env import ENVIRONMENTS, get_env_task, list_env_tools, list_tool_schemas
from shopwright.pipeline.trainers.trl import last_words
from tests.trainers import tiny

MISSING = [name for name in ("trl", "verl", "openenv", "gymnasium") if find_spec(name) is None]
if not MISSING:  # read when they are imported; other tests of this process have a hub
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TRL_EXPERIMENTAL_SILENCE": "1"}
HOME = Path(__file__).parents[2]
GUIDE = HOME / "docs" / "training.md"
CODE_TAGS = str(HOME / "pipeline" / "publish" / "code_tags.jinja")
SFT = ("sft_rollouts", "sft_envs", "sft_shopping", "sft_behaviors")
RL = ("rl_envs", "rl_shopping", "rl_questions")
ROWS = 12
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"no {', '.join(MISSING)} here: `make test-trainers` installs them"),
]


@pytest.fixture(scope="module")
def hub(small, tmp_path_factory):
    """The training forms as `shopwright publish` lays them in a folder."""
    forms = [each for each in configs(small) if each.name.startswith(("sft_", "rl_"))]
    folder = tmp_path_factory.mktemp("hub") / "forms"
    lay(forms, folder)
    return folder


def files(hub, name):
    found = sorted(map(str, (hub / "data" / name).glob("train-*.parquet")))
    return found or pytest.skip(f"the small run has no {name}")


def rows(hub, name, most=ROWS):
    from datasets import load_dataset

    found = load_dataset("parquet", data_files=files(hub, name), split="train")
    return found.select(range(0, len(found), -(-len(found) // most)))


# TRL


def spans(text):
    """Where an assistant wrote, the sign of the end among it: seen in the text, not in the template's own marks."""
    return [found.span(1) for found in re.finditer(r"<\|im_start\|>assistant\n(.*?<\|im_end\|>)", text, re.DOTALL)]


def arguments_of(kind, **given):
    return kind(
        output_dir=tempfile.mkdtemp(),
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        **given,
    )


@pytest.mark.parametrize(
    ("name", "template"), [*((name, "qwen3") for name in SFT), pytest.param("sft_rollouts", CODE_TAGS, id="code_tags")]
)
def test_sft_learns_what_the_assistant_wrote_and_nothing_else(hub, name, template):
    from trl import SFTConfig, SFTTrainer

    told = rows(hub, name)
    tokens = tiny.tokenizer(told, template)
    trainer = SFTTrainer(
        model=tiny.model(tokens),
        processing_class=tokens,
        train_dataset=told,
        args=arguments_of(
            SFTConfig, assistant_only_loss=True, max_length=65_536, max_steps=1, per_device_train_batch_size=1
        ),
    )
    assert len(trainer.train_dataset) == len(told)
    for row, ready in zip(told, trainer.train_dataset, strict=True):
        text = tokens.apply_chat_template(
            row["messages"], tools=row["tools"] or None, tokenize=False, chat_template=trainer.chat_template
        )
        places = tokens(text, add_special_tokens=False, return_offsets_mapping=True)
        assert places["input_ids"] == ready["input_ids"]
        wrote = spans(text)
        assert len(wrote) == sum(message["role"] == "assistant" for message in row["messages"])
        for (start, end), label in zip(places["offset_mapping"], ready["labels"], strict=True):
            if start not in {b for _, b in wrote}:  # the line's end behind the sign is learnt with some templates
                assert (label != -100) == any(a <= start and end <= b for a, b in wrote), text[start - 40 : end]
    trainer.train()
    assert trainer.state.global_step == 1


def replaying(base):
    """A policy that says what `extra_info` holds, or gives up in every other rollout; all behind it is TRL's own."""

    class Replaying(base):
        def _generate_and_score_completions(self, inputs):
            self.scripts, self.heads = [script(row["extra_info"]) for row in inputs], None
            return super()._generate_and_score_completions(inputs)

        def _generate_single_turn(self, prompt_ids, *given, **named):
            tokens = self._tokenizer
            first, start = self.heads is None, tokens.convert_tokens_to_ids("<|im_start|>")
            if first:
                self.heads = [list(each) for each in prompt_ids]
            said = []
            for place, ids in enumerate(map(list, prompt_ids)):
                row = (
                    place
                    if first
                    else next(n for n, head in enumerate(self.heads) if ids[: len(head)] == head and n % 2 == 0)
                )
                turn = ids[len(self.heads[row]) :].count(start) // 2  # a call adds what it said and a new header
                lines = ["I give up."] if first and place % 2 else self.scripts[row]
                text = lines[turn] if turn < len(lines) else "Done."
                said.append(tokens(f"{text}<|im_end|>", add_special_tokens=False)["input_ids"])
            return said, None

    return Replaying


def script(extra):
    """What the solver says turn by turn."""
    calls = [f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>" for call in extra["reference_calls"]]
    return [*calls, *extra.get("last_words", [])]


def asked_and_answered(small):
    """Rows of rl_questions' form whose answers are known turn by turn: the scripted rollouts'."""
    from datasets import Dataset

    questions = {each.id: each for each in small.read("questions")}
    found = []
    for rollout in small.read("rollouts"):
        asked = questions[rollout.question_id]
        told = ("trajectory_id", "question", "asked_on", "answer", "answer_type")
        task = {name: str(getattr(asked, name)) for name in told}
        env = ENVIRONMENTS["questions_boxed"](small.folder)
        env.reset(extra_info={"task": task})
        calls = [{"name": "code_interpreter", "arguments": {"code": call.code}} for call in rollout.calls]
        extra = {"task": task, "reference_calls": calls, "last_words": [rollout.messages[-1].content]}
        found.append({"prompt": env._prompt, "environment": "questions_boxed", "extra_info": extra})
    return Dataset.from_list(found[:ROWS], on_mixed_types="use_json")


@pytest.mark.parametrize("name", ["rl_envs", "rl_shopping", "rollouts"])
def test_in_grpo_the_solvers_calls_earn_everything_and_giving_up_earns_less(small, hub, name):
    from trl import GRPOConfig, GRPOTrainer

    told = asked_and_answered(small) if name == "rollouts" else rows(hub, name, 4)
    tokens = tiny.tokenizer([*told, *list_tool_schemas(ENVIRONMENTS["envs"])], "qwen3")
    names = sorted(set(told["environment"]))
    steps = min(3, len(told))
    trainer = replaying(GRPOTrainer)(
        model=tiny.model(tokens),
        processing_class=tokens,
        train_dataset=told,
        reward_funcs=[last_words],
        environment_factory={each: partial(ENVIRONMENTS[each], small.folder) for each in names},
        args=arguments_of(
            GRPOConfig,
            max_steps=steps,
            per_device_train_batch_size=2,
            num_generations=2,
            max_completion_length=30_000,
            max_tool_calling_iterations=64,
            beta=0.0,
            shuffle_dataset=False,
        ),
    )
    seen = []
    inner = trainer._calculate_rewards

    def watched(inputs, prompts, completions, ids):
        found = inner(inputs, prompts, completions, ids)
        seen.append((found.nansum(dim=1).tolist(), [earned(env) for env in trainer.environments]))
        return found

    trainer._calculate_rewards = watched
    trainer.train()
    assert trainer.state.global_step == steps
    assert len(seen) == steps
    for rewards, ((won, whole), (gave_up, _)) in seen:
        assert rewards == pytest.approx([won, gave_up])
        assert whole == 1
        assert gave_up < won


def earned(env):
    """The reward, and the part of it that a solver gets the whole of; environments are used again."""
    episode = getattr(env, "_episode", None)
    return env.get_reward(), episode.reward.task if episode and episode.reward else env.get_reward()


@pytest.mark.parametrize("name", RL)
def test_a_random_model_plays_in_grpo(small, hub, name):
    from trl import GRPOConfig, GRPOTrainer

    told = rows(hub, name, 2)
    tokens = tiny.tokenizer(told, "qwen3")
    trainer = GRPOTrainer(
        model=tiny.model(tokens),
        processing_class=tokens,
        train_dataset=told,
        reward_funcs=[last_words],
        environment_factory={each: partial(kind, small.folder) for each, kind in ENVIRONMENTS.items()},
        args=arguments_of(
            GRPOConfig, max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=32
        ),
    )
    trainer.train()
    assert trainer.state.global_step == 1


def test_the_reward_function_reads_the_columns_that_grpo_passes(hub):
    from trl import GRPOConfig, GRPOTrainer

    from shopwright.pipeline.rewards.trl import reward

    told = rows(hub, "rl_questions", 2)
    tokens = tiny.tokenizer(told, "qwen3")
    earned = []

    def watched(**given):
        earned.extend(reward(**given))
        return earned[-len(given["completions"]) :]

    trainer = GRPOTrainer(
        model=tiny.model(tokens),
        processing_class=tokens,
        train_dataset=told,
        reward_funcs=[watched],
        args=arguments_of(
            GRPOConfig, max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=16
        ),
    )
    trainer.train()
    assert earned
    assert set(earned) == {-1.0}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_tools_are_told_as_transformers_tells_them(name):
    from transformers.utils import get_json_schema

    env = ENVIRONMENTS[name]()
    assert list_tool_schemas(type(env)) == [get_json_schema(each) for each in list_env_tools(env).values()]


# verl


def configured(**given):
    from omegaconf import OmegaConf

    return OmegaConf.create(given)


@pytest.mark.parametrize("name", SFT)
@pytest.mark.parametrize("form", ["", "_text"])
def test_verl_reads_conversations_and_masks_all_but_the_assistant(hub, name, form):
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset

    from shopwright.pipeline.trainers.verl import JsonSFTDataset

    paths = files(hub, f"{name}{form}")
    told = rows(hub, f"{name}{form}")
    tokens = tiny.tokenizer(told, "qwen3_training")
    settings = configured(max_length=100_000, truncation="error", pad_mode="no_padding")
    found = (MultiTurnSFTDataset if form else JsonSFTDataset)(paths, tokens, settings)
    for place in range(0, len(found), -(-len(found) // ROWS)):
        row = found[place]
        text = tokens.decode(row["input_ids"])
        learnt = tokens.decode(row["input_ids"][row["loss_mask"].bool()])
        assert all(tool["function"]["description"] in text for tool in told[0].get("tools", ()))
        assert learnt.replace("<|im_end|>\n", "<|im_end|>") == "".join(text[a:b] for a, b in spans(text))


@pytest.mark.parametrize("name", [*RL, "rl_behaviors"])
def test_verl_reads_prompts_with_all_that_an_environment_needs(hub, name):
    from torch.utils.data import DataLoader
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn

    tokens = tiny.tokenizer(rows(hub, name), "qwen3")
    settings = configured(cache_dir=tempfile.mkdtemp(), max_prompt_length=100_000, filter_overlong_prompts=False)
    found = RLHFDataset(files(hub, name), tokens, settings)
    batch = next(iter(DataLoader(found, batch_size=2, collate_fn=collate_fn)))
    assert {"raw_prompt", "data_source", "reward_model", "extra_info", "environment"} <= set(batch)
    assert isinstance(found[0]["extra_info"]["task"], dict)


@pytest.mark.parametrize("name", ["rl_envs", "rl_shopping", "rollouts"])
def test_verls_loop_plays_a_row_in_its_environment(small, hub, name):
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.workers.rollout.replica import TokenOutput

    from shopwright.pipeline.trainers.verl import AgentLoop

    if name == "rollouts":
        found = [{**row, "raw_prompt": row["prompt"]} for row in asked_and_answered(small)]
        tokens = tiny.tokenizer(found, "qwen3")
    else:
        tokens = tiny.tokenizer(rows(hub, name), "qwen3")
        settings = configured(cache_dir=tempfile.mkdtemp(), max_prompt_length=100_000, filter_overlong_prompts=False)
        found = RLHFDataset(files(hub, name), tokens, settings)
    turns = {
        "max_user_turns": None,
        "max_assistant_turns": None,
        "max_parallel_calls": 1,
        "format": "hermes",
        "max_tool_response_length": 20_000,
        "tool_response_truncate_side": "middle",
    }
    rollout = {"prompt_length": 30_000, "response_length": 60_000, "full_determinism": False, "multi_turn": turns}
    config = configured(actor_rollout_ref={"rollout": rollout}, data={})

    class Server:
        def __init__(self, lines):
            self.lines = list(lines)

        async def generate(self, **given):
            text = self.lines.pop(0) if self.lines else "Done."
            ids = tokens(f"{text}<|im_end|>", add_special_tokens=False)["input_ids"]
            return TokenOutput(token_ids=ids, log_probs=None, num_preempted=0)

    async def played(row, lines):
        loop = AgentLoop(
            folder=str(small.folder),
            trainer_config=DictConfigWrap(config),
            server_manager=Server(lines),
            tokenizer=tokens,
            processor=None,
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen3",
        )
        output = await loop.run({}, **{key: row[key] for key in row if key != "dummy_tensor"})
        learnt = tokens.decode([t for t, on in zip(output.response_ids, output.response_mask, strict=True) if on])
        return output.reward_score, loop.env, learnt

    for row in (found[0], found[len(found) - 1]):
        won, env, learnt = asyncio.run(played(row, script(row["extra_info"])))
        gave_up, _, _ = asyncio.run(played(row, ["I give up."]))
        assert env._done
        assert "<tool_response>" not in learnt
        assert learnt.count("<tool_call>") == len(row["extra_info"]["reference_calls"])
        assert "Done." not in learnt  # the loop ends with the episode
        assert gave_up < won == env.get_reward()
        assert won == 1 or name == "rl_envs"


# OpenEnv and Gymnasium


@pytest.fixture(scope="module")
def served(small):
    """The address of `shopwright serve` over the small run, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = "import sys; from shopwright.pipeline.trainers.serve import serve_environments; "
    command += "serve_environments(run=sys.argv[1], host='127.0.0.1', port=int(sys.argv[2]), sessions=8)"
    words = [sys.executable, "-c", command, str(small.folder), str(port)]
    server = subprocess.Popen(words, cwd=HOME, stdout=subprocess.PIPE, text=True)
    try:
        told = server.stdout.readline()
        assert told.startswith("Serving ")
        assert ", envs (" in told
        waited(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def waited(port):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as knocks:
            if not knocks.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)
    raise TimeoutError("the server did not start")


def test_clients_of_a_server_play_at_once_and_none_sees_anothers_episode(served, hub):
    from openenv import GenericEnvClient

    told = [*rows(hub, "rl_envs", 4), *rows(hub, "rl_shopping", 4)]

    async def played(row):
        async with GenericEnvClient(base_url=served) as client:
            begun = await client.reset(environment=row["environment"], extra_info=row["extra_info"])
            assert begun.metadata["prompt"] == row["prompt"]
            assert begun.metadata["tools"] == list_tool_schemas(ENVIRONMENTS[row["environment"]])
            earned = []
            for call in row["extra_info"]["reference_calls"]:
                seen = await client.step({"tool_name": call["name"], "arguments": call["arguments"]})
                earned.append(seen.reward)
            return earned, seen.done

    async def together():
        return await asyncio.gather(*map(played, told))

    for row, (earned, done) in zip(told, asyncio.run(together()), strict=True):
        assert done
        assert not any(earned[:-1])
        assert earned[-1] > (0.5 if row["environment"] == "envs" else 0.99)


def test_a_client_plays_a_task_by_its_number(served):
    from openenv import GenericEnvClient

    async def played():
        async with GenericEnvClient(base_url=served) as client:
            await client.reset(split="envs", index=1)
            first = await client.step({"tool_name": "cart_view", "arguments": {}})
            last = await client.step({"tool_name": "submit", "arguments": {"refusal": "not_covered"}})
            return first, last, await client.step({"tool_name": "cart_view", "arguments": {}})

    first, last, after = asyncio.run(played())
    assert (first.reward, first.done, last.done) == (0.0, False, True)
    assert last.reward < 0
    assert (after.reward, json.loads(after.observation["result"])) == (0.0, {"error": "The episode is over."})


def test_a_server_tells_its_tasks_by_their_ids_alone(served, small):
    def asked(path, **given):
        request = Request(f"{served}/{path}", json.dumps(given).encode(), {"Content-Type": "application/json"})
        return json.load(urlopen(request))

    ids = small.read("env_tasks").table(["id"])["id"].to_pylist()
    assert asked("shopwright/num_tasks", split="envs")["num_tasks"] == len(ids)
    assert asked("shopwright/task", split="envs", index=2)["task"] == {"id": ids[2], "index": 2}


def test_a_space_is_valid_for_openenv(small, tmp_path):
    folder = write_openenv_space(tmp_path / "space", str(small.folder))
    words = [sys.executable, "-m", "openenv.cli", "validate", str(folder), "--level", "static"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tempfile.mkdtemp())
    assert done.returncode == 0, done.stdout + done.stderr


def test_gymnasium_plays_an_episode(small, hub):
    from shopwright.pipeline.trainers.gymnasium import GymEnv

    env = GymEnv("envs", small.folder)
    row = rows(hub, "rl_envs", 1)[0]
    seen, info = env.reset(options={"task": row["extra_info"]["task"]})
    assert seen == row["prompt"][-1]["content"]
    assert info["prompt"] == row["prompt"]
    earned = [env.step(json.dumps(call))[1:3] for call in row["extra_info"]["reference_calls"]]
    assert [over for _, over in earned] == [False] * (len(earned) - 1) + [True]
    assert not any(reward for reward, _ in earned[:-1])
    assert earned[-1][0] > 0.5
    assert env.reset(seed=3) == env.reset(seed=3)
    assert env.step("I give up.")[1:4] == (pytest.approx(env.env.get_reward()), True, False)


def test_gymnasium_cuts_off_what_does_not_end(small):
    from shopwright.pipeline.trainers.gymnasium import GymEnv

    env = GymEnv("shopping", small.folder, longest=2)
    env.reset(options={"index": 0})
    look = json.dumps({"name": "search", "arguments": {"words": "mug"}})
    assert [env.step(look)[1:4] for _ in range(2)] == [(0.0, False, False), (0.0, False, True)]


def test_in_gymnasium_last_words_are_heard(small):
    from shopwright.pipeline.trainers.gymnasium import GymEnv

    env = GymEnv("questions_boxed", small.folder)
    env.reset(options={"index": 0})
    answer = get_env_task(small.folder, "questions_boxed", 0)["answer"]
    assert env.step(f"It is \\boxed{{{answer}}}.")[1:4] == (1.0, True, False)


# What the documentation says


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def settings_of(paper, column):
    """The cell of a paper's line in the table of settings."""
    line = next(line for line in GUIDE.read_text().splitlines() if line.startswith(f"| {paper}"))
    return line.split(" | ")[column].strip(" |`")


def overrides(command):
    return [word for word in command.replace("\\\n", " ").split() if re.match(r"[+\w.]+=", word)]


PAPERS = ["Shop-R1, Qwen2.5-3B, SFT", "Shop-R1, RL", "ShopSimulator", "EcomRLVE"]


@pytest.mark.parametrize("paper", ["", *PAPERS])
def test_verl_knows_every_setting(paper):
    import verl.trainer
    from hydra import compose, initialize_config_dir

    fine = {"SFT": "sft_trainer_engine", "RL": "ppo_trainer"}
    sft, rl = (next(block for block in blocks("sh") if name in block) for name in ("sft_trainer", "main_ppo"))
    own = settings_of(paper, 2).split() if paper else []
    folder = str(Path(verl.trainer.__file__).parent / "config")
    wanted = [("SFT", sft)] if "SFT" in paper else [("RL", rl)] if paper else [("SFT", sft), ("RL", rl)]
    with initialize_config_dir(folder, version_base=None):
        for kind, command in wanted:
            words = [word for word in overrides(command) if not word.startswith("SHOPWRIGHT")]
            assert len(words) > 5
            found = compose(fine[kind], overrides=[*words, *own])
            assert found.data.train_files


@pytest.mark.parametrize("paper", PAPERS)
def test_trl_knows_every_setting(paper):
    from trl import GRPOConfig, SFTConfig

    kind = SFTConfig if "SFT" in paper else GRPOConfig
    arguments_of(kind, **eval(f"dict({settings_of(paper, 3)})"))


def test_the_guides_configs_for_trl_are_made(monkeypatch):
    import trl

    made = []
    for name in ("SFTTrainer", "GRPOTrainer"):
        monkeypatch.setattr(trl, name, lambda **given: made.append(given) or SimpleNamespace(train=list))
    for name in ("SFTConfig", "GRPOConfig"):
        monkeypatch.setattr(trl, name, partial(arguments_of, getattr(trl, name)))
    monkeypatch.setattr("datasets.load_dataset", lambda *given, **named: given)
    for block in blocks("python"):
        if "Trainer(" in block:
            exec(block, {})  # noqa: S102 - our own
    assert [set(each) >= {"model", "train_dataset", "args"} for each in made] == [True, True]
    assert made[1]["environment_factory"] is ENVIRONMENTS


def test_verl_finds_what_the_guide_names():
    import hydra
    import yaml
    from verl.utils.import_utils import load_extern_object

    from shopwright.pipeline.trainers import verl as ours

    (loop,) = yaml.safe_load(Path(ours.__file__).with_name("agent_loops.yaml").read_text())
    assert loop["name"] == "shopwright"
    assert hydra.utils.get_class(loop["_target_"]) is ours.AgentLoop
    assert pickle.loads(pickle.dumps(ours.AgentLoop)) is ours.AgentLoop
    assert load_extern_object("pkg://shopwright.pipeline.trainers.verl", "JsonSFTDataset") is ours.JsonSFTDataset
