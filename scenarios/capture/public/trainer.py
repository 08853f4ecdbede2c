"""Transformers' Trainer on random tokens: trainer.py MODEL [--attention sdpa|eager] [arguments of the Trainer]."""

import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

MODELS = {
    "llama-1b": {
        "model_type": "llama",
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    },
    "qwen3-1.7b": {
        "model_type": "qwen3",
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
    },
    "gemma-2b": {
        "model_type": "gemma",
        "hidden_size": 2048,
        "intermediate_size": 16384,
        "num_hidden_layers": 18,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "vocab_size": 256000,
    },
    "gpt-oss-small": {
        "model_type": "gpt_oss",
        "hidden_size": 1024,
        "intermediate_size": 1024,
        "num_hidden_layers": 8,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "head_dim": 64,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "vocab_size": 65536,
    },
}


class Tokens(torch.utils.data.Dataset):
    def __init__(self, vocabulary, length):
        self.vocabulary, self.length = vocabulary, length

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        tokens = torch.randint(0, self.vocabulary, (self.length,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


def main():
    name, *arguments = sys.argv[1:]
    attention = "sdpa"
    if arguments[:1] == ["--attention"]:
        attention, arguments = arguments[1], arguments[2:]
    fields = dict(MODELS[name])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    defaults = ["--output_dir", "out", "--bf16", "--report_to", "none", "--max_steps", "10", "--logging_steps", "1"]
    (options,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses([*defaults, *arguments])
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    Trainer(model=model, args=options, train_dataset=Tokens(config.vocab_size, 2048)).train()


if __name__ == "__main__":
    main()
