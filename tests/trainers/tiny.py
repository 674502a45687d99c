"""A checkpoint that needs no download: a byte-level tokenizer trained on the rows, and a random Qwen3 of two layers."""

import json
from pathlib import Path

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
ADDED = ["tool_call", "tool_response", "think", "code", "interpreter"]


def template(name):
    """A chat template by its path, or by its name in TRL's wheel: `qwen3`, `qwen2_5`."""
    if Path(name).is_file():
        return Path(name).read_text()
    import trl

    return (Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja").read_text()


def tokenizer(rows, chat_template, vocabulary=2_000):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=SPECIAL, show_progress=False, initial_alphabet=alphabet
    )
    bare.train_from_iterator((json.dumps(row, ensure_ascii=False) for row in rows), trainer)
    found = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        clean_up_tokenization_spaces=False,
    )
    found.add_tokens([f"<{end}{name}>" for name in ADDED for end in ("", "/")])
    found.chat_template = template(chat_template)
    found.padding_side = "left"
    return found


def model(tokens, hidden=32, longest=32_768):
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokens),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=hidden // 2,
        max_position_embeddings=longest,
        tie_word_embeddings=True,
        eos_token_id=tokens.eos_token_id,
        pad_token_id=tokens.pad_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config).float()
