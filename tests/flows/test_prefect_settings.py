"""What a flow prints beside its own lines."""

import os
import subprocess
import sys
from pathlib import Path

SERVER = """
import logging
from prefect.logging.configuration import setup_logging
setup_logging()
logging.getLogger("sqlalchemy.pool.impl").error("a connection is still open")
"""
"""The log of Prefect's temporary server, without the server."""


def test_the_temporary_server_prints_no_error_of_its_database_after_a_flow(tmp_path):
    settings = "from shopwright.flows.prefect_settings import hide_told_errors, prepare_prefect\n"
    start_server = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SERVER!r}], check=True)\n"
    prepare = settings + "prepare_prefect('A flow')\n"
    assert "still open" in read_terminal(prepare + start_server, tmp_path)
    assert "still open" not in read_terminal(prepare + "hide_told_errors()\n" + start_server, tmp_path)


def read_terminal(program: str, folder: Path) -> str:
    # Another test of this process may have hidden the errors already.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr
