"""datatrove asks a server for each line of a file: `python ask_datatrove.py URL PROMPTS AT_ONCE FOLDER`."""

import json
import logging
import sys
from time import perf_counter, process_time

from datatrove.data import Document
from datatrove.pipeline.inference.run_inference import InferenceConfig, InferenceRunner
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.logging import logger


async def ask(document, generate):
    found = await generate({"messages": document.metadata["messages"]})
    return found.text


url, prompts, at_once, folder = sys.argv[1:]
logger.remove()
logging.disable()
with open(prompts, encoding="utf-8") as file:
    documents = [
        Document(text="", id=str(number), metadata={"messages": json.loads(line)}) for number, line in enumerate(file)
    ]
config = InferenceConfig(
    server_type="endpoint",
    model_name_or_path="some/model",
    endpoint_url=url.removesuffix("/v1"),
    max_concurrent_generations=int(at_once),
)
runner = InferenceRunner(rollout_fn=ask, config=config, output_writer=JsonlWriter(folder, compression=None))
began = perf_counter(), process_time()
runner.run(documents, rank=0, world_size=1)
print(json.dumps({"wall": perf_counter() - began[0], "cpu": process_time() - began[1]}))
