#!/bin/bash
declare -A sizes=([tensor-model-parallel-size]=2 [pipeline-model-parallel-size]=2 [micro-batch-size]=1)
args=()
for name in "${!sizes[@]}"; do
  args+=("--$name" "${sizes[$name]}")
done
for flag in bf16 use-distributed-optimizer overlap-grad-reduce; do args+=(--$flag); done
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 "${args[@]}" --global-batch-size 128 --lr 1e-4 --train-iters 5
