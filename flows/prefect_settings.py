"""Prefect as these flows want it: quiet, offline, and fast with many short tasks. A variable that is set already stays as it is."""

import logging
import os
from pathlib import Path

from shopwright.pipeline.extras import require

VARIABLES = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SILENCE_API_URL_MISCONFIGURATION": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "true",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "50",
    "PREFECT_LOGGING_LEVEL": "INFO",  # reaches the log of a run ...
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING",  # ... and not the terminal, which has lines of its own
}


def prepare_prefect(purpose: str) -> None:
    """To be called before Prefect is imported, which then reads these. Raises Problem where it is not installed.

    Its database is in `.prefect/` of the current folder: another Prefect's in the home folder may be of another version.
    """
    require("prefect", purpose)
    for name, value in {**VARIABLES, "PREFECT_HOME": str(Path.cwd() / ".prefect")}.items():
        os.environ.setdefault(name, value)


def hide_told_errors() -> None:
    """Errors of a run stay off the terminal: they reach the caller, and are told there, once. Prefect's own log keeps them."""
    from prefect import get_run_logger  # noqa: F401 - sets the handlers up
    from prefect.logging.handlers import PrefectConsoleHandler

    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.addFilter(is_not_told_by_caller)
    # Read by the temporary server, a process that starts after this one's log is set up: stopped at the end of a flow, its
    # database prints a traceback about a connection that is still open, which means nothing to the user.
    os.environ.setdefault("PREFECT_LOGGING_ROOT_LEVEL", "CRITICAL")


def is_not_told_by_caller(record: logging.LogRecord) -> bool:
    of_a_run = record.name.startswith(("prefect.flow_runs", "prefect.task_runs"))
    return not of_a_run or record.levelno < logging.ERROR
