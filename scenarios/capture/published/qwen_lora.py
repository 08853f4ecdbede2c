"""LoRA of Qwen by PEFT under the Trainer: qwen_lora.py MODEL[/LAYERS] TOKENS [arguments of the Trainer].

The settings of QwenLM/Qwen's finetune_lora_single_gpu.sh: bf16, batch 1, accumulation 8, gradient checkpointing, clipping at
1, rank 64 on the linear layers of attention and MLP. With `--deepspeed zero3.json` those of finetune_lora_ds.sh.
"""

import pathlib
import sys

import torch
from peft import LoraConfig, get_peft_model
from qwen import SIZES, Qwen, QwenConfig
from transformers import HfArgumentParser, Trainer, TrainingArguments

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "public"))
from trainer import Tokens  # noqa: E402

SETTINGS = (
    "--output_dir out --bf16 --report_to none --max_steps 10 --per_device_train_batch_size 1 "
    "--gradient_accumulation_steps 8 --gradient_checkpointing --learning_rate 3e-4 --weight_decay 0.1 "
    "--adam_beta2 0.95 --warmup_steps 1 --lr_scheduler_type cosine --logging_steps 1 --save_strategy no"
).split() + ["--gradient_checkpointing_kwargs", '{"use_reentrant": true}']  # the default of 2023


def main():
    name, length, *arguments = sys.argv[1:]
    (options,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses([*SETTINGS, *arguments])
    name, _, layers = name.partition("/")
    config = QwenConfig(**SIZES[name] | ({"layers": int(layers)} if layers else {}))
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    model = Qwen(config)
    torch.set_default_dtype(torch.float32)
    model = get_peft_model(
        model,
        LoraConfig(r=64, lora_alpha=16, lora_dropout=0.05, target_modules=["c_attn", "c_proj", "w1", "w2"]),
        autocast_adapter_dtype=False,  # PEFT of 2023 gave adapters the format of the layer
    )
    model.enable_input_require_grads()
    Trainer(model=model, args=options, train_dataset=Tokens(config.vocab_size, int(length))).train()


if __name__ == "__main__":
    main()
