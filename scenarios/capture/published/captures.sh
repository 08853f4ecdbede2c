#!/usr/bin/env bash
# Captures what judge.py prices: of each model and length two captures, with 2 and with 4 layers, or one with all layers where
# the host decides; and of torchtitan's Llama one for each precision. About half an hour of an idle core. torchtitan's package lacks a tokenizer and data; ASSETS has tests/assets of
# its repository. Of torchao it takes any version from 0.15 on.
#
# usage: captures.sh FOLDER ASSETS        python: a Python with PyTorch 2.15, PEFT, DeepSpeed, torchtitan and torchao
set -euo pipefail
(($# == 2)) || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
out=$(cd "$1" && pwd)
assets=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"

qwen() {  # qwen MODEL WORLD LENGTHS LAYERS [ARGUMENT]...
  local model=$1 world=$2 lengths=$3 depths=$4 tokens layers
  shift 4
  for tokens in $lengths; do
    for layers in $depths; do
      python -m mirfak.capture --world-size "$world" --ranks 0 --step 1 --device a100-80g \
        --out "$out/$model-$layers-$tokens.capture" -- \
        qwen_lora.py "$model/$layers" "$tokens" --gradient_accumulation_steps 1 "$@"
    done
  done
}

qwen qwen-1.8b 1 "256 512 1024" 24
qwen qwen-1.8b 1 "2048 4096 8192" "2 4"
qwen qwen-7b 1 256 32
qwen qwen-7b 1 "512 1024 2048 4096 8192" "2 4"
qwen qwen-14b 1 256 40
qwen qwen-14b 1 "512 1024 2048 4096 8192" "2 4"
qwen qwen-72b 4 "256 512 1024 2048 4096 8192" "2 4" --deepspeed zero3.json
cd "$assets"
for precision in bf16 tensorwise rowwise; do
  python -m mirfak.capture --world-size 8 --ranks 0 --step 1 --device h100 --out "$out/llama3-8b-$precision.capture" -- \
    "$here/llama3_of_2025.py" --config "$precision" --hf_assets_path tests/assets/tokenizer --dataloader.dataset c4_test
done
