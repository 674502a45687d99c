"""A policy that succeeds up to a level and fails beyond: where the curriculum settles, whoever asks, and what a kill or bad input does to it."""

import asyncio
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from shopwright.pipeline.envs.curriculum import AdaptiveDifficulty, Curriculum
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.trainers import curriculum_state
from shopwright.pipeline.trainers.curriculum_page import render_curriculum_page
from shopwright.pipeline.trainers.curriculum_state import (
    Training,
    begin_training,
    list_trainings,
    summarize_group,
    summarize_training,
)
from shopwright.pipeline.trainers.env import ENVIRONMENTS, RUN, ShopEnv, call_env_tool, get_run_world, solve_env_task
from shopwright.pipeline.trainers.trl import drop_uniform_groups, last_words

HOME = Path(__file__).parents[2]
QUICK = AdaptiveDifficulty(window=2, count=4)
LEVEL_BY_LEVEL = AdaptiveDifficulty(window=1, count=2)
EASY = "policy_qa"
GIVE_UP_TEN_TIMES = """
import sys
from shopwright.pipeline.trainers.env import ShopEnv
env = ShopEnv(sys.argv[1])
for _ in range(10):
    env.reset(extra_info={"task": {"training": sys.argv[2]}})
    env.submit()
    env.get_reward()
"""


def needs(*names):
    missing = [name for name in names if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)} here: `make test-trainers` installs them")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The folder of a run that has a shop and no task."""
    folder = tmp_path_factory.mktemp("curriculum") / "run"
    Run(folder, seed=3, workers=1).build("orders", products=1_200, count=20, tokens="6k")
    return str(folder)


@pytest.fixture
def name(request):
    """A training run of this test's own."""
    return f"training-{hashlib.sha256(request.node.name.encode()).hexdigest()[:8]}"


def choose_calls(task, shop, able=5):
    """What the policy does: up to level `able` all that is right, beyond it gives up."""
    if task["difficulty"] <= able:
        return solve_env_task(ShopEnv(shop), task)
    return [("submit", {"refusal": "not_found"})]


def play(env, shop, able=5):
    for call in choose_calls(env._rollout.task, shop, able):
        call_env_tool(env, *call)


def play_rollouts(shop, name, count, able=5, **row):
    env = ShopEnv(shop)
    for _ in range(count):
        env.reset(extra_info={"task": {"training": name, **row}})
        play(env, shop, able)
        env.get_reward()
    return env


def levels(training):
    return {name: each.hardest for name, each in training.read().curriculum.envs.items()}


def steps(training, name=EASY):
    return [change.level for change in training.read().curriculum.changes if change.env == name]


# One after the other


def test_it_settles_at_the_first_level_that_is_not_mastered(shop, name):
    training = begin_training(shop, name, EASY, group=2, controller=QUICK)
    play_rollouts(shop, name, 100)
    assert levels(training) == {EASY: 6}
    assert steps(training) == [0, 1, 2, 3, 4, 5, 6]
    assert training.read().curriculum.rollouts == 100


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("collection", ["C1", "C2", "C4", "C8"])
def test_each_env_of_a_collection_settles_where_its_own_success_ends(collection, seed):
    """By the published window and count; a policy right 97 times of 100 up to a level of each env's own, and half the time beyond."""
    dice, found = Random(seed), Curriculum.of(collection)
    able = {env: place % 4 for place, env in enumerate(found.envs)}
    for number in range(1_500 * len(able)):
        env, level = found.draw(Random(f"{seed}/{number}"))
        found.record(env, level, dice.random() < (0.97 if level <= able[env] else 0.5))
    assert {env: each.hardest for env, each in found.envs.items()} == {env: level + 1 for env, level in able.items()}


def test_two_training_runs_do_not_mix(shop, name):
    good, bad = (begin_training(shop, f"{each}-{name}", EASY, group=1, controller=QUICK) for each in ("good", "bad"))
    mine, others = ShopEnv(shop), ShopEnv(shop)
    for _ in range(20):
        for env, training, able in ((mine, good, 9), (others, bad, -1)):
            env.reset(extra_info={"task": {"training": training.name}})
            play(env, shop, able)
            env.get_reward()
    assert levels(bad) == {EASY: 0}
    assert levels(good)[EASY] > 1
    assert good.read().curriculum.rollouts == bad.read().curriculum.rollouts == 20


def test_the_rollouts_of_a_group_play_one_task_and_the_next_group_another(shop, name):
    begin_training(shop, name, "C2", group=3, controller=QUICK)
    envs = [ShopEnv(shop) for _ in range(6)]
    said = [env.reset(extra_info={"task": {"training": name}}) for env in envs]
    assert [env._rollout.number for env in envs] == [0, 0, 0, 1, 1, 1]
    assert len(set(said[:3])) == len(set(said[3:])) == 1
    assert said[0] != said[3]
    assert said[0] == envs[0]._prompt[-1]["content"]


def test_a_number_gives_one_task_until_its_group_has_ended(shop, name):
    training = begin_training(shop, name, EASY, group=2, controller=QUICK)
    first = play_rollouts(shop, name, 1, number=7)._rollout
    second = play_rollouts(shop, name, 1, number=7)._rollout
    third = play_rollouts(shop, name, 1, number=7)._rollout
    assert first == second
    assert third.number == 7
    assert third.task != first.task
    assert training.read().groups[7].successes == [True]


def test_a_result_counts_once_however_often_the_reward_is_asked_for(shop, name):
    training = begin_training(shop, name, EASY, group=1, controller=QUICK)
    env = play_rollouts(shop, name, 1)
    assert env.get_reward() == env.get_reward() > 0.5
    assert training.read().curriculum.rollouts == 1


def test_a_task_that_is_no_curriculums_changes_no_level(shop, name):
    training = begin_training(shop, name, EASY, group=1, controller=QUICK)
    env = play_rollouts(shop, name, 1)
    assert env.reset(extra_info={"task": {"env": EASY, "difficulty": 0, "seed": 7}}) is None
    env.submit(refusal="not_found")
    env.get_reward()
    assert training.read().curriculum.rollouts == 1


def test_no_task_of_the_test_is_handed_out(shop, name):
    begin_training(shop, name, "C8", group=1, controller=QUICK)
    world, env = get_run_world(shop), ShopEnv(shop)
    sides = {
        draw_task(env_module(each), world, 0, seed).split for each in ("cart_building", EASY) for seed in range(60)
    }
    assert sides == {"train", "test"}  # so they could be
    for _ in range(60):
        env.reset(extra_info={"task": {"training": name}})
        assert env._episode.task.split == "train"


def env_module(name):
    from shopwright.pipeline.envs import get_env

    return get_env(name)


def test_the_same_results_give_the_same_tasks(shop, name):
    def tasks(times):
        env, found = ShopEnv(shop), []
        for _ in range(times):
            env.reset(extra_info={"task": {"training": name}})
            found.append(env._rollout.task)
            play(env, shop)
            env.get_reward()
        return found

    training = begin_training(shop, name, "C2", group=2, controller=QUICK)
    first = tasks(12)
    training.path.unlink()
    begin_training(shop, name, "C2", group=2, controller=QUICK)
    assert tasks(12) == first
    assert len({json.dumps(task) for task in first}) == 6


def test_threads_and_processes_lose_no_result(shop, name):
    training = begin_training(shop, name, EASY, group=4, controller=AdaptiveDifficulty(count=1_000))
    other = subprocess.Popen([sys.executable, "-c", GIVE_UP_TEN_TIMES, shop, name], cwd=HOME)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: play_rollouts(shop, name, 5), range(4)))
    assert other.wait(120) == 0
    state = training.read()
    assert state.curriculum.rollouts == state.begun == 30
    assert sum(len(group.successes) for group in state.groups.values()) == 30


def test_a_level_that_the_shop_has_no_task_of_is_not_played(shop, name, monkeypatch):
    def no_seed(world, env, level, start):
        return (start, "") if level < 2 else (None, "too few products")

    training = begin_training(shop, name, EASY, group=1, controller=LEVEL_BY_LEVEL)
    monkeypatch.setattr(curriculum_state, "find_training_seed", no_seed)
    for _ in range(20):
        training.take(get_run_world(shop)).record(True)
    assert levels(training) == {EASY: 1}
    last = training.read().curriculum.changes[-1]
    assert (last.level, last.reason) == (1, "too few products")
    assert steps(training) == [0, 1, 2, 1]


def test_where_the_shop_has_no_easy_task_either_one_line_says_so(shop, name, monkeypatch):
    monkeypatch.setattr(
        curriculum_state, "find_training_seed", lambda *given: (None, "no such task in this shop: no orders")
    )
    begin_training(shop, name, EASY)
    with pytest.raises(Problem, match=f"needs {EASY}, and there is no such task in this shop: no orders"):
        ShopEnv(shop).reset(extra_info={"task": {"training": name}})


def test_old_groups_are_forgotten(shop, name, monkeypatch):
    monkeypatch.setattr(curriculum_state, "GROUPS", 3)
    training = begin_training(shop, name, EASY, group=1, controller=QUICK)
    play_rollouts(shop, name, 5)
    assert list(training.read().groups) == [2, 3, 4]
    with pytest.raises(Problem, match="remembers no group 1"):
        summarize_group(training, 1)


# Which groups teach anything


def play_group(shop, name, number, able):
    """A group of as many rollouts as there are policies."""
    envs = [ShopEnv(shop) for _ in able]
    for env, each in zip(envs, able, strict=True):
        env.reset(extra_info={"task": {"training": name, "number": number}})
        play(env, shop, each)
    return envs


def test_groups_that_all_succeed_or_all_fail_have_no_gradient(shop, name):
    training = begin_training(shop, name, EASY, group=2, controller=AdaptiveDifficulty(count=100))
    envs = [
        env for number, able in enumerate([(9, 9), (-1, -1), (9, -1)]) for env in play_group(shop, name, number, able)
    ]
    own = [env.get_reward() for env in envs]
    added = drop_uniform_groups([None] * 6, envs)
    assert [one + more for one, more in zip(own, added, strict=True)] == [0, 0, 0, 0, *own[4:]]
    assert own[4] > 0 > own[5]
    assert [summarize_group(training, number)["informative"] for number in range(3)] == [False, False, True]
    assert summarize_training(training)["groups"] == {"whole": 3, "informative": 1, "open": 0}


def test_a_group_is_not_judged_before_all_its_rollouts_have_ended(shop, name):
    training = begin_training(shop, name, EASY, group=2, controller=QUICK)
    play_rollouts(shop, name, 1)
    assert summarize_group(training, 0) == {
        "number": 0,
        "env": EASY,
        "level": 0,
        "successes": [True],
        "informative": None,
    }


# What is asked wrongly, or broken


@pytest.mark.parametrize("wrong", ["", "../other", "a/b", ".hidden", "x" * 65, "a b", "é", 3, None])
def test_a_name_that_is_no_files_is_refused(shop, wrong):
    before = sorted(os.listdir(shop))
    with pytest.raises(Problem, match="no name of a training run"):
        ShopEnv(shop).reset(extra_info={"task": {"training": wrong}})
    assert sorted(os.listdir(shop)) == before


def test_a_training_run_that_was_not_begun_is_named_and_leaves_nothing(shop, name):
    begin_training(shop, name, EASY)
    with pytest.raises(Problem, match=f"has no training run {name}x. Did you mean {name}?"):
        ShopEnv(shop).reset(extra_info={"task": {"training": f"{name}x"}})
    assert not list(Training(shop, name).path.parent.glob(f"{name}x*"))


def test_an_unknown_collection_is_one_line(shop, name):
    with pytest.raises(Problem, match="There is no env C3"):
        begin_training(shop, name, "C3")
    assert name not in list_trainings(shop)


def test_a_training_run_goes_on_as_it_was_begun_or_not_at_all(shop, name):
    begin_training(shop, name, "C2", group=4)
    assert begin_training(shop, name, "C2", group=4).read().collection == "C2"
    with pytest.raises(Problem, match="begun with collection C2, not C4, group 4, not 8"):
        begin_training(shop, name, "C4")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"collection": "C1"}', "\x00\xff", '{"collection": 3}'])
def test_a_file_that_holds_something_else_is_one_line(shop, name, text):
    training = begin_training(shop, name, EASY)
    training.path.write_text(text)
    for attempt in (training.read, partial(begin_training, shop, name, EASY), partial(play_rollouts, shop, name, 1)):
        with pytest.raises(Problem, match="is not the state of a training run") as told:
            attempt()
        assert str(told.value).count("\n") == 0
    assert training.path.read_text() == text


def test_without_a_run_there_is_nowhere_to_keep_it(name, monkeypatch):
    monkeypatch.delenv(RUN, raising=False)
    with pytest.raises(Problem, match="needs a run's folder"):
        begin_training("", name, EASY)


def test_the_page_shows_each_env_and_its_level(shop, name):
    training = begin_training(shop, name, "C2", group=1, controller=LEVEL_BY_LEVEL)
    play_rollouts(shop, name, 12)
    page = render_curriculum_page(summarize_training(training))
    for each, level in levels(training).items():
        assert f"<strong>{each.replace('_', ' ')}</strong> at level {level}" in page
    assert page.count("<path") == 2


# As TRL asks


def play_batches(shop, rows, group, able=5, batches=10**6):
    """What GRPOTrainer does with environments: a batch of resets, their calls, the reward functions and last the environments' own."""
    pool = [ShopEnv(shop) for _ in range(2 * group)]
    for start in range(0, min(len(rows), 2 * batches), 2):
        batch = [row for row in rows[start : start + 2] for _ in range(group)]
        for env, row in zip(pool, batch, strict=True):
            said = env.reset(**{name: value for name, value in row.items() if name != "environment"})
            assert [
                *row["prompt"][:-1],
                {**row["prompt"][-1], "content": row["prompt"][-1]["content"] + said},
            ] == env._prompt
            play(env, shop, able)
        last_words([[] for _ in pool], pool)
        drop_uniform_groups([[] for _ in pool], pool)
        assert [env.get_reward() for env in pool]


def test_in_trls_way_it_settles_and_goes_on_after_a_stop(shop, name):
    training = begin_training(shop, name, EASY, group=4, controller=QUICK)
    play_batches(shop, training.rows(8), 4)
    begun = levels(training)[EASY]
    assert 0 < begun < 6
    again = begin_training(shop, name, EASY, group=4, controller=QUICK)
    play_batches(shop, again.rows(24, first=8), 4)
    assert levels(again) == {EASY: 6}
    assert steps(again) == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.slow
@needs("trl", "datasets")
def test_grpo_trains_at_the_levels_that_its_results_call_for(shop, name, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from shopwright.pipeline.trainers.env import list_tool_schemas
    from tests.trainers import tiny

    class Replaying(GRPOTrainer):
        """A policy that plays what `choose_calls` says; all behind it is TRL's own."""

        def _generate_and_score_completions(self, inputs):
            self.scripts = None
            return super()._generate_and_score_completions(inputs)

        def _generate_single_turn(self, prompt_ids, *given, **named):
            start = tokens.convert_tokens_to_ids("<|im_start|>")
            if self.scripts is None:
                self.scripts = [write_calls(choose_calls(env._rollout.task, shop, 1)) for env in self.environments]
                self.heads = [list(each) for each in prompt_ids]
                told.extend(tokens.decode(ids) for ids in prompt_ids)
                openings.extend(env._episode.task.opening for env in self.environments)
            said = []
            for place, ids in enumerate(map(list, prompt_ids)):
                turn = ids[len(self.heads[place]) :].count(start) // 2
                text = self.scripts[place][turn] if turn < len(self.scripts[place]) else "Done."
                said.append(tokens(f"{text}<|im_end|>", add_special_tokens=False)["input_ids"])
            return said, None

    training = begin_training(shop, name, EASY, group=2, controller=LEVEL_BY_LEVEL)
    rows = training.rows(5)
    tokens = tiny.tokenizer([*rows, *list_tool_schemas(ShopEnv)], "qwen3")
    told, openings = [], []
    trainer = Replaying(
        model=tiny.model(tokens),
        processing_class=tokens,
        train_dataset=Dataset.from_list(rows),
        reward_funcs=[last_words, drop_uniform_groups],
        environment_factory={each: partial(kind, shop) for each, kind in ENVIRONMENTS.items()},
        args=GRPOConfig(
            output_dir=str(tmp_path),
            report_to="none",
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
            max_steps=5,
            per_device_train_batch_size=2,
            num_generations=2,
            max_completion_length=20_000,
            max_tool_calling_iterations=64,
            shuffle_dataset=False,
        ),
    )
    trainer.train()
    assert steps(training) == [0, 1, 2]
    assert training.read().curriculum.rollouts == 10
    assert all(
        json.dumps(opening, ensure_ascii=False)[1:-1] in text for opening, text in zip(openings, told, strict=True)
    )


def write_calls(calls):
    said = [json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) for name, arguments in calls]
    return [f"<tool_call>\n{call}\n</tool_call>" for call in said]


# As verl asks


def open_verl(training, shop, folder, count):
    """So many rows as verl's dataset reads them, and how its loop plays one: by a policy that succeeds up to a level, if it tries."""
    from datasets import Dataset
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.workers.rollout.replica import TokenOutput

    from shopwright.pipeline.trainers.verl import AgentLoop
    from tests.trainers import tiny

    file = folder / "train.parquet"
    Dataset.from_list(training.rows(count)).to_parquet(str(file))
    tokens = tiny.tokenizer(training.rows(2), "qwen3")
    found = RLHFDataset(
        [str(file)],
        tokens,
        OmegaConf.create({"cache_dir": str(folder), "max_prompt_length": 100_000, "filter_overlong_prompts": False}),
    )
    turns = {
        "max_user_turns": None,
        "max_assistant_turns": None,
        "max_parallel_calls": 1,
        "format": "hermes",
        "max_tool_response_length": 20_000,
        "tool_response_truncate_side": "middle",
    }
    rollout = {"prompt_length": 30_000, "response_length": 60_000, "full_determinism": False, "multi_turn": turns}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})

    class Server:
        lines = None

        def __init__(self, tries):
            self.tries = tries

        async def generate(self, **given):
            if self.lines is None:
                self.lines = write_calls(choose_calls(self.loop.env._rollout.task, shop)) if self.tries else []
            text = self.lines.pop(0) if self.lines else "Done."
            ids = tokens(f"{text}<|im_end|>", add_special_tokens=False)["input_ids"]
            return TokenOutput(token_ids=ids, log_probs=None, num_preempted=0)

    async def played(row, tries=True):
        server = Server(tries)
        server.loop = AgentLoop(
            folder=shop,
            trainer_config=DictConfigWrap(config),
            server_manager=server,
            tokenizer=tokens,
            processor=None,
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen3",
        )
        output = await server.loop.run({}, **{key: row[key] for key in row if key != "dummy_tensor"})
        env = server.loop.env
        assert output.extra_fields["reward_extra_info"] == {"acc": float(tries and env._rollout.level <= 5)}
        opening = json.dumps(env._episode.task.opening, ensure_ascii=False)[1:-1]
        assert opening in tokens.decode(output.prompt_ids)
        return env._rollout.task, output

    return found, played


@needs("verl", "datasets")
def test_verls_loop_plays_rows_of_a_curriculum(shop, name, tmp_path):
    training = begin_training(shop, name, EASY, group=2, controller=LEVEL_BY_LEVEL)
    found, played = open_verl(training, shop, tmp_path, 9)

    async def group(row):
        return await asyncio.gather(played(row), played(row))

    pairs = [asyncio.run(group(found[place])) for place in range(9)]
    assert all(one == other for (one, _), (other, _) in pairs)
    assert [task["difficulty"] for (task, _), _ in pairs] == [0, 1, 2, 3, 4, 5, 6, 6, 6]
    assert levels(training) == {EASY: 6}


@pytest.fixture
def queue():
    """Where verl's trainer keeps rollouts, on a Ray of this test's own."""
    import ray
    import transfer_queue

    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    transfer_queue.init()
    yield transfer_queue
    transfer_queue.close()
    ray.shutdown()


@needs("verl", "datasets", "transfer_queue")
def test_verls_own_sampler_drops_groups_that_all_succeed_or_all_fail(shop, name, tmp_path, queue):
    """`algorithm.filter_groups` by `acc`: it takes the uniform groups out, has others played in their place, and trains on mixed ones alone.

    That is the sampler of verl's trainer with the queue that it reads from; actor and servers of models need a GPU.
    """
    import torch
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from tensordict.tensorclass import NonTensorData, NonTensorStack
    from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

    training = begin_training(shop, name, EASY, group=2, controller=LEVEL_BY_LEVEL)
    found, played = open_verl(training, shop, tmp_path, 16)
    numbers, succeeded = iter(range(16)), {}

    def play_group(*tries):
        """A group as verl's workers put it into the queue."""
        number = next(numbers)
        uid = f"group{number}"
        played_group = [asyncio.run(played(found[number], each)) for each in tries]
        outputs = [output for _, output in played_group]
        succeeded[uid] = [output.extra_fields["reward_extra_info"]["acc"] for output in outputs]
        more = [NonTensorData(output.extra_fields) for output in outputs]
        scores = torch.tensor([[output.reward_score] for output in outputs])
        fields = TensorDict({"rm_scores": scores, "extra_fields": NonTensorStack(*more)}, batch_size=[len(outputs)])
        keys = [f"{uid}_{place}_0" for place in range(len(outputs))]
        queue.kv_batch_put(keys=keys, partition_id="train", fields=fields, tags=[{"status": "success"} for _ in keys])
        tag = {"is_prompt": True, "status": "finished", "global_steps": 0}
        queue.kv_put(key=uid, partition_id="train", tag=tag)

    for tries in ((True, True), (False, False), (True, False)):
        play_group(*tries)
    buffer = ReplayBuffer(
        "sync",
        OmegaConf.create({}),
        None,
        "drop",
        OmegaConf.create({}),
        poll_interval=0.1,
        refill_fn=lambda count: [play_group(True, False) for _ in range(count)],
        filter_groups_metric="acc",
        train_batch_size=3,
        gen_batch_size=1,
    )
    batch, metrics = buffer.sample(0, "train", 3)
    taken = {key.partition("_")[0] for key in batch.keys}
    assert metrics["training/filter_groups/evicted_samples"] == 2
    assert metrics["_dapo_filtered_reward_counts"] == {1.0: 1, 0.0: 1}
    assert len(taken) == 3
    assert all(sorted(succeeded[uid]) == [0.0, 1.0] for uid in taken)
    assert {"group0", "group1"} & taken == set()


# As an OpenEnv client asks


@contextmanager
def serve(shop, *words):
    """The process of `shopwright serve` and its address; ended as nothing can be asked of it any more, by kill -9."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "shopwright.pipeline", "serve", "--run", shop, "--port", str(port), *words]
    server = subprocess.Popen(command, cwd=HOME, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout.readline().startswith("Serving ")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as knocks:
                if not knocks.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield server, f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


SERVED = ("--curriculum", EASY, "--group", "2", "--window", "1", "--rollouts", "4")


async def play_client(address, shop, name, count, able=5):
    """So many rollouts one after the other; of each its task."""
    from openenv import GenericEnvClient

    found = []
    async with GenericEnvClient(base_url=address) as client:
        for _ in range(count):
            begun = await client.reset(training=name)
            drawn = begun.metadata["curriculum"]
            task = {key: drawn[key] for key in ("env", "difficulty", "seed")}
            for tool, arguments in choose_calls(task, shop, able):
                seen = await client.step({"tool_name": tool, "arguments": arguments})
            assert seen.done
            found.append((drawn["number"], task))
    return found


def ask(address):
    with urlopen(address) as reply:
        return json.load(reply)


@needs("openenv")
def test_a_server_that_is_killed_goes_on_at_the_same_levels(shop, name):
    with serve(shop, *SERVED) as (_, address):
        first = asyncio.run(play_client(address, shop, name, 13))
        before = ask(f"{address}/curriculum/{name}")
    assert before["levels"] == {EASY: 3}
    with serve(shop, *SERVED) as (_, address):
        assert ask(f"{address}/curriculum/{name}") == before
        more = asyncio.run(play_client(address, shop, name, 19))
        after = ask(f"{address}/curriculum/{name}")
        assert ask(f"{address}/curriculum/{name}/groups/0")["successes"] == [True, True]
        assert "at level 6" in urlopen(f"{address}/curriculum/{name}/page").read().decode()
    assert [number for number, _ in [*first, *more]] == [place // 2 for place in range(32)]
    assert first[12] == more[0]  # the group that was under way has the same task
    assert [change["level"] for change in after["changes"]] == [0, 1, 2, 3, 4, 5, 6]
    assert after["levels"] == {EASY: 6}


@needs("openenv")
def test_clients_of_two_training_runs_play_at_once_and_do_not_mix(shop, name):
    async def together(address):
        good = play_client(address, shop, f"{name}-good", 8)
        bad = play_client(address, shop, f"{name}-bad", 8, able=-1)
        await asyncio.gather(good, bad)

    with serve(shop, *SERVED) as (_, address):
        asyncio.run(together(address))
        known = ask(f"{address}/curriculum")["trainings"]
        assert {f"{name}-good", f"{name}-bad"} <= set(known)
        assert ask(f"{address}/curriculum/{name}-good")["levels"] == {EASY: 2}
        assert ask(f"{address}/curriculum/{name}-bad")["levels"] == {EASY: 0}


@needs("openenv")
def test_what_a_client_asks_wrongly_gets_one_line(shop, name):
    from openenv import GenericEnvClient

    begin_training(shop, f"{name}-other", "C2")
    begin_training(shop, f"{name}-broken", EASY).path.write_text("{")

    async def refused(address, **asked):
        async with GenericEnvClient(base_url=address) as client:
            with pytest.raises(Exception) as told:  # noqa: PT011 - the client's own kind
                await client.reset(**asked)
            return str(told.value)

    with serve(shop, *SERVED) as (_, address):
        for asked, said in (
            ({}, "Name the training run"),
            ({"training": "../x"}, "no name of a training run"),
            ({"training": f"{name}-other"}, "begun with collection C2"),
            ({"training": f"{name}-broken"}, "is not the state of a training run"),
        ):
            message = asyncio.run(refused(address, **asked))
            assert said in message
            assert "Traceback" not in message
        for path, said in ((f"{name}-none", "has no training run"), (f"{name}-broken", "is not the state")):
            with pytest.raises(HTTPError) as told:
                urlopen(f"{address}/curriculum/{path}")
            text = told.value.read().decode()
            assert told.value.code == 404
            assert said in text
            assert "\n" not in text


@needs("openenv")
def test_a_task_that_a_client_leaves_counts_as_failed(shop, name):
    from openenv import GenericEnvClient

    async def leave(address):
        async with GenericEnvClient(base_url=address) as client:
            await client.reset(training=name)
            await client.reset(training=name)

    with serve(shop, *SERVED) as (_, address):
        asyncio.run(leave(address))
        assert ask(f"{address}/curriculum/{name}/groups/0")["successes"] == [False]


def test_serving_an_unknown_collection_is_one_line(shopwright, shop):
    code, _, said = shopwright("serve", "--run", shop, "--curriculum", "C3")
    assert (code, said.count("\n")) == (2, 1)
    assert "There is no env C3" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [("--threshold", "0"), ("--threshold", "1.1"), ("--group", "0"), ("--window", "0"), ("--rollouts", "x")],
)
def test_a_setting_that_makes_no_sense_is_refused(shopwright, shop, option, value):
    code, _, said = shopwright("serve", "--run", shop, "--curriculum", "C4", option, value)
    assert code == 2
    assert value in said
