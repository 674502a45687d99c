"""The commands, one file each: `add` says what can be typed, `run` does it and gives the exit code."""
