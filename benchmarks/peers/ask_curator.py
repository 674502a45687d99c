"""Curator asks a server for each line of a file: `python ask_curator.py URL PROMPTS AT_ONCE FOLDER`."""

import json
import os
import sys
from time import perf_counter, process_time

url, prompts, at_once, folder = sys.argv[1:]
os.environ |= {
    "OPENAI_API_KEY": "none",
    "TELEMETRY_ENABLED": "false",
    "CURATOR_DISABLE_RICH_DISPLAY": "1",
    "CURATOR_CACHE_DIR": folder,
    "HF_HUB_OFFLINE": "1",
}

import tiktoken

# It fetches the tokenizer by which it guesses tokens, and does not start without; here bytes count as tokens.
BYTES = tiktoken.Encoding(
    "bytes", pat_str=r"\S+|\s+", mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={}
)
tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: BYTES

from bespokelabs import curator
from datasets import Dataset


class Ask(curator.LLM):
    def prompt(self, row):
        return json.loads(row["messages"])

    def parse(self, row, reply):
        return {"text": reply}


with open(prompts, encoding="utf-8") as file:
    rows = Dataset.from_list([{"messages": line} for line in file])
asked = Ask(
    model_name="some/model",
    backend="openai",
    backend_params={
        "base_url": url,
        "max_requests_per_minute": 10**7,
        "max_tokens_per_minute": 10**10,
        "max_concurrent_requests": int(at_once),
    },
)
began = perf_counter(), process_time()
made = asked(rows, working_dir=folder)
made = getattr(made, "dataset", made)
assert len(made) == len(rows), (len(made), len(rows))
print(json.dumps({"wall": perf_counter() - began[0], "cpu": process_time() - began[1]}))
