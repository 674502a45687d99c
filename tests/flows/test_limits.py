"""A shard that hangs is ended and made again; what was ended by something else is not."""

import time
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import ExitStack, contextmanager

import pytest

from flows.build import worth_another_try
from flows.limits import Hands, Late, hands, in_time, seconds_for
from pipeline.problem import Ended, Problem
from pipeline.run import Run
from pipeline.runners import pool


def test_a_call_in_time_gives_what_it_made_and_its_clock_is_off():
    with pool(1) as executor:
        assert executor.submit(in_time, 0.5, sum, (1, 2)).result() == 3
        executor.submit(time.sleep, 1).result()


def test_a_process_whose_call_takes_too_long_ends_even_inside_a_library():
    with pytest.raises(Ended), pool(1) as executor:
        executor.submit(in_time, 0.3, time.sleep, 60).result()  # sleep gives Python nothing to interrupt


def test_limits_differ_by_stage_and_can_be_given():
    assert seconds_for("embeddings") > seconds_for("personas") == 3600
    assert seconds_for("embeddings", 0.5) == seconds_for("personas", 0.5) == 30


class Faulty:
    """An executor whose process ends as soon as it is used, after a while."""

    def __init__(self, seconds):
        self.seconds = seconds

    def submit(self, *_):
        time.sleep(self.seconds)
        raise BrokenExecutor


class Build:
    name = "toys"


def tried(first, second, minutes):
    """What a try says with the first executor, and which one the next is given."""
    started = iter([first, second])

    @contextmanager
    def start():
        yield next(started)

    with ExitStack() as stack:
        found = Hands(start, stack, minutes)
        found.idle.put(stack.enter_context(start()))
        with pytest.raises((Late, BrokenExecutor)) as error:
            found.make(Build, 3)
        return error.value, found.idle.get()


def test_the_process_that_hung_is_replaced():
    first, second = Faulty(0.05), object()
    error, then = tried(first, second, 0.001 / 60)
    assert isinstance(error, Late)
    assert str(error).startswith("toys 3 took longer than ")
    assert then is second


def test_a_process_ended_by_something_else_is_not_replaced():
    first = Faulty(0)
    error, then = tried(first, None, 10)
    assert isinstance(error, BrokenExecutor)
    assert then is first


def test_nothing_is_begun_once_a_build_was_stopped(tmp_path):
    with hands(Run(tmp_path, workers=2), 5) as found:
        assert found.idle.qsize() == 2
    with pytest.raises(CancelledError):
        found.make(Build, 0)
    assert found.idle.qsize() == 2


class State:
    def __init__(self, result):
        self.found = result

    def result(self, raise_on_failure):
        return self.found


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Late(), True),
        (OSError(), True),
        (Problem(), False),
        (Ended(), False),
        (BrokenExecutor(), False),
        (CancelledError(), False),
    ],
)
def test_what_may_pass_is_tried_again(error, again):
    assert worth_another_try(None, None, State(error)) is again
