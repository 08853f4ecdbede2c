"""LoRA by PEFT under the Trainer: peft_lora.py MODEL [arguments of the Trainer]."""

import sys

import torch
from peft import LoraConfig, get_peft_model
from trainer import MODELS, Tokens
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


def main():
    name, *arguments = sys.argv[1:]
    fields = dict(MODELS[name])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    defaults = ["--output_dir", "out", "--bf16", "--report_to", "none", "--max_steps", "10"]
    (options,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses([*defaults, *arguments])
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules=targets))
    Trainer(model=model, args=options, train_dataset=Tokens(config.vocab_size, 2048)).train()


if __name__ == "__main__":
    main()
