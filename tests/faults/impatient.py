"""The command, which waits seconds where it would wait minutes for a process that it forks from to answer."""

import sys

from shopwright.pipeline import forks
from shopwright.pipeline.__main__ import main

forks.TO_ANSWER = forks.TO_END = 8.0

if __name__ == "__main__":
    sys.exit(main())
