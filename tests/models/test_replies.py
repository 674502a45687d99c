"""What was asked once is not asked again, whatever happened since."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from shopwright.pipeline.models.base import BudgetExceeded, Reply, Sampling, UnansweredRequest
from shopwright.pipeline.models.replies import Replies
from tests.models import asking
from tests.models.asking import once, prompt, role
from tests.models.server import ALWAYS, Plan, Server, constant


@pytest.fixture
def play_prompts(server, tmp_path):
    """The replies to so many prompts, and how many of them were asked of the server."""

    def play(count=40, *, seed=0, **options):
        before = server.count
        asked = (once(prompt(number, seed=seed)) for number in range(count))
        replies = list(role(server.url, tmp_path, **options).play(asked))
        return replies, server.count - before

    return play


def lines(folder):
    return [line for path in sorted((folder / "replies").glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def test_nothing_is_asked_twice(play_prompts, tmp_path):
    first, asked = play_prompts()
    assert asked == 40
    kept = lines(tmp_path)
    again, asked = play_prompts()
    assert asked == 0
    assert again == first
    assert all(reply.kept for reply in again)
    assert lines(tmp_path) == kept


def test_only_what_is_new_is_asked(play_prompts):
    first, _ = play_prompts(30)
    again, asked = play_prompts(50)
    assert asked == 20
    assert again[:30] == first


def test_the_same_prompt_is_asked_once_even_at_the_same_time(server, tmp_path):
    replies = list(role(server.url, tmp_path).play(once(prompt(number % 3)) for number in range(60)))
    assert server.count == 3
    assert [reply.text for reply in replies] == [reply.text for reply in replies[:3]] * 20


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"model": "another"},
        {"sampling": {"writer": Sampling(temperature=0.1)}},
        {"sampling": {"writer": Sampling(max_tokens=9)}},
    ],
    ids=str,
)
def test_another_seed_model_or_sampling_asks_again(play_prompts, other):
    play_prompts()
    again, asked = play_prompts(**other)
    assert asked == 40
    assert not any(reply.kept for reply in again)
    assert play_prompts()[1] == 0


def test_a_prompt_with_a_sampling_of_its_own_has_its_own_reply(server, tmp_path):
    asked = [prompt(1), prompt(1, sampling=Sampling(top_p=0.5)), prompt(1, sampling=Sampling())]
    list(role(server.url, tmp_path).play(map(once, asked)))
    assert server.count == 2


def test_the_same_model_elsewhere_is_not_asked(play_prompts, tmp_path):
    first, _ = play_prompts()
    with Server() as elsewhere:
        again = list(role(elsewhere.url, tmp_path).play(once(prompt(number)) for number in range(40)))
        assert elsewhere.count == 0
    assert again == first


def test_fresh_asks_again_and_what_it_got_counts_from_then_on(play_prompts, tmp_path):
    first, _ = play_prompts()
    again, asked = play_prompts(fresh=True)
    assert (asked, len(lines(tmp_path))) == (40, 80)
    assert again == first
    assert play_prompts()[1] == 0


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_of_two_replies_the_one_in_the_later_file_counts(tmp_path, names):
    for day, name in enumerate(names):
        replies = Replies(tmp_path, name, fresh=True)
        replies.put("key", "toy", Reply(f"of {name}"))
        replies.close()
        os.utime(tmp_path / f"{name}.jsonl", (day, day))
    assert Replies(tmp_path, "c").get("key").text == f"of {names[1]}"


@pytest.mark.parametrize(
    "torn", [b'{"key": "0', b'{"key": "01", "text": "\xc3', b'{"key": "01", "text": "no end"}', b"\0\0"]
)
def test_a_last_line_that_was_torn_is_passed_over_and_cut_off(play_prompts, tmp_path, torn):
    first, _ = play_prompts()
    (path,) = (tmp_path / "replies").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again, asked = play_prompts()
    assert (again, asked) == (first, 0)
    assert play_prompts(41)[1] == 1
    assert path.read_bytes().startswith(whole)
    assert [json.loads(line) for line in lines(tmp_path)[40:]]
    assert play_prompts(41)[1] == 0


def test_a_line_that_was_torn_off_is_asked_again(play_prompts, tmp_path):
    first, _ = play_prompts()
    (path,) = (tmp_path / "replies").iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    again, asked = play_prompts()
    assert asked == 1
    assert again == first


def test_a_reply_of_which_one_bit_was_flipped_is_told_and_asked_again(play_prompts, tmp_path, capfd):
    first, _ = play_prompts()
    (path,) = (tmp_path / "replies").iterdir()
    whole = bytearray(path.read_bytes())
    place = whole.index(b'"text": "') + len(b'"text": "')  # it would still be JSON
    whole[place] ^= 1
    path.write_bytes(whole)
    again, asked = play_prompts()
    assert asked == 1
    assert again == first
    assert f"{path}: 1 replies are damaged" in capfd.readouterr().err
    assert play_prompts()[1] == 0


def test_a_shards_own_file_counts_before_others_and_is_read_again_by_a_process_that_knows_the_rest(tmp_path):
    known = {}
    for day, name in enumerate("ab"):
        replies = Replies(tmp_path, name, fresh=True)
        replies.put("key", "toy", Reply(f"of {name}"))
        replies.close()
        os.utime(tmp_path / f"{name}.jsonl", (day, day))
    first = Replies(tmp_path, "a", known=known)
    assert first.get("key").text == "of a"
    elsewhere = Replies(tmp_path, "c")
    elsewhere.put("another key", "toy", Reply("of c"))
    elsewhere.close()
    later = Replies(tmp_path, "c", known=known)
    assert [later.get(key).text for key in ("key", "another key")] == ["of b", "of c"]
    assert Replies(tmp_path, "b", known=known).get("key").text == "of b"


def test_all_of_a_reply_is_kept(tmp_path):
    reply = Reply("é\n\u2028", "hm", ({"name": "look", "arguments": {"for": ["tea"]}},), "tool_calls", 7, 3, "a fault")
    replies = Replies(tmp_path, "one")
    replies.put("key", "toy", reply)
    assert replies.get("key") == reply
    replies.close()
    assert Replies(tmp_path, "another").get("key") == reply
    assert Replies(tmp_path, "another").get("key").kept
    assert Replies(tmp_path, "another").get("no key") is None


def test_processes_write_files_of_their_own_and_read_all(tmp_path):
    for name in "ab":
        replies = Replies(tmp_path, name)
        replies.put(name, "toy", Reply(f"of {name}"))
        replies.close()
    assert [Replies(tmp_path, "c").get(name).text for name in "ab"] == ["of a", "of b"]


@pytest.mark.slow
def test_what_a_server_refused_is_kept_and_what_it_did_not_answer_is_not(tmp_path):
    for fault, count in ("400", 1), ("malformed", 16):
        with Server(Plan({fault: 1}, times=ALWAYS, retry_after="0")) as server:
            for _ in range(2):
                (reply,) = role(server.url, tmp_path / fault).play([once(prompt(1))])
                assert isinstance(reply, UnansweredRequest) or reply.fault
        assert server.count == count


def test_a_budget_of_tokens_stops_the_work_which_goes_on_later(play_prompts):
    with pytest.raises(BudgetExceeded, match="--max-tokens 200 are used up") as raised:
        play_prompts(max_tokens=200)
    assert "run the same command again to go on" in str(raised.value)
    for _ in range(3):
        with contextlib.suppress(BudgetExceeded):
            replies, asked = play_prompts(max_tokens=200)
            break
    assert len(replies) == 40
    assert 0 < asked <= 20
    assert play_prompts(max_tokens=0)[1] == 0


def test_a_budget_is_overrun_by_no_more_than_what_is_on_its_way(server, tmp_path):
    with pytest.raises(BudgetExceeded):
        list(role(server.url, tmp_path, at_once=1, max_tokens=100).play(once(prompt(number)) for number in range(40)))
    assert server.count == 10
    with pytest.raises(BudgetExceeded):
        list(role(server.url, tmp_path, at_once=8, max_tokens=100).play(once(prompt(number)) for number in range(40)))
    assert server.count <= 10 + 10 + 7


def test_a_process_that_is_killed_loses_only_what_was_on_its_way(tmp_path):
    with Server(Plan(latency=constant(0.02))) as server:
        words = [sys.executable, "-m", asking.__name__, server.url, str(tmp_path), "600", "16", "1"]
        killed = subprocess.Popen(words)
        while server.count < 300:
            assert killed.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        while server.now:
            time.sleep(0.01)
        asked = server.count
        assert 300 <= asked < 600
        replies = list(role(server.url, tmp_path, at_once=16).play(once(prompt(number)) for number in range(600)))
    assert [reply.text.split()[1] for reply in replies] == [str(number) for number in range(600)]
    assert asked - 16 <= sum(reply.kept for reply in replies) <= asked
    assert server.count - 600 <= 16
    assert len({json.loads(line)["key"] for line in lines(tmp_path)}) == len(lines(tmp_path)) == 600
