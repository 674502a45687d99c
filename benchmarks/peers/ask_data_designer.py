"""Data Designer asks a server for each line of a file: `python ask_data_designer.py URL PROMPTS AT_ONCE FOLDER`."""

import json
import os
import sys
from time import perf_counter, process_time

url, prompts, at_once, folder = sys.argv[1:]
os.environ |= {"NEMO_TELEMETRY_ENABLED": "false", "DATA_DESIGNER_HOME": folder}

import data_designer.config as dd
import pandas as pd
from data_designer.interface import DataDesigner

with open(prompts, encoding="utf-8") as file:
    asked = [json.loads(line) for line in file]
provider = dd.ModelProvider(name="here", endpoint=url, provider_type="openai", api_key="none")
model = dd.ModelConfig(
    alias="m",
    model="some/model",
    provider="here",
    inference_parameters=dd.ChatCompletionInferenceParams(max_parallel_requests=int(at_once)),
    skip_health_check=True,
)
builder = dd.DataDesignerConfigBuilder(model_configs=[model])
builder.with_seed_dataset(dd.DataFrameSeedSource(df=pd.DataFrame({"asked": [each[-1]["content"] for each in asked]})))
builder.add_column(
    dd.LLMTextColumnConfig(name="said", model_alias="m", system_prompt=asked[0][0]["content"], prompt="{{ asked }}")
)
designer = DataDesigner(artifact_path=folder, model_providers=[provider])
began = perf_counter(), process_time()
made = designer.create(builder, num_records=len(asked), dataset_name="asked").load_dataset()
assert len(made) == len(asked), (len(made), len(asked))
print(json.dumps({"wall": perf_counter() - began[0], "cpu": process_time() - began[1]}))
