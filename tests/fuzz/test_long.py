import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[2]
PATIENCE = 240
"""Seconds for what takes some five."""


def test_no_long_text_is_read_in_steps_by_the_square_of_its_length():
    command = [sys.executable, "-m", "tests.fuzz.long"]
    try:
        done = subprocess.run(
            command, check=False, cwd=HOME, capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as hung:
        raise AssertionError(f"It never came to the end of: {hung.stdout.decode().splitlines()[-1]}") from None
    assert done.stdout.endswith("All of them were read.\n"), done.stderr[-2_000:]
