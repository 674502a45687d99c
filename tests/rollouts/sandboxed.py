"""Runs a block of code as the sandbox does, in this process: nothing kept between blocks, the last expression printed."""

import ast
import contextlib
import io
import sys
import traceback
from dataclasses import dataclass
from types import ModuleType

import pandas as pd

from shopwright.pipeline.sandbox.data_loader import fill_events_table, make_exact_frame
from shopwright.pipeline.sandbox.sql import connect_confined

WIDE = ("display.max_columns", None, "display.width", 160, "display.max_colwidth", None, "display.max_rows", 60)


@dataclass(frozen=True)
class Output:
    text: str
    ok: bool


class Blocks:
    """A sandbox over one table of events."""

    def __init__(self, table):
        self.table = table
        self.connection = connect_confined()
        fill_events_table(self.connection, table)

    def load(self, id):
        return self.connection.cursor(), make_exact_frame(self.table)

    def run(self, code):
        loader = ModuleType("data_loader")
        loader.load_trajectory = self.load
        kept = sys.modules.get("data_loader")
        sys.modules["data_loader"] = loader
        said = io.StringIO()
        try:
            with pd.option_context(*WIDE), contextlib.redirect_stdout(said):
                execute(code)
        except Exception:  # noqa: BLE001
            return Output(said.getvalue() + traceback.format_exc(limit=0), False)
        finally:
            sys.modules.pop("data_loader")
            if kept is not None:
                sys.modules["data_loader"] = kept
        return Output(said.getvalue(), True)


def execute(code):
    tree = ast.parse(code)
    names = {"__name__": "__main__"}
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<block>", "exec"), names)  # noqa: S102
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<block>", "eval"), names)
        if value is not None:
            print(value)


def play_rollout(rollout, blocks):
    """The messages of a rollout and what was said to each but the last."""
    messages, heard = [next(rollout)], []
    while "\\boxed{" not in messages[-1]:
        heard.append(blocks.run(code_of(messages[-1])))
        messages.append(rollout.send(heard[-1]))
    return messages, heard


def code_of(message):
    return message.partition("<code>\n")[2].partition("\n</code>")[0]
