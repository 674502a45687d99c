"""A language model with random weights and a vocabulary of its own, small enough for any machine.

    python -m tests.models.tiny FOLDER        # needs torch and transformers, but no network and no GPU

It says random words and seldom what was asked for. How it is asked, held to a form and listened to is as with any other model.
"""

import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

THINGS = "kettle lamp shoe rack tea mat bottle chair knife shirt towel desk bag cable mirror brush tray clock jar rug".split()
KINDS = "small large red blue steel oak cotton warm quiet round folding spare plain soft strong light".split()
SAID = [
    "I want a %s %s.",
    '{"description": "a %s %s"}',
    '{"number": 12, "word": "%s %s"}',
    "user assistant system %s %s",
]
MARKS = ["<|none|>", "<|begin|>", "<|end|>"]
TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
TEMPLATE = """\
{%- if tools %}{{ "<|begin|>tools\n" }}{% for tool in tools %}{{ tool | tojson }}{{ "\n" }}{% endfor %}{{ "<|end|>\n" }}{% endif %}
{%- for message in messages %}{{ "<|begin|>" + message.role + "\n" + message.content + "<|end|>\n" }}{% endfor %}
{%- if add_generation_prompt %}{{ "<|begin|>assistant\n" }}{% if enable_thinking %}{{ "<think>\n" }}{% endif %}{% endif %}"""
LIKED = {"<|end|>": 2.2, '"': 3.0, "}": 3.0}
"""These end what it says, so that it comes to an end: how much likelier than other words, as a logarithm."""
NEVER = -20.0


def make(folder: str) -> None:
    """The model, its vocabulary and its chat template, as files that transformers and vLLM load; always the same bytes."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    tokenizer = vocabulary()
    tokenizer.save_pretrained(folder)
    weights(tokenizer).save_pretrained(folder)


def vocabulary() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    lines = [form % said for form in SAID for said in product(KINDS, THINGS)]
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=MARKS, initial_alphabet=letters, show_progress=False)
    words.train_from_iterator(lines, trainer)
    words.add_tokens(TAGS)
    none, begin, end = MARKS
    found = PreTrainedTokenizerFast(tokenizer_object=words, pad_token=none, bos_token=begin, eos_token=end)
    found.chat_template = TEMPLATE
    return found


def weights(tokenizer: Any) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        initializer_range=0.06,
        max_position_embeddings=4_096,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    with (
        torch.no_grad()
    ):  # the first dimension is the same for every word: what a word has there is how much it is liked
        model.model.embed_tokens.weight[:, 0] = 8.0
        model.lm_head.weight[:, 0] = 0.0
        for token, number in tokenizer.get_vocab().items():
            text = tokenizer.decode([number])
            liking = LIKED.get(token, NEVER if token in MARKS or not text.isascii() else 0.0)
            model.lm_head.weight[number, 0] = liking / 128**0.5
    model.generation_config.do_sample, model.generation_config.top_k = True, 200
    return model.to(torch.bfloat16)


if __name__ == "__main__":
    make(sys.argv[1])
    print(Path(sys.argv[1]).resolve())
