#!/usr/bin/env bash
# Captures what judge.py prices: of each model and length with 2 and with 4 layers, or with all where the host decides, each
# with 1 and with 2 microbatches; and of torchtitan's Llama one for each precision. About an hour of an idle core.
# torchtitan's package lacks a tokenizer and data; ASSETS has tests/assets of its repository. Of torchao it takes any version
# from 0.15 on.
#
# usage: captures.sh FOLDER ASSETS        python: a Python with PyTorch 2.15, PEFT, DeepSpeed, torchtitan and torchao
set -euo pipefail
(($# == 2)) || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
out=$(cd "$1" && pwd)
assets=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"

qwen() {  # qwen MODEL WORLD STEP LENGTHS LAYERS [ARGUMENT]...
  local model=$1 world=$2 step=$3 lengths=$4 depths=$5 tokens layers count
  shift 5
  for tokens in $lengths; do
    for layers in $depths; do
      for count in 1 2; do
        python -m mirfak.capture --world-size "$world" --ranks 0 --step "$step" --device a100-80g \
          --out "$out/$model-$layers-$tokens-$count.capture" -- \
          qwen_lora.py "$model/$layers" "$tokens" --gradient_accumulation_steps "$count" "$@"
      done
    done
  done
}

qwen qwen-1.8b 1 1 "256 512 1024" 24
qwen qwen-1.8b 1 1 "2048 4096 8192" "2 4"
qwen qwen-7b 1 1 256 32
qwen qwen-7b 1 1 "512 1024 2048 4096 8192" "2 4"
qwen qwen-14b 1 1 256 40
qwen qwen-14b 1 1 "512 1024 2048 4096 8192" "2 4"
# DeepSpeed watches the order of modules in its first steps, which takes Python longer.
qwen qwen-72b 4 3 "256 512 1024 2048 4096 8192" "2 4" --deepspeed zero3.json
cd "$assets"
for precision in bf16 tensorwise rowwise; do
  python -m mirfak.capture --world-size 8 --ranks 0 --step 1 --device h100 --out "$out/llama3-8b-$precision.capture" -- \
    "$here/llama3_of_2025.py" --config "$precision" --hf_assets_path tests/assets/tokenizer --dataloader.dataset c4_test
done
