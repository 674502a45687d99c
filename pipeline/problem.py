"""What the user can mend: said in one sentence, without a traceback, with exit code 2."""


class Problem(Exception):
    """The message says what happened and what to do."""


class Stale(Problem):
    """A dataset is there, but something that makes it has changed since; the message names it."""


class Ended(Problem):
    """Work was ended from outside, or by a limit; unlike after other problems, what is finished is kept."""
