"""`python -m shopwright` is the command `shopwright`."""

import sys

from shopwright.pipeline.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
