"""The shopwright command with shards of personas so small that few shoppers keep several processes at work."""

import sys
from dataclasses import replace

from shopwright.pipeline.__main__ import main
from shopwright.pipeline.stages import all_stages

UNITS = 25


def small_personas():
    """The stage; how the work is cut is decided by the process that builds."""
    return replace(all_stages()["personas"], per_shard=(1, UNITS))


if __name__ == "__main__":
    all_stages()["personas"] = small_personas()
    sys.exit(main(sys.argv[1:]))
